//! The commands, one file per family.

mod add;
mod age;
mod card;
mod exists;
mod info;
mod insert;
mod internal;
mod plan;
mod reserve;
mod snapshot;

use crate::server::{Loading, Parameter, Refused};

/// Size of the sample for estimates: large enough for an error of a few percent, too small for a noticeable
/// pause.
const SAMPLE_BYTES: u64 = 256 << 10;

/// The options of a new filter, for `COMMAND DOCS`.
const OPTIONS: [Parameter; 5] = [
    Parameter::all_of(
        c"time",
        &[
            Parameter::integer(c"span-ms").after(c"SPAN"),
            Parameter::one_of(
                c"overload",
                &[Parameter::word(c"rate", c"RATE"), Parameter::word(c"window", c"WINDOW")],
            )
            .after(c"OVERLOAD")
            .optional(),
        ],
    )
    .optional(),
    Parameter::real(c"slack").after(c"SLACK").optional(),
    Parameter::one_of(
        c"layout",
        &[
            Parameter::word(c"slices", c"SLICES"),
            Parameter::word(c"blocks", c"BLOCKS"),
            Parameter::word(c"rows", c"ROWS"),
        ],
    )
    .after(c"LAYOUT")
    .optional(),
    Parameter::all_of(c"shape", &[Parameter::integer(c"k"), Parameter::integer(c"l")])
        .after(c"SHAPE")
        .optional(),
    Parameter::integer(c"seed").after(c"SEED").optional(),
];

pub(crate) fn register(loading: &Loading) -> Result<(), Refused> {
    loading.command::<reserve::Reserve>()?;
    loading.command::<add::Add>()?;
    loading.command::<add::AddNx>()?;
    loading.command::<add::MAdd>()?;
    loading.command::<add::MAddNx>()?;
    loading.command::<insert::Insert>()?;
    loading.command::<exists::Exists>()?;
    loading.command::<exists::MExists>()?;
    loading.command::<age::Age>()?;
    loading.command::<info::Info>()?;
    loading.command::<card::Card>()?;
    loading.command::<plan::Plan>()?;
    loading.command::<snapshot::Snapshot>()?;
    loading.command::<snapshot::Load>()?;
    loading.command::<internal::Create>()?;
    loading.command::<internal::Patch>()?;
    loading.command::<internal::Apply>()
}

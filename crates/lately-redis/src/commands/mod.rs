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

use crate::server::{Module, NotRegistered, Parameter};

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

pub(crate) fn register(module: &Module) -> Result<(), NotRegistered> {
    module.command::<reserve::Reserve>()?;
    module.command::<add::Add>()?;
    module.command::<add::AddNx>()?;
    module.command::<add::MAdd>()?;
    module.command::<add::MAddNx>()?;
    module.command::<insert::Insert>()?;
    module.command::<exists::Exists>()?;
    module.command::<exists::MExists>()?;
    module.command::<age::Age>()?;
    module.command::<info::Info>()?;
    module.command::<card::Card>()?;
    module.command::<plan::Plan>()?;
    module.command::<snapshot::Snapshot>()?;
    module.command::<snapshot::Load>()?;
    module.command::<internal::Create>()?;
    module.command::<internal::Patch>()?;
    module.command::<internal::Apply>()
}

//! The commands, one file per family. `options` reads the options of a new filter, and `keys` opens keys that
//! must be missing; the others are named after a command.

mod add;
mod age;
mod card;
mod exists;
mod fields;
mod info;
mod insert;
mod internal;
mod keys;
mod options;
mod plan;
mod reserve;
mod room;
mod snapshot;
mod templates;

use crate::server::{Module, NotRegistered};

pub(crate) fn register(module: &Module) -> Result<(), NotRegistered> {
    templates::register(module)?;
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

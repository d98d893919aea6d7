//! `lately`: passes a stream through without the records seen lately, in fixed memory.
//!
//! A record passes through `reading` (bytes to records), `keys`, `deciding` and `writing`. `commands`
//! connects them.

#![cfg_attr(fuzzing, allow(dead_code, missing_docs))]

mod commands;
mod csv;
mod dates;
mod deciding;
mod failure;
// A check that fails panics.
#[cfg(any(test, fuzzing))]
#[allow(clippy::missing_panics_doc)]
pub mod fuzzing;
mod keys;
mod reading;
mod scan;
mod shown;
mod system;
mod writing;

use std::process::ExitCode;

use clap::Parser as _;

use failure::Failure;

fn main() -> ExitCode {
    if let Some(name) = system::closed_streams::first_closed() {
        let remedy = "redirect it to a file, or to /dev/null if it is not needed";
        return Failure::other(format!("{name} is closed; {remedy}")).report();
    }
    match commands::Lately::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

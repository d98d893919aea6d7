//! `lately`: passes a stream through without the records seen lately, in fixed memory.
//!
//! A record passes through `reading` (bytes to records), `keys`, `deciding` and `writing`. `commands`
//! connects them.

mod commands;
mod csv;
mod dates;
mod deciding;
mod failure;
mod keys;
mod reading;
mod system;
mod writing;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::Lately::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

//! `lately`: passes a stream through without the records seen lately, in fixed memory.

mod batch;
mod commands;
mod csv;
mod failure;
mod input;
mod keys;
mod output;
mod progress;
mod promise;
mod reader;
mod reading;
mod sieve;
mod state;
mod stream;
mod summary;
mod system;
mod units;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::Lately::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

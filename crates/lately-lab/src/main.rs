//! The lab, where claims are earned: benchmarks, and the race of all sliding-window filters the paper names.

// Parts of the report are for the paper's own section, which is to come.
#![allow(dead_code, unused_imports)]

mod bench;
mod race;
mod report;
mod rivals;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: lately-lab bench [--quick] [--json]
       lately-lab race --out DIR [--quick]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let written = match words.as_slice() {
        ["bench", options @ ..] if options.iter().all(|option| ["--quick", "--json"].contains(option)) => {
            bench::run(options.contains(&"--quick"), options.contains(&"--json"));
            Ok(())
        }
        ["race", "--out", directory] => race::run(Path::new(directory), false),
        ["race", "--out", directory, "--quick"] | ["race", "--quick", "--out", directory] => {
            race::run(Path::new(directory), true)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lately-lab: cannot write the report: {error}");
            ExitCode::FAILURE
        }
    }
}

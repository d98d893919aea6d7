//! The lab, where claims are earned: the paper's tables and figures, the race of all sliding-window filters it names, and
//! benchmarks.

mod bench;
mod parallel;
mod race;
mod report;
mod reproduce;
mod rivals;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: lately-lab reproduce --out DIR
       lately-lab race --out DIR [--quick]
       lately-lab bench [--quick] [--json]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let written = match words.as_slice() {
        ["bench", options @ ..] if options.iter().all(|option| ["--quick", "--json"].contains(option)) => {
            bench::run(options.contains(&"--quick"), options.contains(&"--json"));
            Ok(())
        }
        ["reproduce", "--out", directory] => reproduce::run(Path::new(directory)),
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

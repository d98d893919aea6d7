//! The lab, where claims are earned: the paper's tables and figures, the race of all sliding-window filters it names, and
//! benchmarks; and what `benchmarks/cli.sh` and `benchmarks/python.py` measure the command and the Python package with.

mod bench;
mod log;
mod parallel;
mod race;
mod report;
mod reproduce;
mod rivals;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// Where lately's claims are earned.
#[derive(Parser)]
enum Command {
    /// Recomputes and measures the paper's tables and figures
    Reproduce {
        /// Where report.html, tables.json and one CSV per figure go
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Races every sliding-window filter the paper names, with the same memory on the same streams
    Race {
        /// Where race.json and report.html go
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// The large window with one stream only, fewer questions: within two minutes
        #[arg(long)]
        quick: bool,
    },
    /// Times our layouts against peers, in one process, round by round
    Bench {
        /// Two windows and fewer rounds
        #[arg(long)]
        quick: bool,
        /// For machines to read
        #[arg(long)]
        json: bool,
        /// Only contenders with this in their name
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Prints a log to deduplicate
    Log { lines: u64 },
    /// Times the batch call on the numbers of a file, for `benchmarks/python.py`
    Numbers { file: PathBuf, window: u64, rate: f64 },
    /// Says what an exact window says about the output of `lately dedup --emit tagged`
    Judge { file: PathBuf, window: u64 },
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Reproduce { out } => reproduce::run(&out),
        Command::Race { out, quick } => race::run(&out, quick),
        Command::Bench { quick, json, only } => {
            bench::run(quick, json, &only);
            Ok(())
        }
        Command::Log { lines } => log::generate(lines, io::stdout().lock()),
        Command::Numbers { file, window, rate } => bench::numbers::run(&file, window, rate),
        Command::Judge { file, window } => judge(&file, window),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lately-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn judge(file: &Path, window: u64) -> io::Result<()> {
    let log::Verdict { lines, missed, fresh, mistaken } = log::judge(file, window)?;
    println!("{{\"lines\":{lines},\"missed\":{missed},\"fresh\":{fresh},\"mistaken\":{mistaken}}}");
    if missed > 0 {
        Err(io::Error::other(format!("{missed} repeats within the window were missed")))
    } else {
        Ok(())
    }
}

//! The lab measures what lately claims: it reproduces the paper's tables and figures, races all
//! sliding-window filters that the paper names, and runs benchmarks. It also has the helpers of
//! `benchmarks/cli.sh` and `benchmarks/python.py`.

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

/// The measurements behind lately's claims.
#[derive(Parser)]
enum Command {
    /// Recomputes and measures the paper's tables and figures
    Reproduce {
        /// The directory for report.html, tables.json and one CSV file per figure
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Races every sliding-window filter the paper names, with the same memory on the same streams
    Race {
        /// The directory for race.json and report.html
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Use one stream only for the large window, and ask fewer questions: takes less than two minutes
        #[arg(long)]
        quick: bool,
    },
    /// Times our layouts against peers, in one process, round by round
    Bench {
        /// Measure only two windows, in fewer rounds
        #[arg(long)]
        quick: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Measure only contenders whose name contains NAME, and the reference; or only "threads" or "elastic"
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Prints a log to deduplicate
    Log { lines: u64 },
    /// Times the batch call on the numbers of a file, for `benchmarks/python.py`
    Numbers { file: PathBuf, window: u64, rate: f64 },
    /// Compares the output of `lately dedup --emit tagged` with an exact window
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
        Err(io::Error::other(format!(
            "{missed} repeats within the window of {window} lines are tagged as new"
        )))
    } else {
        Ok(())
    }
}

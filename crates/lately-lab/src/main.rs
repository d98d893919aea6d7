//! The lab: benchmarks against peers, and the log that `benchmarks/cli.sh` measures the command-line tool with.

mod bench;
mod log;

use std::io;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: lately-lab bench [--quick] [--json]
       lately-lab log LINES             a log to deduplicate, to standard output
       lately-lab judge FILE WINDOW     what an exact window says about `lately dedup --emit tagged`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["bench", options @ ..] if options.iter().all(|option| ["--quick", "--json"].contains(option)) => {
            bench::run(options.contains(&"--quick"), options.contains(&"--json"));
            Ok(())
        }
        ["log", lines] => match lines.parse() {
            Ok(lines) => log::generate(lines, io::stdout().lock()),
            Err(_) => return usage(),
        },
        ["judge", file, window] => match window.parse() {
            Ok(window) => judge(Path::new(file), window),
            Err(_) => return usage(),
        },
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lately-lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
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

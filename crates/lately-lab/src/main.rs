//! The lab: `cargo run --release -p lately-lab -- bench [--quick] [--json] [--only=NAME]`.

mod bench;

use std::process::ExitCode;

const USAGE: &str = "usage: lately-lab bench [--quick] [--json] [--only=NAME]";

/// Only contenders with this in their name.
const ONLY: &str = "--only=";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_known =
        |argument: &String| argument == "--quick" || argument == "--json" || argument.starts_with(ONLY);
    match arguments.split_first() {
        Some((command, options)) if command == "bench" && options.iter().all(is_known) => {
            let has = |option: &str| options.iter().any(|given| given == option);
            let only = options.iter().find_map(|given| given.strip_prefix(ONLY)).unwrap_or("");
            bench::run(has("--quick"), has("--json"), only);
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

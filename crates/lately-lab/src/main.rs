//! The lab: `cargo run --release -p lately-lab -- bench [--quick] [--json]`.

mod bench;
#[allow(dead_code, unused_imports)]
mod rivals;

use std::process::ExitCode;

const USAGE: &str = "usage: lately-lab bench [--quick] [--json]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_known = |argument: &String| argument == "--quick" || argument == "--json";
    match arguments.split_first() {
        Some((command, options)) if command == "bench" && options.iter().all(is_known) => {
            let has = |option: &str| options.iter().any(|given| given == option);
            bench::run(has("--quick"), has("--json"));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

//! Passes standard input through without the lines seen lately:
//!
//! ```sh
//! cargo run --release --example dedup -- 1000 0.0001 < samples/webhooks.log
//! ```
//!
//! The arguments are the window (inserts that are never forgotten) and the false positive rate.

use std::error::Error;
use std::io::{self, BufRead, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use lately::Filter;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has had enough.
        Err(error) if is_broken_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dedup: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [window, rate] = arguments.as_slice() else {
        return Err(
            "say the window and the false positive rate, for example: dedup 1000 0.0001 < FILE".into()
        );
    };
    let window = window.parse().map_err(|error| format!("window {window:?}: {error}"))?;
    let rate = rate.parse().map_err(|error| format!("false positive rate {rate:?}: {error}"))?;
    let mut seen = Filter::builder().window(window).false_positive_rate(rate).build()?;

    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    let (mut lines, mut duplicates) = (0_u64, 0_u64);
    while input.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        // The last line may lack its newline, and is the same line all the same.
        if seen.check_and_insert(line.strip_suffix(b"\n").unwrap_or(&line)) {
            duplicates += 1;
        } else {
            output.write_all(&line)?;
        }
        line.clear();
    }
    output.flush()?;

    let plan = seen.plan();
    eprintln!(
        "{lines} lines, {duplicates} seen lately and left out; {} inserts never forgotten in {} bytes ({})",
        seen.guaranteed_window(),
        plan.memory_bytes,
        plan.shape,
    );
    Ok(())
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

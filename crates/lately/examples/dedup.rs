//! Passes standard input through without the lines seen lately:
//!
//! ```sh
//! cargo run --release --example dedup -- 1000 0.0001 < samples/webhooks.log
//! ```
//!
//! The arguments are the window (inserts that are never forgotten) and the false positive rate.

use std::error::Error;
use std::io::{self, BufRead, BufWriter, Write};

use lately::Filter;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let window = arguments.next().map_or(Ok(1_000_000), |argument| argument.parse())?;
    let rate = arguments.next().map_or(Ok(1e-4), |argument| argument.parse())?;
    let mut seen = Filter::builder().window(window).false_positive_rate(rate).build()?;

    let mut input = io::stdin().lock();
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    let (mut lines, mut duplicates) = (0_u64, 0_u64);
    while input.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        if seen.check_and_insert(&line) {
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

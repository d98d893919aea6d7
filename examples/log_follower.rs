//! Follows lines on standard input and prints each different line at most once per ten minutes.
//!
//! Run it: `tail -F app.log | cargo run -p lately-examples --bin log_follower`.
//! It prints a new line immediately, and then swallows equal lines for ten to twelve minutes: the filter
//! forgets in steps.
//!
//! Two optional arguments, `SECONDS` and `FIELDS`: the span instead of 600 seconds, and the number of leading
//! fields to ignore. With `-- 600 2`, lines that start with a date and a time are compared without them.

use std::env;
use std::io::{BufRead as _, ErrorKind, Write as _, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use lately::Filter;

const DIFFERENT_LINES_PER_SPAN: u64 = 100_000;

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let seconds = arguments.next().as_deref().unwrap_or("600").parse().context("SECONDS must be a number")?;
    let fields = arguments.next().as_deref().unwrap_or("0").parse().context("FIELDS must be 0 to 255")?;
    let span = Duration::try_from_secs_f64(seconds).context("SECONDS is out of range")?;

    // A false positive swallows a new line: at most one in a million. If more different lines arrive than
    // expected, this rate rises, but still no line is printed twice.
    let mut seen = Filter::builder()
        .time_window(span)
        .capacity(DIFFERENT_LINES_PER_SPAN)
        .false_positive_rate(1e-6)
        .build()?;

    // The filter lives only as long as this process, so the best clock is one that cannot be set.
    let clock = Instant::now();
    let mut output = stdout().lock();
    for line in stdin().lock().split(b'\n') {
        let mut line = line?;
        seen.advance_to(clock.elapsed().as_millis() as u64);
        // Only printed lines count. With `check_and_insert`, every sighting would start the ten minutes
        // again, and a line that keeps coming would be printed only once.
        if seen.check_or_insert(without_fields(&line, fields)) {
            continue;
        }
        line.push(b'\n');
        // Flush each line: its reader wants it now, not when a buffer is full.
        let printed = output.write_all(&line).and_then(|()| output.flush());
        match printed {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break, // as in `log_follower | head`
            printed => printed?,
        }
    }
    Ok(())
}

/// The line without its first fields; the whole line if it has no other fields.
fn without_fields(line: &[u8], fields: u8) -> &[u8] {
    let fields = usize::from(fields);
    line.splitn(fields + 1, |&byte| byte == b' ').nth(fields).unwrap_or(line)
}

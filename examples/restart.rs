//! Keeps a filter in a file, so that records seen before a restart are known after it.
//!
//! Run it twice: `printf 'order-1\norder-2\n' | cargo run -p lately-examples --bin restart -- seen.lately`.
//! The first run prints both orders and `2 new, 0 known`. The second run prints only `0 new, 2 known`.
//!
//! Let only one process at a time use a file: the last one to save wins.

use std::env;
use std::io::{BufRead as _, ErrorKind, Write as _, stdin, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use lately::{Filter, SnapshotError};

fn main() -> Result<()> {
    let path = env::args_os().nth(1).map(PathBuf::from).context("usage: restart FILE < RECORDS")?;
    let mut seen = load_or_build(&path)?;
    let mut output = stdout().lock();
    let (mut new, mut known) = (0, 0);
    for record in stdin().lock().split(b'\n') {
        let mut record = record?;
        if seen.check_or_insert(&record) {
            known += 1;
        } else {
            record.push(b'\n');
            output.write_all(&record)?;
            new += 1;
        }
    }
    // Write the results first, then save the filter. A crash in between leaves the old file, and the next run
    // repeats this one. In the opposite order, a crash would lose results. If a power cut must not lose them
    // either, sync them to disk here. On a stream that never ends, do all this every few seconds.
    output.flush()?;
    seen.save(&path)?;
    writeln!(output, "{new} new, {known} known")?;
    Ok(())
}

/// Loads the filter, or builds one if the file does not exist. Fails if the file exists but cannot be loaded:
/// an empty filter would let every record through again, and saving it would replace a file that may still be
/// repaired.
fn load_or_build(path: &Path) -> Result<Filter> {
    match Filter::load(path) {
        // It keeps the window and the rate it was built with. Changing the numbers below does not change it.
        Ok(seen) => Ok(seen),
        Err(SnapshotError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
            let seen = Filter::builder().window(100_000).false_positive_rate(1e-6).build()?;
            // If the directory is missing or read-only, fail now, before any work is done.
            seen.save(path)?;
            Ok(seen)
        }
        Err(unreadable @ SnapshotError::Io { .. }) => Err(unreadable.into()),
        Err(damage) => Err(damage).with_context(|| {
            let remedy = "Restore it from a copy, or remove it to start with an empty filter";
            format!("{} does not hold a usable filter. {remedy}", path.display())
        }),
    }
}

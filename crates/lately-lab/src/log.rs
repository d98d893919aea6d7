//! A log to deduplicate, the same on every machine, and an exact judge of the deduplicated output.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

/// One line in this many repeats an earlier one.
const REPEATS: u64 = 5;
/// Most repeats come soon; one in this many comes at any distance.
const LATE_REPEATS: u64 = 20;
const SOON: u64 = 500_000;

/// Writes `lines` lines of 24 to 80 bytes, newlines included.
pub(crate) fn generate(lines: u64, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let mut random = Random(17);
    // The number of each line written so far, so that it can be repeated.
    let mut written: Vec<u32> = Vec::new();
    let mut fresh = 0;
    let mut line = Vec::new();
    for position in 0..lines {
        let mut number = fresh;
        if position > 0 && random.below(REPEATS) == 0 {
            let reach = if random.below(LATE_REPEATS) == 0 { position } else { position.min(SOON) };
            number = written[(position - 1 - random.below(reach)) as usize];
        } else {
            fresh += 1;
        }
        written.push(number);
        write_line(number, &mut line)?;
        out.write_all(&line)?;
    }
    out.flush()
}

fn write_line(number: u32, line: &mut Vec<u8>) -> io::Result<()> {
    const PATHS: &[u8] = b" GET /api/v2/orders/items/shipments/tracking?page=1&sort=-date";
    let mix = Random(u64::from(number)).next();
    line.clear();
    write!(line, "{:08x}-{mix:012x}", mix >> 7 & 0xffff_ffff)?;
    line.truncate(22);
    let room = 23 + (mix >> 32) as usize % 57;
    line.extend_from_slice(&PATHS[..(room - line.len()).min(PATHS.len())]);
    line.push(b'\n');
    Ok(())
}

/// The result of comparing a tagged log with an exact window.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) lines: u64,
    /// Repeats within the window that are tagged as new: there must be none.
    pub(crate) missed: u64,
    /// Lines never seen before, and how many of them are tagged as seen.
    pub(crate) fresh: u64,
    pub(crate) mistaken: u64,
}

/// Judges `lately dedup --emit tagged` with a count window of `window`, line by line.
pub(crate) fn judge(tagged: &Path, window: u64) -> io::Result<Verdict> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(tagged)?);
    let mut last: HashMap<u64, u64> = HashMap::new();
    let mut verdict = Verdict::default();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let (is_seen, text) = match line.split_first_chunk::<5>() {
            Some((b"seen\t", text)) => (true, text),
            _ => (false, line.strip_prefix(b"new\t").ok_or_else(|| untagged(verdict.lines + 1))?),
        };
        match last.insert(xxh3_64(text), verdict.lines) {
            None => {
                verdict.fresh += 1;
                verdict.mistaken += u64::from(is_seen);
            }
            Some(before) => verdict.missed += u64::from(verdict.lines - before <= window && !is_seen),
        }
        verdict.lines += 1;
        line.clear();
    }
    Ok(verdict)
}

fn untagged(line: u64) -> io::Error {
    io::Error::other(format!(
        "line {line} starts with neither `new` nor `seen`; pass the output of `lately dedup --emit tagged`"
    ))
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

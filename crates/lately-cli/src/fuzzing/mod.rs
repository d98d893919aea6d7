//! The functions of the fuzz targets (`fuzz/`): each accepts any bytes, and panics if a check fails. Tests replay the
//! corpus through them. Compiled only for tests and the fuzzer.

mod grammar;
mod records;
mod times;

pub use grammar::grammar;
pub use records::records;
pub use times::times;

use crate::keys::{TimeFormat, Times, Zone};

/// 2024-06-01T00:00:00Z: the clock of all of them, so that an input does the same on every day.
const NOW_MS: u64 = 1_717_200_000_000;
const DAY_MS: u64 = 86_400_000;

/// Reads a fuzzer's bytes; zeros past the end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.byte() as usize % all.len()]
    }

    fn rest(self) -> &'a [u8] {
        self.0
    }
}

fn reader_of_times(format: TimeFormat, zone: Zone, now_ms: u64) -> Times {
    Times::new(format, zone, now_ms, DAY_MS)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use lately::HashFunction;

    /// The kept inputs of a target, each also cut off, and some thousand random ones.
    fn replay(target: &str, run: fn(&[u8])) {
        // A published crate has no corpus.
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
        let mut kept: Vec<Vec<u8>> = Vec::new();
        if let Ok(entries) = fs::read_dir(format!("{corpus}/{target}")) {
            kept.extend(entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()));
        }
        for input in &kept {
            run(input);
            run(&input[..input.len() / 2]);
        }
        // A fixed sequence, so that a failure comes again. Random bytes alone rarely begin anything, so most inputs are
        // kept ones with some bytes replaced.
        let mut number = 0_u64;
        let mut below = |end: usize| {
            number += 1;
            (HashFunction::default().hash(&number.to_le_bytes()) % end as u64) as usize
        };
        for round in 0..3_000 {
            let mut input = match round % 4 {
                0 => vec![0; below(120)],
                _ if kept.is_empty() => vec![0; below(120)],
                _ => kept[below(kept.len())].clone(),
            };
            let replaced = if round % 4 == 0 { input.len() } else { 1 + below(4) };
            for number in 0..replaced.min(input.len()) {
                let place = if round % 4 == 0 { number } else { below(input.len()) };
                input[place] = below(256) as u8;
            }
            run(&input);
        }
    }

    #[test]
    fn records_do_not_depend_on_blocks_and_have_the_keys_of_other_parsers() {
        replay("records", super::records);
    }

    #[test]
    fn values_of_flags_are_read_or_named() {
        replay("grammar", super::grammar);
    }

    #[test]
    fn times_are_those_that_were_written() {
        replay("times", super::times);
    }
}

//! `--emit summary`: how often each of the busiest keys was left out, from when to when.
//!
//! The table has at most twice as many keys as are wanted. When it is full, the busier half stays, and the
//! repeats of the others are counted together. So the repeats in all lines and those of the others are always
//! all repeats.

use std::collections::HashMap;

use serde_json::json;
use serde_json::value::RawValue;

use crate::dates::date;

/// How many bytes of a record a line shows.
const SHOWN: usize = 4 << 10;

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// Words, with this byte at the end.
    Text(u8),
    /// An object.
    Json,
    /// Three columns before those of the records, which this byte separates.
    Csv(u8),
}

/// A moment of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) ms: u64,
    /// Records before it.
    pub(crate) records: u64,
}

/// When the repeats of a key have ended: this long after the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lifetime {
    Millis(u64),
    Records(u64),
}

pub(crate) struct Repeats {
    most: usize,
    format: LineFormat,
    lifetime: Lifetime,
    /// By the hash of the key.
    keys: HashMap<u64, Repeated>,
    /// Repeats of keys that were not among the busiest.
    others: u64,
    /// When the table was last searched for repeats that have ended, in the units of the lifetime.
    swept_at: u64,
}

struct Repeated {
    repeats: u64,
    first_ms: u64,
    last_ms: u64,
    /// The last one's place in the stream.
    last_record: u64,
    /// The beginning of the first one, without its terminator.
    record: Box<[u8]>,
    is_cut: bool,
}

impl Repeats {
    pub(crate) fn new(most: usize, format: LineFormat, lifetime: Lifetime) -> Self {
        Self { most, format, lifetime, keys: HashMap::new(), others: 0, swept_at: 0 }
    }

    pub(super) fn format(&self) -> LineFormat {
        self.format
    }

    /// Repeats that are in no line.
    pub(super) fn others(&self) -> u64 {
        self.others
    }

    /// Counts a record that was left out.
    pub(super) fn count(&mut self, hash: u64, now: Moment, record: &[u8]) {
        let format = self.format;
        let repeated = self.keys.entry(hash).or_insert_with(|| {
            let terminator = if let LineFormat::Text(byte) = format { byte } else { b'\n' };
            let record = record.strip_suffix(&[terminator]).unwrap_or(record);
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            let shown = record.len().min(SHOWN);
            let is_cut = shown < record.len();
            Repeated {
                repeats: 0,
                first_ms: now.ms,
                last_ms: now.ms,
                last_record: now.records,
                record: record[..shown].into(),
                is_cut,
            }
        });
        repeated.repeats += 1;
        repeated.first_ms = repeated.first_ms.min(now.ms);
        repeated.last_ms = repeated.last_ms.max(now.ms);
        repeated.last_record = now.records;
        if self.keys.len() >= 2 * self.most {
            self.keep_the_busiest();
        }
    }

    #[cold]
    fn keep_the_busiest(&mut self) {
        let mut order: Vec<(u64, u64, u64)> =
            self.keys.iter().map(|(hash, key)| (key.repeats, key.last_record, *hash)).collect();
        // The busiest first; of equally busy ones, the latest.
        order.sort_unstable_by(|one, other| other.cmp(one));
        for (repeats, _, hash) in order.drain(self.most..) {
            self.others += repeats;
            self.keys.remove(&hash);
        }
    }

    /// Returns the line about the repeats of a key that passes again, if it had any.
    pub(super) fn take(&mut self, hash: u64) -> Option<Vec<u8>> {
        let repeated = self.keys.remove(&hash)?;
        Some(self.line(&repeated))
    }

    /// Returns the lines about repeats that have ended.
    pub(super) fn take_ended(&mut self, now: Moment) -> Vec<u8> {
        let (now_at, lifetime) = match self.lifetime {
            Lifetime::Millis(ms) => (now.ms, ms),
            Lifetime::Records(records) => (now.records, records),
        };
        // A sixteenth of a lifetime late is early enough, and little work.
        if self.keys.is_empty() || now_at.saturating_sub(self.swept_at) < lifetime / 16 {
            return Vec::new();
        }
        self.swept_at = now_at;
        let has_ended = |key: &Repeated| {
            let last = match self.lifetime {
                Lifetime::Millis(_) => key.last_ms,
                Lifetime::Records(_) => key.last_record,
            };
            now_at.saturating_sub(last) > lifetime
        };
        let mut ended: Vec<Repeated> =
            self.keys.extract_if(|_, key| has_ended(key)).map(|(_, repeated)| repeated).collect();
        ended.sort_unstable_by_key(|key| key.last_record);
        ended.iter().flat_map(|repeated| self.line(repeated)).collect()
    }

    /// Returns the lines about all repeats that are left, the busiest keys first. At most as many as are wanted.
    pub(super) fn take_all(&mut self) -> Vec<u8> {
        self.keep_the_busiest_if_more();
        let mut rest: Vec<Repeated> = self.keys.drain().map(|(_, repeated)| repeated).collect();
        rest.sort_unstable_by(|one, other| {
            (other.repeats, one.last_record).cmp(&(one.repeats, other.last_record))
        });
        rest.iter().flat_map(|repeated| self.line(repeated)).collect()
    }

    fn keep_the_busiest_if_more(&mut self) {
        if self.keys.len() > self.most {
            self.keep_the_busiest();
        }
    }

    /// Returns how often repeats may end while no records arrive; `None` if there are none.
    pub(super) fn sweep_interval_ms(&self) -> Option<u64> {
        (!self.keys.is_empty()).then(|| match self.lifetime {
            Lifetime::Millis(ms) => (ms / 16).max(10),
            Lifetime::Records(_) => 1_000,
        })
    }

    fn line(&self, repeated: &Repeated) -> Vec<u8> {
        let Repeated { repeats, first_ms, last_ms, record, is_cut, .. } = repeated;
        let (first, last) = (date(*first_ms), date(*last_ms));
        let is_one = if *repeats == 1 { "repeat" } else { "repeats" };
        match self.format {
            LineFormat::Text(end) => {
                let mut line = format!("lately: {repeats} {is_one} from {first} to {last}: ").into_bytes();
                line.extend_from_slice(record);
                line.extend_from_slice(if *is_cut { b"..." } else { b"" });
                line.push(end);
                line
            }
            LineFormat::Json => {
                let whole: Option<&RawValue> =
                    if *is_cut { None } else { serde_json::from_slice(record).ok() };
                let text = String::from_utf8_lossy(record);
                let record = whole.map_or_else(|| json!(text), |whole| json!(whole));
                let about = json!({ "repeats": repeats, "first": first, "last": last, "record": record });
                format!("{}\n", json!({ "lately": about })).into_bytes()
            }
            LineFormat::Csv(delimiter) => {
                let delimiter = char::from(delimiter);
                let mut line =
                    format!("{repeats}{delimiter}{first}{delimiter}{last}{delimiter}").into_bytes();
                // A record that is cut would have other columns.
                line.extend_from_slice(if *is_cut { b"" } else { record });
                line.push(b'\n');
                line
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(records: u64) -> Moment {
        Moment { ms: 1_700_000_000_000 + records * 1_000, records }
    }

    #[test]
    fn the_totals_are_right_whatever_falls_out() {
        let mut repeats = Repeats::new(10, LineFormat::Json, Lifetime::Records(1_000_000));
        let (mut all, mut told) = (0, 0);
        let count = |lines: Vec<u8>| -> u64 {
            let text = String::from_utf8(lines).unwrap();
            let repeats = |line: &str| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["lately"]["repeats"].as_u64()
            };
            text.lines().map(|line| repeats(line).unwrap()).sum()
        };
        for number in 0..50_000_u64 {
            // Key 7 comes every third time.
            let key = if number % 3 == 0 { 7 } else { number * 2_654_435_761 % 1_000 };
            repeats.count(key, at(number), format!("{{\"key\":{key}}}\n").as_bytes());
            all += 1;
            if number % 1_000 == 999 {
                told += repeats.take(5).map_or(0, count);
            }
            assert!(repeats.keys.len() <= 20);
        }
        assert!(repeats.keys[&7].repeats >= 16_667);
        let rest = repeats.take_all();
        assert!(String::from_utf8_lossy(&rest).lines().count() <= 10);
        told += count(rest);
        assert_eq!(told + repeats.others(), all);
    }

    #[test]
    fn repeats_end_when_the_window_has_passed() {
        for lifetime in [Lifetime::Records(100), Lifetime::Millis(100_000)] {
            let mut repeats = Repeats::new(10, LineFormat::Text(b'\n'), lifetime);
            repeats.count(1, at(1), b"one\r\n");
            repeats.count(1, at(3), b"one again\n");
            repeats.count(2, at(60), b"two\n");
            assert!(repeats.take_ended(at(103)).is_empty());
            let line = "lately: 2 repeats from 2023-11-14T22:13:21Z to 2023-11-14T22:13:23Z: one\n";
            assert_eq!(String::from_utf8(repeats.take_ended(at(110))).unwrap(), line);
            assert!(repeats.take(1).is_none() && repeats.take(2).is_some());
        }
    }
}

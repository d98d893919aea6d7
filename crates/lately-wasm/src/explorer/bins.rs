//! A look at each fingerprint of a small filter of bins, by docs/format.md.

use alloc::vec::Vec;

use lately::Filter;

use crate::numbers::Writer;

/// Two hexadecimal digits, and a rate that a person can measure by asking.
pub(super) const FINGERPRINT_BITS: u32 = 8;
/// The bits of a header besides the marks: the next place, spill marks, a stamp, a claim.
const PLACE_BITS: u32 = 6;
const FIXED_BITS: u32 = 11;
const PLACE_AT: u32 = 53 - PLACE_BITS;
const STAMP_AT: u32 = 55;
/// Words of a line.
const LINE: usize = 8;

/// Tells where an item belongs.
#[derive(Debug)]
pub(super) struct Lines {
    /// The same filter without items: what the core does to it with one item tells which lines are the item's.
    empty: Filter,
    count: usize,
}

/// A fingerprint in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    age: u64,
    fingerprint: u64,
}

/// Where an item may be, and where it is.
#[derive(Debug)]
pub(super) struct Answer {
    /// The even one and the odd one.
    lines: [usize; 2],
    fingerprint: u64,
    /// The line, the even one first, and the number in its queue, newest first.
    found: Option<(usize, usize)>,
    /// The item's cells in the spare, which count if both lines were full.
    spare: Vec<usize>,
}

impl Answer {
    pub(super) fn write(&self, reply: &mut Writer<'_>) {
        self.lines.iter().for_each(|&line| reply.count(line as u64));
        reply.count(self.fingerprint);
        reply.optional(self.found.map(|(line, _)| line as u64));
        reply.optional(self.found.map(|(_, number)| number as u64));
        self.spare.iter().for_each(|&cell| reply.count(cell as u64));
    }
}

impl Lines {
    /// The places of a line.
    pub(super) fn entries(l: u32) -> u32 {
        (64 - PLACE_BITS - FIXED_BITS).saturating_sub(l)
    }

    pub(super) fn new(filter: &Filter) -> Self {
        Self { empty: filter.clone(), count: filter.plan().cells as usize }
    }

    /// The fingerprints of the window in a line, newest first.
    fn queue(filter: &Filter, line: usize) -> Vec<Entry> {
        let words = &filter.words()[line * LINE..][..LINE];
        let header = words[LINE - 1];
        let l = filter.shape().window_generations;
        let entries = Self::entries(l);
        let mut place = header >> PLACE_AT & 63;
        // How many generations ago the line was written.
        let mut age = filter.counters().generation.wrapping_sub(header >> STAMP_AT) & 255;
        let mut queue = Vec::new();
        for mark in PLACE_AT - entries - l..PLACE_AT {
            if age > l.into() {
                break;
            }
            if header >> mark & 1 == 0 {
                age += 1;
                continue;
            }
            place = (place + u64::from(entries) - 1) % u64::from(entries);
            queue.push(Entry { age, fingerprint: words[(place / 8) as usize] >> (place % 8 * 8) & 255 });
        }
        queue
    }

    /// The cells of the spare that were written in the window, and how many generations ago.
    fn spare(&self, filter: &Filter) -> impl Iterator<Item = (usize, u64)> {
        let (generation, l) = (filter.counters().generation, filter.shape().window_generations);
        let cells = filter.words()[self.count * LINE..].iter().flat_map(|word| word.to_le_bytes());
        cells.enumerate().filter_map(move |(cell, written)| {
            let age = (generation % 255 + 256 - u64::from(written)) % 255;
            (written > 0 && age <= l.into()).then_some((cell, age))
        })
    }

    pub(super) fn answer(&self, filter: &Filter, item: &[u8]) -> Answer {
        // An item goes into its even line first. The odd one is where the core finds the same fingerprint too.
        let mut probe = self.empty.clone();
        probe.insert(item);
        let even =
            (0..self.count).step_by(2).find(|&line| !Self::queue(&probe, line).is_empty()).unwrap_or(0);
        let fingerprint = Self::queue(&probe, even).first().map_or(0, |entry| entry.fingerprint);
        let with_item = probe.words()[even * LINE..][..LINE].to_vec();
        let has = |line: usize| {
            let mut probe = self.empty.clone();
            probe.set_words(line * LINE, &with_item).is_ok() && probe.contains(item)
        };
        let odd = (1..self.count).step_by(2).find(|&line| has(line)).unwrap_or(1);
        let lines = [even, odd];
        let number_in =
            |line: usize| Self::queue(filter, line).iter().position(|entry| entry.fingerprint == fingerprint);
        let found = lines.into_iter().find_map(|line| number_in(line).map(|number| (line, number)));
        Answer { lines, fingerprint, found, spare: self.spare_of(lines, fingerprint, item) }
    }

    /// The cells that an item gets if both its lines are full, of other fingerprints.
    fn spare_of(&self, lines: [usize; 2], fingerprint: u64, item: &[u8]) -> Vec<usize> {
        let mut probe = self.empty.clone();
        let entries = Self::entries(probe.shape().window_generations) as usize;
        let other = (fingerprint ^ 255) as u8;
        let bytes: [u8; LINE * 8] = core::array::from_fn(|place| if place < entries { other } else { 0 });
        let mut full: [u64; LINE] = core::array::from_fn(|word| {
            u64::from_le_bytes(core::array::from_fn(|byte| bytes[word * 8 + byte]))
        });
        let l = probe.shape().window_generations;
        full[LINE - 1] = ((1 << entries) - 1) << (PLACE_AT - entries as u32 - l);
        if lines.iter().any(|line| probe.set_words(line * LINE, &full).is_err()) {
            return Vec::new();
        }
        probe.insert(item);
        self.spare(&probe).map(|(cell, _)| cell).collect()
    }

    /// Writes the places of a line; each line: how many fingerprints of the window it has, and their ages and values; and
    /// the cells of the spare: which, and their ages.
    pub(super) fn look(&self, filter: &Filter, reply: &mut Writer<'_>) {
        reply.count(Self::entries(filter.shape().window_generations).into());
        for line in 0..self.count {
            let queue = Self::queue(filter, line);
            reply.count(queue.len() as u64);
            for Entry { age, fingerprint } in queue {
                reply.count(age);
                reply.count(fingerprint);
            }
        }
        for (cell, age) in self.spare(filter) {
            reply.count(cell as u64);
            reply.count(age);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use lately::Segment;

    const L: u32 = 8;

    fn filter(within: Option<u64>) -> Filter {
        let asked =
            Filter::builder().shape(1, L).segment(Segment::Bins { fingerprint_bits: FINGERPRINT_BITS });
        match within {
            Some(span) => asked.time_window(Duration::from_millis(span)).capacity(160).build().unwrap(),
            None => asked.window(160).build().unwrap(),
        }
    }

    #[test]
    fn an_item_is_found_where_the_core_finds_it() {
        for within in [None, Some(8_000)] {
            let mut filter = filter(within);
            let lines = Lines::new(&filter);
            let (mut spilled, mut strangers) = (0, 0);
            for number in 0..1_500_u64 {
                filter.advance_to(number * 30);
                let item = number.to_le_bytes();
                filter.insert(item);
                let answer = lines.answer(&filter, &item);
                // It is in one of its lines, as the newest; or in the spare.
                match answer.found {
                    Some((line, at)) => {
                        assert!(answer.lines.contains(&line));
                        let entry = Lines::queue(&filter, line)[at];
                        assert_eq!(entry, Entry { age: 0, fingerprint: answer.fingerprint });
                    }
                    None => {
                        spilled += 1;
                        let cells: Vec<_> = lines.spare(&filter).collect();
                        assert!(answer.spare.iter().all(|&cell| cells.contains(&(cell, 0))), "{number}");
                        assert!(!answer.spare.is_empty());
                    }
                }
                for asked in
                    [number, number.saturating_sub(100), number.saturating_sub(300), number + 9_000_000]
                {
                    let answer = lines.answer(&filter, &asked.to_le_bytes());
                    let seen = filter.contains(asked.to_le_bytes());
                    assert!(answer.found.is_none() || seen, "{asked} after {number}");
                    strangers += u64::from(seen && answer.found.is_none());
                }
            }
            // 267 items in 8 seconds, for which the time window has no room.
            assert_eq!(spilled > 0, within.is_some(), "{spilled} {strangers}");
        }
    }

    #[test]
    fn every_fingerprint_of_the_window_is_shown_with_its_age() {
        let mut filter = filter(None);
        let lines = Lines::new(&filter);
        let mut most = 0;
        for number in 0..1_000_u64 {
            filter.insert(number.to_le_bytes());
            let shown: Vec<Entry> = (0..lines.count).flat_map(|line| Lines::queue(&filter, line)).collect();
            let g = filter.items_per_generation();
            for age in 0..=u64::from(L) {
                let inserted = if age == 0 {
                    number % g + 1
                } else {
                    g.min((number / g * g).saturating_sub((age - 1) * g))
                };
                let of_age = shown.iter().filter(|entry| entry.age == age).count() as u64;
                // An item whose fingerprint is there already takes its place.
                assert!(of_age <= inserted && of_age * 2 >= inserted, "{of_age} of {inserted} at age {age}");
            }
            most =
                most.max((0..lines.count).map(|line| Lines::queue(&filter, line).len()).max().unwrap_or(0));
        }
        assert!(most <= Lines::entries(L) as usize && most > 20, "{most}");
    }
}

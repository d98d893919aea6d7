//! A look at each bit of a small filter of slices.

use alloc::vec;
use alloc::vec::Vec;

use lately::{Filter, Window};

use crate::failure::Failure;
use crate::numbers::Writer;

#[derive(Debug)]
pub(super) struct Slices {
    /// For each ring position an empty filter whose newest segment is there. They tell which bit an item has in which
    /// segment: the core itself sets it.
    probes: Vec<Filter>,
}

/// What each segment answers: the item's bit, newest first, and whether it is set.
#[derive(Debug)]
pub(super) struct Answer {
    cells: Vec<(u64, bool)>,
    /// The age of the youngest segment of the first run of matches that is long enough.
    run: Option<usize>,
}

impl Answer {
    pub(super) fn write(&self, reply: &mut Writer<'_>) {
        reply.optional(self.run.map(|age| age as u64));
        for &(cell, set) in &self.cells {
            reply.count(cell);
            reply.flag(set);
        }
    }
}

impl Slices {
    pub(super) fn new(filter: &Filter) -> Result<Self, Failure> {
        let segments = filter.shape().segments();
        // After s shifts, the newest segment is at the position -s modulo k + l.
        let probes: Result<Vec<_>, _> =
            (0..segments).map(|position| empty_after(filter, (segments - position) % segments)).collect();
        Ok(Self { probes: probes? })
    }

    fn words_of(filter: &Filter, position: usize) -> &[u64] {
        let words = filter.words();
        let each = words.len() / filter.shape().segments() as usize;
        &words[position * each..(position + 1) * each]
    }

    /// The position of the segment of this age.
    fn position_of(&self, filter: &Filter, age: usize) -> usize {
        let segments = self.probes.len();
        let shifts = (filter.counters().generation % segments as u64) as usize;
        (age + segments - shifts) % segments
    }

    fn cell_at(&self, position: usize, item: &[u8]) -> u64 {
        let mut probe = self.probes[position].clone();
        probe.insert(item);
        bits(Self::words_of(&probe, position)).next().unwrap_or(0)
    }

    /// The bit of an item just inserted, in each segment that it was written to, newest first.
    pub(super) fn written(&self, filter: &Filter, item: &[u8]) -> impl Iterator<Item = u64> {
        let k = filter.shape().required_matches as usize;
        (0..k).map(move |age| self.cell_at(self.position_of(filter, age), item))
    }

    pub(super) fn answer(&self, filter: &Filter, item: &[u8]) -> Answer {
        let of_age = |age| {
            let position = self.position_of(filter, age);
            let cell = self.cell_at(position, item);
            (cell, bits(Self::words_of(filter, position)).any(|set| set == cell))
        };
        let cells: Vec<(u64, bool)> = (0..self.probes.len()).map(of_age).collect();
        let k = filter.shape().required_matches as usize;
        let run = cells.windows(k).position(|run| run.iter().all(|&(_, set)| set));
        Answer { cells, run }
    }

    /// The bits that are set in the segment of this age.
    fn bits_set<'a>(&self, filter: &'a Filter, age: usize) -> impl Iterator<Item = u64> + use<'a> {
        bits(Self::words_of(filter, self.position_of(filter, age)))
    }

    /// Writes each segment, newest first: its fill, how many bits are set, and which.
    pub(super) fn look(&self, filter: &Filter, fill_by_age: &[f64], reply: &mut Writer<'_>) {
        for (age, &fill) in fill_by_age.iter().enumerate() {
            reply.number(fill);
            reply.count(self.bits_set(filter, age).count() as u64);
            self.bits_set(filter, age).for_each(|bit| reply.count(bit));
        }
    }
}

/// The same filter after so many shifts, with nothing in it.
fn empty_after(filter: &Filter, shifts: u32) -> Result<Filter, Failure> {
    let mut empty = Filter::from_blueprint(&filter.blueprint())?;
    match filter.window() {
        Window::Time { span, .. } => {
            empty.advance_to(0);
            let generation_ms = span.as_millis() as u64 / u64::from(filter.shape().window_generations);
            empty.advance_to(generation_ms * u64::from(shifts));
        }
        // The first insert of a generation shifts.
        _ if shifts > 0 => {
            let inserts = u64::from(shifts) * filter.items_per_generation() + 1;
            (0..inserts).for_each(|_| empty.insert_hash(0));
        }
        _ => {}
    }
    let zeros = vec![0; empty.words().len()];
    empty.set_words(0, &zeros)?;
    Ok(empty)
}

/// The numbers of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = u64> + '_ {
    (0..words.len() as u64 * 64).filter(|bit| words[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use lately::Segment;

    fn filter(within: Option<u64>) -> Filter {
        let asked = Filter::builder().shape(3, 4).segment(Segment::Slices { parts: 1 });
        match within {
            Some(span) => asked.time_window(Duration::from_millis(span)).capacity(80).build().unwrap(),
            None => asked.window(80).build().unwrap(),
        }
    }

    #[test]
    fn the_bits_shown_are_the_bits_of_the_filter() {
        for within in [None, Some(4_000)] {
            let mut filter = filter(within);
            let slices = Slices::new(&filter).unwrap();
            let all = |filter: &Filter| {
                (0..7).map(|age| slices.bits_set(filter, age).collect()).collect::<Vec<Vec<_>>>()
            };
            for number in 0..400_u64 {
                filter.advance_to(number * 50);
                let mut expected = all(&filter);
                let generation = filter.counters().generation;
                let item = number.to_string();
                filter.insert(&item);
                // Nothing else has changed, except by a shift.
                if filter.counters().generation > generation {
                    expected.rotate_right(1);
                    expected[0].clear();
                }
                for (segment, cell) in expected.iter_mut().zip(slices.written(&filter, item.as_bytes())) {
                    if !segment.contains(&cell) {
                        segment.push(cell);
                        segment.sort_unstable();
                    }
                }
                assert_eq!(all(&filter), expected, "{number}");
            }
        }
    }

    #[test]
    fn a_run_is_shown_for_exactly_the_items_that_are_reported() {
        let mut filter = filter(None);
        let slices = Slices::new(&filter).unwrap();
        for number in 0..500_u64 {
            filter.insert(number.to_string());
            for asked in [number, number.saturating_sub(60), number.saturating_sub(100), number + 10_000] {
                let asked = asked.to_string();
                let answer = slices.answer(&filter, asked.as_bytes());
                assert_eq!(filter.contains(&asked), answer.run.is_some(), "{asked} after {number}");
            }
        }
    }
}

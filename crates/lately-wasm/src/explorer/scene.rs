//! A small filter of slices, and a look at each of its bits.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use lately::{Filter, Segment, Window};

use crate::failure::Failure;
use crate::numbers::{Reader, Writer};

/// The most bits of a segment: a person looks at all of them.
const MOST_CELLS: u64 = 256;

#[derive(Debug)]
pub(crate) struct Scene {
    filter: Filter,
    /// For each ring position an empty filter whose newest segment is there. They tell which bit an item has in which
    /// segment: the core itself sets it.
    probes: Vec<Filter>,
    /// Items that were never inserted, so far.
    strangers: u64,
}

/// What an insert did: the item's bit in each segment that it was written to, newest first.
#[derive(Debug)]
struct Inserted {
    shifted: bool,
    cells: Vec<u64>,
}

/// What each segment answers: the item's bit, newest first, and whether it is set.
#[derive(Debug)]
struct Answer {
    seen: bool,
    cells: Vec<(u64, bool)>,
    /// The age of the youngest segment of the first run of matches that is long enough.
    run: Option<usize>,
}

impl Scene {
    /// Reads k, l, the window or the capacity, and the span of a time window.
    pub(crate) fn read(wanted: &mut Reader<'_>) -> Result<Self, Failure> {
        let mut count = || wanted.next_count().map_or(0, |count| count.min(u32::MAX.into()));
        let (k, l, items) = (count() as u32, count() as u32, count());
        Self::new(k, l, items, wanted.next_count())
    }

    fn new(k: u32, l: u32, items: u64, within: Option<u64>) -> Result<Self, Failure> {
        let asked = Filter::builder().shape(k, l).segment(Segment::Slices { parts: 1 });
        let filter = match within {
            // Generations that are whole milliseconds.
            Some(span) => {
                let span = Duration::from_millis(span.div_ceil(u64::from(l.max(1))).saturating_mul(l.into()));
                asked.time_window(span).capacity(items).build()?
            }
            None => asked.window(items).build()?,
        };
        let cells = filter.plan().cells;
        if cells > MOST_CELLS || filter.items_per_generation() < 2 {
            return Err(Failure::config(format!(
                "a filter of {items} items with k={k} l={l} cannot be drawn: ask for {} to {} items",
                2 * l,
                items * MOST_CELLS / cells.max(1)
            )));
        }
        let segments = filter.shape().segments();
        // After s shifts, the newest segment is at the position -s modulo k + l.
        let probes: Result<Vec<_>, _> =
            (0..segments).map(|position| empty_after(&filter, (segments - position) % segments)).collect();
        Ok(Self { probes: probes?, filter, strangers: 0 })
    }

    fn words_of(filter: &Filter, position: usize) -> &[u64] {
        let words = filter.words();
        let each = words.len() / filter.shape().segments() as usize;
        &words[position * each..(position + 1) * each]
    }

    /// The position of the segment of this age.
    fn position_of(&self, age: usize) -> usize {
        let segments = self.probes.len();
        let shifts = (self.filter.counters().generation % segments as u64) as usize;
        (age + segments - shifts) % segments
    }

    fn cell_at(&self, position: usize, item: &[u8]) -> u64 {
        let mut probe = self.probes[position].clone();
        probe.insert(item);
        bits(Self::words_of(&probe, position)).next().unwrap_or(0)
    }

    /// Inserts an item, and writes whether this shifted, and the item's bits.
    pub(crate) fn insert(&mut self, item: &[u8], reply: &mut Writer<'_>) {
        let Inserted { shifted, cells } = self.inserted(item);
        reply.flag(shifted);
        cells.into_iter().for_each(|cell| reply.count(cell));
    }

    fn inserted(&mut self, item: &[u8]) -> Inserted {
        let before = self.filter.counters().generation;
        self.filter.insert(item);
        let k = self.filter.shape().required_matches as usize;
        let cells = (0..k).map(|age| self.cell_at(self.position_of(age), item)).collect();
        Inserted { shifted: self.filter.counters().generation > before, cells }
    }

    /// Asks for an item, and writes the answer, where the run begins, and what each segment answers.
    pub(crate) fn query(&self, item: &[u8], reply: &mut Writer<'_>) {
        let Answer { seen, cells, run } = self.answer(item);
        reply.flag(seen);
        reply.optional(run.map(|age| age as u64));
        for (cell, set) in cells {
            reply.count(cell);
            reply.flag(set);
        }
    }

    fn answer(&self, item: &[u8]) -> Answer {
        let of_age = |age| {
            let position = self.position_of(age);
            let cell = self.cell_at(position, item);
            (cell, bits(Self::words_of(&self.filter, position)).any(|set| set == cell))
        };
        let cells: Vec<(u64, bool)> = (0..self.probes.len()).map(of_age).collect();
        let k = self.filter.shape().required_matches as usize;
        let run = cells.windows(k).position(|run| run.iter().all(|&(_, set)| set));
        Answer { seen: self.filter.contains(item), cells, run }
    }

    pub(crate) fn advance(&mut self, now_ms: u64) {
        self.filter.advance_to(now_ms);
    }

    /// The bits that are set in the segment of this age.
    fn bits_set(&self, age: usize) -> impl Iterator<Item = u64> + '_ {
        bits(Self::words_of(&self.filter, self.position_of(age)))
    }

    /// Writes the filter as it is now, and each segment, newest first: its fill, how many bits are set, and which.
    pub(crate) fn look(&self, reply: &mut Writer<'_>) {
        let statistics = self.filter.statistics();
        let shape = self.filter.shape();
        reply.count(shape.required_matches.into());
        reply.count(shape.window_generations.into());
        reply.count(self.filter.plan().cells);
        reply.count(self.filter.items_per_generation());
        reply.count(statistics.generation);
        reply.count(statistics.inserts);
        reply.count(self.filter.guaranteed_window());
        reply.optional(self.filter.next_shift_ms());
        reply.count(statistics.overloaded_generations);
        reply.number(self.filter.worst_false_positive_rate());
        reply.number(statistics.estimated_false_positive_rate);
        for (age, &fill) in statistics.fill_by_age.iter().enumerate() {
            reply.number(fill);
            reply.count(self.bits_set(age).count() as u64);
            self.bits_set(age).for_each(|bit| reply.count(bit));
        }
    }

    pub(crate) fn measure(&mut self, strangers: i32) -> i32 {
        let first = self.strangers;
        self.strangers += u64::from(strangers.unsigned_abs());
        let is_mistaken = |number: &u64| {
            let stranger = [b"stranger".as_slice(), &number.to_le_bytes()].concat();
            self.filter.contains(stranger)
        };
        (first..self.strangers).map(|number| i32::from(is_mistaken(&number))).sum()
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

    #[test]
    fn the_bits_shown_are_the_bits_of_the_filter() {
        for within in [None, Some(4_000)] {
            let mut scene = Scene::new(3, 4, 80, within).unwrap();
            let all =
                |scene: &Scene| (0..7).map(|age| scene.bits_set(age).collect()).collect::<Vec<Vec<_>>>();
            for number in 0..400_u64 {
                scene.advance(number * 50);
                let before = all(&scene);
                let inserted = scene.inserted(number.to_string().as_bytes());
                let after = all(&scene);
                // Nothing else has changed, except by a shift.
                let mut expected = before.clone();
                if inserted.shifted {
                    expected.rotate_right(1);
                    expected[0].clear();
                }
                for (segment, cell) in expected.iter_mut().zip(&inserted.cells) {
                    if !segment.contains(cell) {
                        segment.push(*cell);
                        segment.sort_unstable();
                    }
                }
                assert_eq!(after, expected, "{number}");
            }
        }
    }

    #[test]
    fn a_run_is_shown_for_exactly_the_items_that_are_reported() {
        let mut scene = Scene::new(3, 4, 80, None).unwrap();
        for number in 0..500_u64 {
            scene.inserted(number.to_string().as_bytes());
            for asked in [number, number.saturating_sub(60), number.saturating_sub(100), number + 10_000] {
                let answer = scene.answer(asked.to_string().as_bytes());
                assert_eq!(answer.seen, answer.run.is_some(), "{asked} after {number}");
            }
        }
        assert!(scene.measure(1_000) < 1_000);
    }

    #[test]
    fn filters_that_cannot_be_drawn_are_refused() {
        for (k, l, items, within) in
            [(0, 0, 0, None), (3, 4, 100_000, None), (3, 4, 4, None), (3, 0, 40, None), (3, 4, 40, Some(0))]
        {
            assert!(Scene::new(k, l, items, within).is_err(), "k={k} l={l} items={items} within={within:?}");
        }
    }
}

//! A small filter to look into: what the page asks of it, whatever its layout.

use alloc::boxed::Box;
use alloc::format;
use core::time::Duration;

use lately::{Filter, Segment};

use super::bins::{FINGERPRINT_BITS, Lines};
use super::slices::Slices;
use crate::failure::Failure;
use crate::numbers::{Reader, Writer};

/// The most bits of a segment, or places of all lines: a person looks at each of them.
const MOST_PLACES: u64 = 512;

#[derive(Debug)]
pub(crate) struct Scene {
    filter: Filter,
    layout: Layout,
    /// Items that were never inserted, so far.
    strangers: u64,
}

#[derive(Debug)]
enum Layout {
    Slices(Slices),
    Bins(Box<Lines>),
}

impl Scene {
    /// Reads k, which is not given for bins, l, the window or the capacity, and the span of a time window.
    pub(crate) fn read(wanted: &mut Reader<'_>) -> Result<Self, Failure> {
        let count = |count: u64| count.min(u32::MAX.into());
        let k = wanted.next_count().map(|k| count(k) as u32);
        let l = wanted.next_count().map_or(0, count) as u32;
        Self::new(k, l, wanted.next_count().map_or(0, count), wanted.next_count())
    }

    fn new(k: Option<u32>, l: u32, items: u64, within: Option<u64>) -> Result<Self, Failure> {
        let segment = match k {
            Some(_) => Segment::Slices { parts: 1 },
            None => Segment::Bins { fingerprint_bits: FINGERPRINT_BITS },
        };
        let asked = Filter::builder().shape(k.unwrap_or(1), l).segment(segment);
        let filter = match within {
            // Generations that are whole milliseconds.
            Some(span) => {
                let span = Duration::from_millis(span.div_ceil(u64::from(l.max(1))).saturating_mul(l.into()));
                asked.time_window(span).capacity(items).build()?
            }
            None => asked.window(items).build()?,
        };
        let places = filter.plan().cells * k.map_or(Lines::entries(l).into(), |_| 1);
        if places > MOST_PLACES || filter.items_per_generation() < 2 {
            return Err(Failure::config(format!(
                "a filter of {items} items with l={l} cannot be drawn: ask for {} to {} items",
                2 * l,
                items * MOST_PLACES / places.max(1)
            )));
        }
        let layout = match k {
            Some(_) => Layout::Slices(Slices::new(&filter)?),
            None => Layout::Bins(Box::new(Lines::new(&filter))),
        };
        Ok(Self { filter, layout, strangers: 0 })
    }

    /// Inserts an item, and writes whether this shifted, and where the item is.
    pub(crate) fn insert(&mut self, item: &[u8], reply: &mut Writer<'_>) {
        let before = self.filter.counters().generation;
        self.filter.insert(item);
        reply.flag(self.filter.counters().generation > before);
        match &self.layout {
            Layout::Slices(slices) => slices.written(&self.filter, item).for_each(|cell| reply.count(cell)),
            Layout::Bins(lines) => lines.answer(&self.filter, item).write(reply),
        }
    }

    /// Asks for an item, and writes the answer, and why.
    pub(crate) fn query(&self, item: &[u8], reply: &mut Writer<'_>) {
        reply.flag(self.filter.contains(item));
        match &self.layout {
            Layout::Slices(slices) => slices.answer(&self.filter, item).write(reply),
            Layout::Bins(lines) => lines.answer(&self.filter, item).write(reply),
        }
    }

    pub(crate) fn advance(&mut self, now_ms: u64) {
        self.filter.advance_to(now_ms);
    }

    /// Writes the filter as it is now, and what is in its memory.
    pub(crate) fn look(&self, reply: &mut Writer<'_>) {
        let statistics = self.filter.statistics();
        let shape = self.filter.shape();
        reply.count(shape.required_matches.into());
        reply.count(shape.window_generations.into());
        reply.count(self.filter.plan().cells);
        reply.count(statistics.generation);
        reply.count(statistics.inserts);
        reply.count(self.filter.guaranteed_window());
        reply.count(statistics.overloaded_generations);
        reply.number(self.filter.worst_false_positive_rate());
        reply.number(statistics.estimated_false_positive_rate);
        match &self.layout {
            Layout::Slices(slices) => slices.look(&self.filter, &statistics.fill_by_age, reply),
            Layout::Bins(lines) => lines.look(&self.filter, reply),
        }
    }

    /// Asks for so many items that were never inserted, and returns how many were mistaken.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_that_cannot_be_drawn_are_refused() {
        for (k, l, items, within) in [
            (Some(0), 0, 0, None),
            (Some(3), 4, 100_000, None),
            (Some(3), 4, 4, None),
            (Some(3), 0, 40, None),
            (Some(3), 4, 40, Some(0)),
            (None, 8, 100_000, None),
            (None, 8, 8, None),
            (None, 0, 40, None),
            (None, 90, 4_000, None),
            (None, u32::MAX, u32::MAX.into(), Some(u64::MAX)),
        ] {
            assert!(Scene::new(k, l, items, within).is_err(), "{k:?} l={l} items={items} within={within:?}");
        }
    }

    #[test]
    fn strangers_are_measured() {
        for (k, l, items) in [(Some(3), 5, 60), (None, 8, 160)] {
            let mut scene = Scene::new(k, l, items, None).unwrap();
            assert_eq!(scene.measure(1_000), 0);
            (0..2 * items)
                .for_each(|number| scene.insert(&number.to_le_bytes(), &mut Writer::new(&mut Vec::new())));
            let mistaken = f64::from(scene.measure(20_000)) / 20_000.0;
            let estimated = scene.filter.statistics().estimated_false_positive_rate;
            assert!((mistaken / estimated - 1.0).abs() < 0.3, "{mistaken} {estimated}");
        }
    }
}

//! Counts of what commands did: for each key since it was created or loaded on this server, and for all keys together
//! since the module was loaded. They are no part of a filter: nothing saves or replicates them.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use lately::Counters;

/// The counts of all keys, including deleted ones.
pub(crate) static TOTALS: Totals = Totals {
    lookups: Total::zero(),
    misses: Total::zero(),
    new_items: Total::zero(),
    repeats: Total::zero(),
    inserts: Total::zero(),
    growths: Total::zero(),
    shrinks: Total::zero(),
    overloaded_generations: Total::zero(),
    backward_steps: Total::zero(),
};

pub(crate) struct Totals {
    pub(crate) lookups: Total,
    pub(crate) misses: Total,
    pub(crate) new_items: Total,
    pub(crate) repeats: Total,
    pub(crate) inserts: Total,
    pub(crate) growths: Total,
    pub(crate) shrinks: Total,
    pub(crate) overloaded_generations: Total,
    pub(crate) backward_steps: Total,
}

pub(crate) struct Total(AtomicU64);

impl Total {
    const fn zero() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, more: u64) {
        if more > 0 {
            self.0.fetch_add(more, Ordering::Relaxed);
        }
    }
}

/// The counts of one key.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) lookups: Cell<u64>,
    pub(crate) misses: Cell<u64>,
    pub(crate) new_items: Cell<u64>,
    pub(crate) repeats: Cell<u64>,
}

impl Traffic {
    /// Counts items that were looked up, of which `hits` had been seen lately.
    pub(crate) fn count_lookups(&self, items: usize, hits: usize) {
        add(&self.lookups, &TOTALS.lookups, items);
        add(&self.misses, &TOTALS.misses, items - hits);
    }

    /// Counts items that were added, of which `repeats` had been seen lately.
    pub(crate) fn count_additions(&self, items: usize, repeats: usize) {
        add(&self.new_items, &TOTALS.new_items, items - repeats);
        add(&self.repeats, &TOTALS.repeats, repeats);
    }
}

fn add(of_key: &Cell<u64>, of_all: &Total, more: usize) {
    of_key.set(of_key.get() + more as u64);
    of_all.add(more as u64);
}

/// Counts how a write changed a filter's counters.
pub(crate) fn count_change(before: &Counters, after: &Counters) {
    TOTALS.inserts.add(after.inserts - before.inserts);
    TOTALS.overloaded_generations.add(after.overloaded_generations - before.overloaded_generations);
    TOTALS.growths.add(after.growths - before.growths);
    TOTALS.shrinks.add(after.shrinks - before.shrinks);
    TOTALS.backward_steps.add(after.backward_steps - before.backward_steps);
}

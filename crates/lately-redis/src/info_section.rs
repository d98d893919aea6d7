//! The module's section of `INFO`: totals over all filters.

use std::sync::atomic::{AtomicU64, Ordering};

use lately::Counters;

use crate::server::{InfoFields, InfoSection};
use crate::value;

/// Counts since the module was loaded, over all filters, including deleted ones.
static INSERTS: AtomicU64 = AtomicU64::new(0);
static HITS: AtomicU64 = AtomicU64::new(0);
static OVERLOADED_GENERATIONS: AtomicU64 = AtomicU64::new(0);
static BACKWARD_STEPS: AtomicU64 = AtomicU64::new(0);

/// Counts a write: `hits` of its items had been seen lately; `before` and `after` are the filter's counters.
pub(crate) fn count_write(hits: u64, before: &Counters, after: &Counters) {
    let add = |counter: &AtomicU64, more: u64| {
        if more > 0 {
            counter.fetch_add(more, Ordering::Relaxed);
        }
    };
    add(&HITS, hits);
    add(&INSERTS, after.inserts - before.inserts);
    add(&OVERLOADED_GENERATIONS, after.overloaded_generations - before.overloaded_generations);
    add(&BACKWARD_STEPS, after.backward_steps - before.backward_steps);
}

/// Counts a read: `hits` of its items had been seen lately.
pub(crate) fn count_read(hits: u64) {
    HITS.fetch_add(hits, Ordering::Relaxed);
}

/// The counts as a section of `INFO`.
pub(crate) struct Totals;

impl InfoSection for Totals {
    fn write(fields: &InfoFields) {
        fields.add(c"keys", value::filter_count());
        fields.add(c"memory_bytes", value::total_bytes());
        fields.add(c"inserts", INSERTS.load(Ordering::Relaxed));
        fields.add(c"hits", HITS.load(Ordering::Relaxed));
        fields.add(c"overloaded_generations", OVERLOADED_GENERATIONS.load(Ordering::Relaxed));
        fields.add(c"backward_steps", BACKWARD_STEPS.load(Ordering::Relaxed));
    }
}

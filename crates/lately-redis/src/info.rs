//! The module's section of `INFO`.

use std::sync::atomic::{AtomicU64, Ordering};

use lately::Counters;

use crate::server::{Module, NotRegistered, Section};
use crate::value;

/// Counts since the module was loaded, over all filters, including deleted ones.
static INSERTS: AtomicU64 = AtomicU64::new(0);
static HITS: AtomicU64 = AtomicU64::new(0);
static OVERLOADED_GENERATIONS: AtomicU64 = AtomicU64::new(0);
static BACKWARD_STEPS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn register(module: &Module) -> Result<(), NotRegistered> {
    module.info_section()
}

/// Counts a write: `hits` of its items had been seen lately; `before` and `after` are the filter's counters.
pub(crate) fn count(hits: u64, before: &Counters, after: &Counters) {
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
pub(crate) fn count_hits(hits: u64) {
    HITS.fetch_add(hits, Ordering::Relaxed);
}

pub(crate) fn write(section: &Section) {
    section.field(c"keys", value::filters());
    section.field(c"memory_bytes", value::bytes_of_all());
    section.field(c"inserts", INSERTS.load(Ordering::Relaxed));
    section.field(c"hits", HITS.load(Ordering::Relaxed));
    section.field(c"overloaded_generations", OVERLOADED_GENERATIONS.load(Ordering::Relaxed));
    section.field(c"backward_steps", BACKWARD_STEPS.load(Ordering::Relaxed));
}

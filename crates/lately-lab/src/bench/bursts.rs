//! The rate of a time window during a burst: as many items as it was built for, all within one millisecond.
//!
//! Segments of a Bloom filter are built for an even load. A burst puts the items of all generations into
//! one, so its segments are fuller than planned. Bins hold fingerprints, of which there are no more than
//! planned.

use std::time::Duration;

use lately::{Filter, Layout};
use serde_json::{Value, json};

const CAPACITY: u64 = 50_000;
const RATE: f64 = 1e-3;
const SPAN: Duration = Duration::from_secs(60);
const STRANGERS: u64 = 1_000_000;
/// The number of bursts; the figure is their mean.
const BURSTS: u64 = 4;

/// Measures the rate of each layout, as the planner builds it at its defaults: right after a burst into an
/// empty window, and at the same number of items spread evenly over the span.
pub(crate) fn measure() -> Value {
    let layouts = [Layout::Bins, Layout::Rows, Layout::Blocks, Layout::Slices];
    let figures = layouts.map(|layout| Burst::new(layout).measure());
    json!({
        "capacity": CAPACITY,
        "rate_asked": RATE,
        "span_seconds": SPAN.as_secs(),
        "bursts": BURSTS,
        "layouts": figures,
    })
}

struct Burst {
    filter: Filter,
    now_ms: u64,
    next_key: u64,
    next_stranger: u64,
}

impl Burst {
    fn new(layout: Layout) -> Self {
        let builder = Filter::builder().time_window(SPAN).capacity(CAPACITY).false_positive_rate(RATE);
        let filter = builder.layout(layout).build().expect("a valid promise");
        Self { filter, now_ms: 1_700_000_000_000, next_key: 0, next_stranger: 1 << 50 }
    }

    /// Inserts new keys at the current time.
    fn insert(&mut self, keys: u64) {
        self.filter.advance_to(self.now_ms);
        for key in self.next_key..self.next_key + keys {
            self.filter.insert(key.to_le_bytes());
        }
        self.next_key += keys;
    }

    /// Asserts that the last keys are reported; returns the share of strangers that are reported.
    fn rate(&mut self) -> f64 {
        let mut last = self.next_key - CAPACITY..self.next_key;
        assert!(last.all(|key| self.filter.contains(key.to_le_bytes())), "a key of the window is forgotten");
        let strangers = self.next_stranger..self.next_stranger + STRANGERS;
        self.next_stranger += STRANGERS;
        strangers.filter(|key| self.filter.contains(key.to_le_bytes())).count() as f64 / STRANGERS as f64
    }

    /// Each burst comes when the previous one has left the window, at another phase of a generation.
    fn of_bursts(&mut self) -> f64 {
        let rates = (0..BURSTS).map(|burst| {
            self.now_ms += 3 * SPAN.as_millis() as u64 + burst * 811;
            self.insert(CAPACITY);
            self.rate()
        });
        rates.sum::<f64>() / BURSTS as f64
    }

    fn of_even_load(&mut self) -> f64 {
        const STEP_MS: u64 = 60;
        let steps = SPAN.as_millis() as u64 / STEP_MS;
        self.now_ms += 3 * SPAN.as_millis() as u64;
        for _ in 0..2 * steps {
            self.now_ms += STEP_MS;
            self.insert(CAPACITY / steps);
        }
        self.rate()
    }

    fn measure(&mut self) -> Value {
        let plan = self.filter.plan();
        let (of_bursts, of_even_load) = (self.of_bursts(), self.of_even_load());
        json!({
            "layout": plan.shape.segment.layout().to_string(),
            "shape": plan.shape.to_string(),
            "bits_per_item": plan.memory_bytes as f64 * 8.0 / CAPACITY as f64,
            "planned_rate": plan.false_positive_rate,
            "even_rate": of_even_load,
            "burst_rate": of_bursts,
            "burst_rate_over_asked": of_bursts / RATE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_leaves_bins_at_their_rate_and_raises_that_of_slices() {
        let mut bins = Burst::new(Layout::Bins);
        assert!(bins.of_bursts() < 1.1 * RATE);
        assert!(bins.of_even_load() < 1.1 * RATE);
        let mut slices = Burst::new(Layout::Slices);
        assert!(slices.of_bursts() > 10.0 * RATE);
        assert!(slices.of_even_load() < 1.1 * RATE);
    }
}

//! Counting Bloom filter with a queue of the window: Metwally, Agrawal, El Abbadi, *Duplicate Detection in
//! Click Streams*, 2005 (the paper's `MetwallyAA05`), on the counters of Bonomi, Mitzenmacher, Panigrahy,
//! Singh, Varghese, *An Improved Construction for Counting Bloom Filters*, 2006 (`BonomiMPSV06`).
//!
//! Counters hold the window as a multiset; [`Queued`] lowers them when an item leaves. A counter that has
//! reached its limit is never lowered, so there are no false negatives. Parameters: counters of 4 bits, and
//! the rule of [`Queued`].

use super::pieces::Packed;
use super::queued::{Counters, Queued};

const COUNTER_BITS: u32 = 4;
const STUCK: u64 = (1 << COUNTER_BITS) - 1;

pub(super) type CountingQueue = Queued<Nibbles>;

/// Counters up to 15, which stick there.
pub(super) struct Nibbles(Packed);

impl Counters for Nibbles {
    const BITS: f64 = COUNTER_BITS as f64;

    fn fitting(bits: u64) -> Option<Self> {
        Packed::fitting(bits, COUNTER_BITS).map(Self)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn raise(&mut self, i: usize) {
        self.0.set(i, (self.0.get(i) + 1).min(STUCK));
    }

    fn lower(&mut self, i: usize) {
        let count = self.0.get(i);
        if count != STUCK {
            self.0.set(i, count - 1);
        }
    }

    fn is_raised(&self, i: usize) -> bool {
        self.0.get(i) > 0
    }

    fn memory_bits(&self) -> u64 {
        self.0.memory_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::assert_window_is_exact;

    #[test]
    fn the_window_is_exact() {
        assert_window_is_exact::<Nibbles>();
    }
}

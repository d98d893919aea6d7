//! Spectral Bloom filter with a queue of the window: Cohen, Matias, *Spectral Bloom Filters*, 2003 (the
//! paper's `CohenM03`, section 3.3 of the paper).
//!
//! Its counters hold how often each item is in the window, without a limit, because they have variable
//! length. The multiplicity of an item is the least of its counters (minimum selection). The source has two
//! other ways to count, with fewer errors. We take none of them: one does not allow to lower counters, and
//! the other can cause false negatives when items leave.
//!
//! The source stores all counters in one string with an index. We store them in [blocks](CompactCounters) of
//! 64 counters in 192 bits, so that an update moves bits within one block only. Parameters: these blocks, and
//! the rule of [`Queued`], with at most one raise per counter on average, so that blocks do not overflow.

use super::compact_counters::CompactCounters;
use super::queued::Queued;

pub(super) type Spectral = Queued<CompactCounters>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{
        BUDGET, assert_counters_are_those_of_the_window, assert_often_inserted_items_leave_no_false_negative,
        assert_window_is_exact,
    };
    use crate::rivals::{Budget, Rival as _, hash_of};

    #[test]
    fn the_window_is_exact() {
        assert_window_is_exact::<CompactCounters>();
    }

    #[test]
    fn items_that_come_often_leave_no_false_negative_and_no_trace() {
        let mut filter = Spectral::new(BUDGET).expect("fits");
        assert_often_inserted_items_leave_no_false_negative(&mut filter);
        assert_counters_are_those_of_the_window(&filter);
    }

    #[test]
    fn nearly_no_block_overflows() {
        for bits_per_item in [24, 32, 48] {
            let budget = Budget { memory_bits: bits_per_item * 100_000, window: 100_000 };
            let mut filter = Spectral::new(budget).expect("fits");
            (0..5 * budget.window).for_each(|key| filter.insert(hash_of(key)));
            let stuck = filter.counters().stuck_share();
            assert!(stuck < 0.01, "{stuck} of the blocks, {bits_per_item} bits per item");
        }
    }
}

//! `lately`'s own layouts: the planner gets the window and the memory, and finds the best rate.

use std::ops::RangeInclusive;

use lately::{Filter, Layout, Plan, Prefer};

use super::{Budget, Rival};

pub(super) struct Ours {
    filter: Filter,
    plan: Plan,
}

impl Ours {
    /// `None` if nothing of this layout fits.
    pub(super) fn new(budget: Budget, layout: Layout, prefer: Prefer) -> Option<Self> {
        let builder = Filter::builder().window(budget.window).max_memory(budget.memory_bits / 8);
        let filter = builder.layout(layout).prefer(prefer).build().ok()?;
        let plan = filter.plan();
        Some(Self { filter, plan })
    }
}

impl Rival for Ours {
    fn insert(&mut self, hash: u64) {
        self.filter.insert_hash(hash);
    }

    fn contains(&self, hash: u64) -> bool {
        self.filter.contains_hash(hash)
    }

    fn age_of(&self, hash: u64) -> Option<RangeInclusive<u64>> {
        self.filter.age_of_hash(hash).map(|age| age.inserts)
    }

    fn memory_bits(&self) -> u64 {
        self.plan.memory_bytes * 8
    }

    fn parameters(&self) -> String {
        self.plan.shape.to_string()
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.filter.guaranteed_window())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::{BUDGET, assert_forgets_after, assert_never_forgets_the_window};

    #[test]
    fn the_window_is_never_forgotten_and_items_older_than_two_windows_are_forgotten() {
        for layout in [Layout::Rows, Layout::Bins, Layout::Blocks, Layout::Slices] {
            for prefer in [Prefer::Speed, Prefer::Memory] {
                assert_never_forgets_the_window(&mut Ours::new(BUDGET, layout, prefer).expect("fits"));
                assert_forgets_after(
                    &mut Ours::new(BUDGET, layout, prefer).expect("fits"),
                    2 * BUDGET.window,
                );
            }
        }
    }
}

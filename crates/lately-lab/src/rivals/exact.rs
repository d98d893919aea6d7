//! The exact window: a hash map of how often each item is in the window, and a ring of the window's items.

use std::collections::HashMap;

use super::{Budget, Rival};

pub(crate) struct ExactWindow {
    counts: HashMap<u64, u32>,
    ring: Vec<u64>,
    window: usize,
    inserts: usize,
}

impl ExactWindow {
    pub(crate) fn new(window: u64) -> Self {
        Self { counts: HashMap::new(), ring: Vec::new(), window: window as usize, inserts: 0 }
    }

    /// Takes as much memory as it needs.
    pub(super) fn for_budget(budget: Budget) -> Self {
        Self::new(budget.window)
    }
}

impl Rival for ExactWindow {
    fn insert(&mut self, hash: u64) {
        *self.counts.entry(hash).or_default() += 1;
        if self.ring.len() < self.window {
            self.ring.push(hash);
        } else {
            let place = self.inserts % self.window;
            let oldest = std::mem::replace(&mut self.ring[place], hash);
            let count = self.counts.get_mut(&oldest).expect("every item in the ring is counted");
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&oldest);
            }
        }
        self.inserts += 1;
    }

    fn contains(&self, hash: u64) -> bool {
        self.counts.contains_key(&hash)
    }

    fn memory_bits(&self) -> u64 {
        // The standard map keeps one byte per entry besides the entry, and never fills more than 7/8 of its
        // slots.
        let slots = (self.counts.capacity() * 8).div_ceil(7).next_power_of_two();
        let map = slots * (size_of::<(u64, u32)>() + 1);
        (map + self.ring.capacity() * size_of::<u64>()) as u64 * 8
    }

    fn parameters(&self) -> String {
        "hash map and ring of 64-bit hashes".into()
    }

    fn own_window(&self) -> Option<u64> {
        Some(self.window as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::testing::BUDGET;

    #[test]
    fn it_is_exact_with_repeats() {
        let mut window = ExactWindow::new(BUDGET.window);
        let stream: Vec<u64> = (0..20_000).map(|i: u64| i * i % 7919).collect();
        for (i, &item) in stream.iter().enumerate() {
            window.insert(item);
            if i % 499 == 0 {
                let held = &stream[(i + 1).saturating_sub(BUDGET.window as usize)..=i];
                assert!((0..7919).all(|item| window.contains(item) == held.contains(&item)), "after {i}");
            }
        }
    }
}

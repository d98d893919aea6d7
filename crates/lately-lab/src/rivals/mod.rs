//! The sliding-window filters that the paper names (section 3), and a published crate, behind one interface.
//!
//! Each has its own file, which names the source and states the rule by which parameters follow from memory
//! and window. We did not have the original texts: filters are built from what the paper says about them, and
//! from what is commonly known about their sources. Where that leaves something open, the file says what we
//! chose.
//!
//! Queries and arrivals are independent, as in the paper (section 2.2): `contains` changes nothing.

mod a2;
mod backyard;
mod biased_sampling;
mod block_decaying;
mod bloom;
mod catalogue;
mod compact_counters;
mod counting_queue;
mod counting_table;
mod cuckoo;
mod cuckoo_clock;
mod cuckoo_table;
mod decay_model;
mod decaying;
mod detached;
mod double_buffering;
mod exact;
mod floating_counter;
mod forgetful;
mod generalized;
mod group;
mod inferential_timing;
mod ours;
mod pieces;
mod queued;
mod reservoir_sampling;
mod scope_decay;
mod segmented_aging;
mod sequence;
mod sorted_bins;
mod spectral;
mod stable;
mod statics;
mod swamp;
mod temporal_counting;
#[cfg(test)]
mod testing;
mod time_interval;
mod timing;

pub(crate) use catalogue::{CATALOGUE, Contender, Family};
pub(crate) use cuckoo_clock::HashedAlready;
#[cfg(test)]
pub(crate) use exact::ExactWindow;
pub(crate) use pieces::{Bits, Random, hash_of, position};
pub(crate) use swamp::Swamp;

use std::ops::RangeInclusive;

/// Contenders that can choose their slack aim at that of lately's planner: a fifth of the window at its peak.
/// For filters that forget one generation at a time, that is one generation of five.
pub(crate) const GENERATIONS: u64 = 5;

/// A filter over a stream. Items are 64-bit hashes, so that times do not include hashing.
pub(crate) trait Rival: Send {
    /// Inserts an arriving item.
    fn insert(&mut self, hash: u64);

    /// Returns true if the item arrived lately.
    fn contains(&self, hash: u64) -> bool;

    /// Returns how many inserts ago the item last came, as far as the structure can tell: 0 for the last
    /// insert. `None` if the item is not reported, or if the structure tells no ages.
    fn age_of(&self, _hash: u64) -> Option<RangeInclusive<u64>> {
        None
    }

    /// Returns all memory held for the items, in bits.
    fn memory_bits(&self) -> u64;

    /// Returns the parameters chosen for the memory and the window, in the source's letters.
    fn parameters(&self) -> String;

    /// Returns the structure's own window: the number of last inserts that are certain to be reported. `None`
    /// if it promises no window.
    fn own_window(&self) -> Option<u64> {
        None
    }

    /// Returns true if old items are ever forgotten.
    fn forgets(&self) -> bool {
        true
    }

    /// Inserts each hash. Compiled for each rival, so that the timed loops have no virtual calls.
    fn insert_all(&mut self, hashes: &[u64]) {
        for &hash in hashes {
            self.insert(hash);
        }
    }

    /// Returns how many of the hashes are reported.
    fn count_contained(&self, hashes: &[u64]) -> u64 {
        hashes.iter().map(|&hash| u64::from(self.contains(hash))).sum()
    }
}

/// The memory and the window that every contender gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) memory_bits: u64,
    /// w: the number of inserts to remember.
    pub(crate) window: u64,
}

impl Budget {
    pub(crate) fn bits_per_item(self) -> f64 {
        self.memory_bits as f64 / self.window as f64
    }
}

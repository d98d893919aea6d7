//! The sliding-window filters that the paper names (section 3), behind one interface.
//!
//! Each is in a file of its own, which names its source and says by what rule its parameters follow from the memory and
//! the window. None of the original texts was at hand: all are built from what the paper says of them, and where that leaves
//! something open, the file says what we took.
//!
//! Queries and arrivals are independent, as in the paper (section 2.2): `contains` changes nothing.

mod a2;
mod biased_sampling;
mod block_decaying;
mod bloom;
mod catalogue;
mod counting_queue;
mod counting_table;
mod cuckoo;
mod decay_model;
mod decaying;
mod detached;
mod double_buffering;
mod exact;
mod forgetful;
mod generalized;
mod group;
mod ours;
mod pieces;
mod reservoir_sampling;
mod scope_decay;
mod segmented_aging;
mod sequence;
mod stable;
mod statics;
mod swamp;
mod temporal_counting;
#[cfg(test)]
mod testing;
mod time_interval;
mod timing;

pub(crate) use catalogue::{CATALOGUE, Contender, Family};
#[cfg(test)]
pub(crate) use exact::ExactWindow;
pub(crate) use pieces::{Bits, Random, hash_of, position};
pub(crate) use swamp::Swamp;

/// The slack everybody aims at who can choose it: that of lately's planner, a fifth of the window at its peak. It is one
/// generation of five for filters that forget a generation at a time.
pub(crate) const GENERATIONS: u64 = 5;

/// A filter over a stream. Items are 64-bit hashes, so that nobody is timed for hashing.
pub(crate) trait Rival: Send {
    /// An arrival.
    fn insert(&mut self, hash: u64);

    /// Whether the item arrived lately.
    fn contains(&self, hash: u64) -> bool;

    /// All memory held for the items, in bits.
    fn memory_bits(&self) -> u64;

    /// What was chosen for the memory and the window, in the source's letters.
    fn parameters(&self) -> String;

    /// The structure's own window: so many of the last inserts are certain to be reported. `None` if it promises none.
    fn own_window(&self) -> Option<u64> {
        None
    }

    /// Whether old items ever leave.
    fn forgets(&self) -> bool {
        true
    }

    /// `insert` for each; compiled for each rival, so that loops are not timed through a table of functions.
    fn insert_all(&mut self, hashes: &[u64]) {
        for &hash in hashes {
            self.insert(hash);
        }
    }

    /// How many of these are reported.
    fn count_contained(&self, hashes: &[u64]) -> u64 {
        hashes.iter().map(|&hash| u64::from(self.contains(hash))).sum()
    }
}

/// What every contender is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) memory_bits: u64,
    /// w: inserts that are to be remembered.
    pub(crate) window: u64,
}

impl Budget {
    pub(crate) fn bits_per_item(self) -> f64 {
        self.memory_bits as f64 / self.window as f64
    }
}

//! How many inserts have begun. Every thread counts its own, in a cache line that no other thread writes to, so
//! threads do not wait for each other to count.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use std::boxed::Box;

use super::threads::{NUMBERED, number_of_this_thread};
use crate::sync::{AtomicU64, Ordering, sequential};

/// The most inserts that a thread is allowed at once. It asks for more under a lock, so this must be many.
const MOST_ALLOWED: u64 = 512;

pub(super) struct Counts {
    /// Inserts before the filter was shared.
    before: u64,
    /// One for each number that a thread can have.
    tallies: Box<[Tally]>,
    /// The tallies from this one on are unused.
    in_use: AtomicU64,
}

/// The inserts of one thread, or of all threads without a number. It has its own cache lines; the hardware fetches
/// lines in pairs.
#[repr(align(128))]
struct Tally {
    begun: AtomicU64,
    /// The thread may begin inserts until it has begun this many. After that it asks whether the generation is
    /// full. Written under the lock of [`Progress`](super::progress::Progress).
    allowed: AtomicU64,
}

impl Counts {
    pub(super) fn new(before: u64) -> Self {
        let tally = |_| Tally { begun: AtomicU64::new(0), allowed: AtomicU64::new(0) };
        Self { before, tallies: (0..=NUMBERED).map(tally).collect(), in_use: AtomicU64::new(0) }
    }

    /// Returns true if this thread must ask before its next insert.
    #[inline(always)]
    pub(super) fn must_ask(&self) -> bool {
        let Tally { begun, allowed } = &self.tallies[number_of_this_thread()];
        begun.load(Ordering::Relaxed) >= allowed.load(Ordering::Relaxed)
    }

    /// Begins up to `most` inserts, as many as this thread is allowed; returns how many. `claims` says whether the
    /// thread will claim what it writes to before it reads the generation.
    #[inline(always)]
    pub(super) fn begin(&self, most: u64, claims: bool) -> u64 {
        let number = number_of_this_thread();
        let Tally { begun, allowed } = &self.tallies[number];
        let before = begun.load(Ordering::Relaxed);
        let inserts = allowed.load(Ordering::Relaxed).saturating_sub(before).min(most);
        if inserts > 0 {
            self.count(number, before, inserts, claims);
        }
        inserts
    }

    /// Begins one insert, whether or not it is allowed.
    pub(super) fn begin_one(&self) {
        let number = self.use_tally_of_this_thread();
        let before = self.tallies[number].begun.load(Ordering::Relaxed);
        self.count(number, before, 1, false);
    }

    /// Counts inserts. This must be visible to other threads before this thread reads the generation: a shift that
    /// does not count these inserts published its generation before, so this thread will read that generation or
    /// a newer one.
    ///
    /// A store and a later load are in this order if both are sequentially consistent. On x86-64 such a store
    /// takes as long as a compare-and-swap. There, if the thread claims a row before it reads the generation, the
    /// compare-and-swap of that claim makes all earlier stores visible, and a plain store is enough. (Loom knows no
    /// processors: for it, `sequential` puts a fence there.)
    #[inline(always)]
    fn count(&self, number: usize, before: u64, inserts: u64, claims: bool) {
        let begun = &self.tallies[number].begun;
        if number == NUMBERED {
            begun.fetch_add(inserts, Ordering::SeqCst);
        } else if claims && cfg!(target_arch = "x86_64") {
            begun.store(before + inserts, Ordering::Release);
        } else {
            begun.store(before + inserts, Ordering::SeqCst);
        }
        sequential();
    }

    /// Makes sure that [`total`](Self::total) includes the tally of this thread, and returns its number.
    fn use_tally_of_this_thread(&self) -> usize {
        let number = number_of_this_thread();
        if self.in_use.load(Ordering::SeqCst) <= number as u64 {
            self.in_use.fetch_max(number as u64 + 1, Ordering::SeqCst);
            sequential();
        }
        number
    }

    fn used(&self) -> &[Tally] {
        &self.tallies[..self.in_use.load(Ordering::SeqCst) as usize]
    }

    /// How many inserts have begun.
    pub(super) fn total(&self) -> u64 {
        // A thread that reads a count has seen every write that preceded the counted inserts.
        self.before + self.used().iter().map(|tally| tally.begun.load(Ordering::SeqCst)).sum::<u64>()
    }

    /// Allows this thread some of the inserts until there are `full_at`; returns false if there are so many. The
    /// caller holds the lock.
    ///
    /// What the threads are allowed, together, does not exceed `full_at`. If nothing is left, the others get
    /// back what they have not used. A thread that counts at that moment may not see it, and exceeds it by
    /// one call's inserts.
    pub(super) fn allow(&self, full_at: u64) -> bool {
        let number = self.use_tally_of_this_thread();
        let mut room = full_at.saturating_sub(self.total_if_all_is_used());
        if room == 0 {
            self.forbid();
            room = full_at.saturating_sub(self.total());
        }
        // The shares become smaller towards the end of the generation, because other threads need theirs.
        let share = (room / self.used().len() as u64).max(1).min(room).min(MOST_ALLOWED);
        let Tally { begun, allowed } = &self.tallies[number];
        allowed.store(begun.load(Ordering::Relaxed) + share, Ordering::Relaxed);
        share > 0
    }

    fn total_if_all_is_used(&self) -> u64 {
        let at_most =
            |tally: &Tally| tally.begun.load(Ordering::Relaxed).max(tally.allowed.load(Ordering::Relaxed));
        self.before + self.used().iter().map(at_most).sum::<u64>()
    }

    /// From now on all threads ask before their next inserts. The caller holds the lock.
    pub(super) fn forbid(&self) {
        self.used().iter().for_each(|tally| tally.allowed.store(0, Ordering::Relaxed));
    }
}

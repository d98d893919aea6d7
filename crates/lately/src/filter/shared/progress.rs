//! The progress of a shared filter: inserts are counted when they begin, and one thread at a time makes a
//! shift.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

use super::counts::Counts;
use crate::ageing::{Ageing, Full};
use crate::error::JumpError;
use crate::layout::shared::SharedMemory;
use crate::layout::view::View;
use crate::layout::{SharedUpdate, whichever};
use crate::ring::Ring;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, sequential};

/// What every operation reads is a copy of the state behind the lock.
pub(crate) struct Progress {
    /// The published generation, as [`Ring::code`].
    generation: AtomicU64,
    /// See [`Ageing::is_full`].
    full_at: AtomicU64,
    /// Latest time plus one; 0 if unset.
    latest_ms: AtomicU64,
    /// How many items beyond its share a generation may take while another thread makes the shift.
    patience: u64,
    counts: Counts,
    ages: Mutex<Ages>,
}

/// The state that shifts change.
pub(crate) struct Ages {
    pub(crate) ring: Ring,
    /// Its number of inserts is up to date only after a call of [`Progress::ages`].
    pub(crate) ageing: Ageing,
}

impl Progress {
    pub(crate) fn new(ring: Ring, ageing: Ageing) -> Self {
        Self {
            generation: AtomicU64::new(ring.code()),
            full_at: AtomicU64::new(ageing.full_at()),
            latest_ms: AtomicU64::new(ageing.latest_ms.map_or(0, |now| now.wrapping_add(1))),
            patience: ageing.items_per_generation / 8,
            counts: Counts::new(ageing.inserts),
            ages: Mutex::new(Ages { ring, ageing }),
        }
    }

    /// Returns a view of the current ring. `ring` provides k and l.
    #[inline]
    pub(crate) fn view(&self, ring: &Ring) -> View<'_> {
        View::new(&self.generation, ring)
    }

    /// Returns true if the next insert of this thread belongs to a new generation, or must check whether it does.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.counts.must_ask() && self.counts.total() >= self.full_at.load(Ordering::Acquire)
    }

    /// Begins up to `most` inserts, at least one, in the generation to which they belong; returns how many.
    /// For `claims` see [`SharedUpdate::CLAIMS`].
    ///
    /// Only one thread makes a shift that is due. The others do not wait for it, unless the ending generation
    /// has had an eighth more than its share; beyond that the rate would suffer. A generation never gets less
    /// than its share, and the window depends on that: the next generation is due only after its full number
    /// of inserts has begun *after* it was published.
    #[inline(always)]
    pub(crate) fn begin(&self, most: u64, claims: bool, memory: &SharedMemory) -> u64 {
        loop {
            let begun = self.counts.begin(most, claims);
            if begun > 0 {
                return begun;
            }
            if !self.allow_more(memory) {
                return 1;
            }
        }
    }

    /// Allows this thread more inserts, and makes the shift if one is due. If another thread holds the lock, and
    /// it is not yet necessary to wait for it, begins one insert and returns false.
    #[cold]
    #[inline(never)]
    fn allow_more(&self, memory: &SharedMemory) -> bool {
        let mut ages = match self.ages.try_lock() {
            Ok(ages) => ages,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if self.counts.total() < self.full_at.load(Ordering::Acquire).saturating_add(self.patience) {
                    self.counts.begin_one();
                    return false;
                }
                self.ages()
            }
        };
        while !self.counts.allow(ages.ageing.full_at()) {
            match ages.ageing.on_full() {
                Full::StartGeneration => {
                    let now = ages.ageing.now_or_zero();
                    self.start_generation(&mut ages, now, memory);
                }
                // `Fit` is for elastic windows, which are never shared.
                Full::Continue | Full::Fit => self.full_at.store(ages.ageing.full_at(), Ordering::Release),
            }
            debug_assert!(
                ages.ageing.full_at() > ages.ageing.inserts,
                "a generation without room: shifts without end"
            );
        }
        true
    }

    /// Advances the clock. Waits for a shift in progress: later inserts must not end up in an older
    /// generation.
    pub(crate) fn advance_to(&self, now_ms: u64, memory: &SharedMemory) {
        if !self.is_latest(now_ms) {
            self.advance(self.ages(), now_ms, memory);
        }
    }

    /// The same, but fails if the time is more than `max_jump` ahead. It is compared under the lock, so no
    /// other thread can move the clock in between.
    pub(crate) fn advance_at_most(
        &self,
        now_ms: u64,
        max_jump: Duration,
        memory: &SharedMemory,
    ) -> Result<(), JumpError> {
        if !self.is_latest(now_ms) {
            let ages = self.ages();
            ages.ageing.check_jump(now_ms, max_jump)?;
            self.advance(ages, now_ms, memory);
        }
        Ok(())
    }

    fn is_latest(&self, now_ms: u64) -> bool {
        let told = now_ms.wrapping_add(1);
        told != 0 && self.latest_ms.load(Ordering::Acquire) == told
    }

    fn advance(&self, mut ages: MutexGuard<'_, Ages>, now_ms: u64, memory: &SharedMemory) {
        let Ages { ring, ageing } = &mut *ages;
        for start_ms in ageing.advance_clock(now_ms, ring) {
            self.start_generation(&mut ages, start_ms, memory);
        }
        let latest = ages.ageing.latest_ms.map_or(0, |latest| latest.wrapping_add(1));
        self.latest_ms.store(latest, Ordering::Release);
    }

    /// Starts new generations until every segment has been emptied. Items inserted after this call are in the
    /// last of them.
    pub(crate) fn forget_all(&self, memory: &SharedMemory) {
        let mut ages = self.ages();
        for _ in ages.ring.ages() {
            let now = ages.ageing.now_or_zero();
            self.start_generation(&mut ages, now, memory);
        }
    }

    /// The promises depend on the order of these steps; see `layout::shared`.
    fn start_generation(&self, ages: &mut Ages, start_ms: u64, memory: &SharedMemory) {
        let Ages { ring, ageing } = ages;
        ring.advance_generation();
        whichever!(SharedMemory: memory, layout => layout.shared().empty_newest(ring));
        self.generation.store(ring.code(), Ordering::SeqCst);
        sequential();
        ageing.inserts = self.counts.total();
        ageing.start_generation(ring, start_ms);
        self.counts.forbid();
        self.full_at.store(ageing.full_at(), Ordering::Release);
        whichever!(SharedMemory: memory, layout => layout.shared().after_shift(&mut self.view(ring)));
    }

    /// Returns the state that shifts change, as it is between two shifts. Waits for a shift in progress.
    pub(crate) fn ages(&self) -> MutexGuard<'_, Ages> {
        // No code that holds the lock panics.
        let mut ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner);
        ages.ageing.inserts = self.counts.total();
        ages
    }
}

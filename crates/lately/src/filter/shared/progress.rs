//! The progress of a shared filter: inserts are counted when they begin, and one thread at a time makes a
//! shift.

use std::sync::{PoisonError, TryLockError};

use crate::ageing::{Ageing, Full};
use crate::layout::shared::SharedMemory;
use crate::layout::view::View;
use crate::layout::{SharedUpdate, whichever};
use crate::ring::Ring;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, sequential};

/// The counters that every operation reads or writes are copies of the state behind the lock. The insert
/// counter has cache lines of its own.
pub(crate) struct Progress {
    /// The published generation, as [`Ring::code`].
    generation: AtomicU64,
    /// See [`Ageing::is_full`].
    full_at: AtomicU64,
    /// Latest time plus one; 0 if unset.
    latest_ms: AtomicU64,
    /// How many items beyond its share a generation may take while another thread makes the shift.
    patience: u64,
    inserts: OwnCacheLines,
    ages: Mutex<Ages>,
}

/// Keeps a counter on separate cache lines; the hardware fetches lines in pairs.
#[repr(align(128))]
struct OwnCacheLines(AtomicU64);

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
            inserts: OwnCacheLines(AtomicU64::new(ageing.inserts)),
            ages: Mutex::new(Ages { ring, ageing }),
        }
    }

    /// Returns a view of the current ring. `ring` provides k and l.
    #[inline]
    pub(crate) fn view(&self, ring: &Ring) -> View<'_> {
        View::new(&self.generation, ring)
    }

    /// Returns true if the next insert belongs to a new generation, or must check whether it does.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        // A thread that shifts because of inserts has seen every write that preceded the counted inserts; so
        // has any thread that sees the shift.
        self.inserts.0.load(Ordering::Acquire) >= self.full_at.load(Ordering::Acquire)
    }

    /// Inserts that have begun in a generation that already had its share.
    fn overrun(&self) -> u64 {
        self.inserts.0.load(Ordering::Relaxed).saturating_sub(self.full_at.load(Ordering::Acquire))
    }

    /// Begins up to `most` inserts, at least one, in the generation to which they belong; returns how many.
    ///
    /// Only one thread makes a shift that is due. The others do not wait for it, unless the ending generation
    /// has had an eighth more than its share; beyond that the rate would suffer. A generation never gets less
    /// than its share, and the window depends on that: the next generation is due only after its full number
    /// of inserts has begun *after* it was published.
    #[inline]
    pub(crate) fn begin(&self, most: u64, memory: &SharedMemory) -> u64 {
        loop {
            let begun = self.inserts.0.load(Ordering::Relaxed);
            let room = self.full_at.load(Ordering::Acquire).saturating_sub(begun).min(most);
            if room > 0 {
                return self.count(room);
            }
            if !self.shift_if_due(memory) {
                return self.count(1);
            }
        }
    }

    /// Counts inserts. A shift that does not count them published its generation before this count. So a
    /// thread that reads the generation after this call sees that generation or a newer one.
    #[inline]
    fn count(&self, inserts: u64) -> u64 {
        self.inserts.0.fetch_add(inserts, Ordering::SeqCst);
        sequential();
        inserts
    }

    /// Returns `false` if another thread is making the shift, and waiting for it is not yet necessary.
    #[cold]
    fn shift_if_due(&self, memory: &SharedMemory) -> bool {
        let mut ages = match self.ages.try_lock() {
            Ok(ages) => ages,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if self.overrun() < self.patience => return false,
            Err(TryLockError::WouldBlock) => self.ages(),
        };
        if self.is_full() {
            match ages.ageing.on_full() {
                Full::StartGeneration => {
                    let now = ages.ageing.now_or_zero();
                    self.start_generation(&mut ages, now, memory);
                }
                Full::Continue => self.full_at.store(ages.ageing.full_at(), Ordering::Release),
            }
        }
        true
    }

    /// Advances the clock. Waits for a shift in progress: later inserts must not end up in an older
    /// generation.
    pub(crate) fn advance_to(&self, now_ms: u64, memory: &SharedMemory) {
        let told = now_ms.wrapping_add(1);
        if told != 0 && self.latest_ms.load(Ordering::Acquire) == told {
            return;
        }
        let mut ages = self.ages();
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
        ageing.inserts = self.inserts.0.load(Ordering::SeqCst);
        ageing.start_generation(ring, start_ms);
        self.full_at.store(ageing.full_at(), Ordering::Release);
        whichever!(SharedMemory: memory, layout => layout.shared().after_shift(&mut self.view(ring)));
    }

    /// Returns the state that shifts change, as it is between two shifts. Waits for a shift in progress.
    pub(crate) fn ages(&self) -> MutexGuard<'_, Ages> {
        // No code that holds the lock panics.
        let mut ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner);
        ages.ageing.inserts = self.inserts.0.load(Ordering::SeqCst);
        ages
    }
}

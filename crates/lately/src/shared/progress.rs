//! How far a shared filter has come: inserts are counted as they begin, and one thread at a time makes a shift.

use std::sync::{PoisonError, TryLockError};

use crate::ageing::{Ageing, Full};
use crate::layout::shared::{SharedMemory, SharedSegments, View};
use crate::layout::whichever;
use crate::ring::Ring;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering, sequential};

/// The counters that every operation reads or writes are mirrors of what the lock guards, on cache lines of their own.
pub(crate) struct Progress {
    /// The published generation.
    generation: AtomicU64,
    /// See [`Ageing::is_full`].
    full_at: AtomicU64,
    /// The latest time told and one; 0 if none was.
    latest_ms: AtomicU64,
    /// How many items more than its share a generation may take while another thread makes the shift.
    patience: u64,
    inserts: Apart,
    ages: Mutex<Ages>,
}

/// On lines that no other counter is on; the hardware fetches them in pairs.
#[repr(align(128))]
struct Apart(AtomicU64);

/// What shifts change.
pub(crate) struct Ages {
    pub(crate) ring: Ring,
    /// Its number of inserts is out of date until [`Progress::ages`] is called.
    pub(crate) ageing: Ageing,
}

impl Progress {
    pub(crate) fn new(ring: Ring, ageing: Ageing) -> Self {
        Self {
            generation: AtomicU64::new(ring.generation()),
            full_at: AtomicU64::new(ageing.full_at()),
            latest_ms: AtomicU64::new(ageing.latest_ms.map_or(0, |now| now.wrapping_add(1))),
            patience: ageing.items_per_generation / 8,
            inserts: Apart(AtomicU64::new(ageing.inserts)),
            ages: Mutex::new(Ages { ring, ageing }),
        }
    }

    /// A view of the ring as it is now. `ring` has the right k and l.
    #[inline]
    pub(crate) fn view(&self, ring: &Ring) -> View<'_> {
        View::new(&self.generation, ring)
    }

    /// Whether the next insert belongs to a new generation, or has to ask whether it does.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        // Who shifts because of inserts has seen all that came before they were counted, and so has who sees the shift.
        self.inserts.0.load(Ordering::Acquire) >= self.full_at.load(Ordering::Acquire)
    }

    /// Inserts that have begun in a generation that already had its share.
    fn overrun(&self) -> u64 {
        self.inserts.0.load(Ordering::Relaxed).saturating_sub(self.full_at.load(Ordering::Acquire))
    }

    /// Begins up to `most` inserts, at least one, in the generation that they belong to; says how many.
    ///
    /// Only one thread makes a shift that is due. The others do not wait for it, unless the generation that ends has had an
    /// eighth more than its share: then the rate is at stake. It never gets less, which is what the window depends on:
    /// the next generation is due only after its full number of inserts has begun *after* it was published.
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

    /// Whoever reads the generation after this reads one that was published before a shift that does not count it.
    #[inline]
    fn count(&self, inserts: u64) -> u64 {
        self.inserts.0.fetch_add(inserts, Ordering::SeqCst);
        sequential();
        inserts
    }

    /// `false` if another thread is at it, and there is no hurry.
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

    /// Tells the time. Waits for a shift in progress: what is inserted afterwards must not end up in an older generation.
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

    /// Its order is what promises depend on; see `layout::shared`.
    fn start_generation(&self, ages: &mut Ages, start_ms: u64, memory: &SharedMemory) {
        let Ages { ring, ageing } = ages;
        ring.advance_generation();
        whichever!(SharedMemory: memory, segments => segments.shared().empty_newest(ring));
        self.generation.store(ring.generation(), Ordering::SeqCst);
        sequential();
        ageing.inserts = self.inserts.0.load(Ordering::SeqCst);
        ageing.start_generation(ring, start_ms);
        self.full_at.store(ageing.full_at(), Ordering::Release);
        whichever!(SharedMemory: memory, segments => segments.shared().keep_house(&mut self.view(ring)));
    }

    /// All that shifts change, as it is between two of them. Waits for a shift in progress.
    pub(crate) fn ages(&self) -> MutexGuard<'_, Ages> {
        // Nothing panics that holds the lock.
        let mut ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner);
        ages.ageing.inserts = self.inserts.0.load(Ordering::SeqCst);
        ages
    }

    /// The published generation.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }
}

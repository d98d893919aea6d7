//! A filter for use by many threads.

mod apply;
mod as_of;
mod counts;
mod progress;
mod threads;

use std::fmt;
use std::path::Path;
use std::time::Duration;
use std::vec::Vec;

use super::methods::{insert_in_groups, methods};
use super::operation::{CheckAndInsert, CheckOrInsert, Insert, check_lengths};
use super::{Counters, Filter, Statistics};
use crate::ageing::AgeRange;
use crate::error::{ConfigError, JumpError, SnapshotError};
use crate::hash::HashFunction;
use crate::item::Item;
use crate::layout::instructions::Instructions;
use crate::layout::kernel::AnyKernel;
use crate::layout::shared::{SharedMemory, forget_what_moved};
use crate::layout::{SharedUpdate, whichever};
use crate::plan::{Dimensions, Plan};
use crate::ring::{Age, Ring};
use crate::window::{Clock, Window};
use progress::{Ages, Progress};

/// A thread-safe [`Filter`]: every operation takes `&self`.
///
/// Create it with [`Builder::build_shared`](crate::Builder::build_shared), or from a [`Filter`]. Its
/// snapshots are those of a [`Filter`]. As long as only one thread uses it, its state equals that filter's,
/// bit for bit.
///
/// ```
/// use lately::SharedFilter;
///
/// let builder = lately::Filter::builder().window(100_000).false_positive_rate(1e-6);
/// let seen: SharedFilter = builder.build_shared()?;
/// let first = std::thread::scope(|scope| {
///     let deliver = || seen.check_and_insert("order-17");
///     let threads = [scope.spawn(deliver), scope.spawn(deliver), scope.spawn(deliver)];
///     threads.map(|thread| thread.join().unwrap())
/// });
/// assert_eq!(first.iter().filter(|&&seen_before| !seen_before).count(), 1, "one call returned false");
/// # Ok::<(), lately::ConfigError>(())
/// ```
///
/// # Promises under concurrency
///
/// - **No false negatives.** An item whose insert has returned is reported as long as fewer than
///   [`guaranteed_window`](Self::guaranteed_window) inserts have *begun* since its own began. So an insert in
///   progress already counts towards pushing out older items, but its own item is not guaranteed yet. An item
///   that is inserted again in time is reported throughout, also by a query during which the newer insert
///   takes over from the older one. A batch begins its inserts up to 32 at a time. For a time window: the
///   item is reported as long as no thread has begun to advance the clock to a time at which the item is
///   outside the span.
/// - **One winner.** In [`Layout::Bins`](crate::Layout::Bins) and [`Layout::Rows`](crate::Layout::Rows), if
///   threads call `check_and_insert` or `check_or_insert` with the same new item at the same time, exactly one
///   of these calls returns false. In the other layouts several may.
/// - **Queries.** A query that finds nothing looks again if a shift happened meanwhile. In bins, it also waits
///   for a thread that is writing to one of the item's lines. Otherwise queries never wait.
/// - **Inserts.** In slices and blocks, inserts do not wait for each other. In rows and bins, an insert waits
///   only for a thread that is writing to the same row or line: some ten nanoseconds, or a few hundred if that
///   thread runs a batch, which takes up to sixteen rows or lines at a time (longer only if the system suspends
///   that thread at that moment).
/// - **Shifts.** One thread makes a shift. The others go on inserting until the ending generation has
///   received an eighth more than its share. A shift visits some rows or lines, and waits for threads that are
///   writing to them.
/// - **Clearing.** [`clear`](Self::clear) forgets every insert that returned before it. Inserts that overlap
///   it may be forgotten too. While it runs, an insert waits once its generation has an eighth more than its
///   share.
/// - **Copies.** [`to_filter`](Self::to_filter), [`statistics`](Self::statistics) and [`save`](Self::save)
///   work on a copy that is made while other threads go on. It contains every insert that returned before the
///   call.
pub struct SharedFilter {
    dimensions: Dimensions,
    pub(super) hash_function: HashFunction,
    /// That of the filter it was made of.
    label: u64,
    memory: SharedMemory,
    progress: Progress,
    /// Provides k and l; its position is not used, `progress` has the current one.
    ring: Ring,
    kernel: AnyKernel,
}

methods!(SharedFilter, self, &);

/// Threads extend through their own references.
impl<T: Item> Extend<T> for &SharedFilter {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let hash_of = |item: &T| self.hash_function.hash_of(item);
        insert_in_groups(items, hash_of, |hashes| self.insert_hash_batch(hashes));
    }
}

impl TryFrom<Filter> for SharedFilter {
    type Error = ConfigError;

    /// Copies the filter into shared memory. Needs memory for both copies during the call. Refuses elastic windows.
    fn try_from(filter: Filter) -> Result<Self, ConfigError> {
        if let Window::Elastic { .. } = filter.window() {
            return Err(ConfigError::SharedElastic);
        }
        let Filter { dimensions, hash_function, label, ring, ageing, memory, kernel } = filter;
        let refused = ConfigError::Allocation { bytes: dimensions.memory_bytes };
        let memory = SharedMemory::copy_of(&memory, &ring).ok_or(refused)?;
        let progress = Progress::new(ring, ageing);
        Ok(Self { dimensions, hash_function, label, memory, progress, ring, kernel })
    }
}

impl SharedFilter {
    /// See [`Filter::age_of`].
    #[must_use]
    pub fn age_of<T: Item>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }

    /// See [`Filter::age_of_hash`]. Waits for a shift in progress. For an item inserted during a shift, the
    /// range may be too young by the number of inserts that were in progress.
    #[must_use]
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ages = self.progress.ages();
        let (newest, oldest) = self.newest_run(hash, &ages, &ages.ring)?;
        Some(ages.ageing.age_range(&ages.ring, newest, oldest))
    }

    /// The newest and the oldest age, once the ring has moved on to `later`, at which the item may have been inserted.
    /// No shift can happen while `ages` is held.
    fn newest_run(&self, hash: u64, ages: &Ages, later: &Ring) -> Option<(Age, Age)> {
        whichever!(SharedMemory: &self.memory, layout => {
            layout.shared().newest_run(hash, &ages.ring, later)
        })
    }

    /// See [`Filter::advance_to`]. An insert that begins after this call has returned counts as inserted at
    /// this time or later. Waits for a shift in progress, so call it once per batch rather than once per
    /// item.
    pub fn advance_to(&self, now_ms: u64) {
        self.progress.advance_to(now_ms, &self.memory);
    }

    /// See [`Filter::advance_at_most`]. Waits for a shift in progress, as [`advance_to`](Self::advance_to)
    /// does. If several threads advance the clock, `max_jump` is measured from the latest of their times.
    ///
    /// # Errors
    /// If the time is too far ahead. The filter has not changed then.
    pub fn advance_at_most(&self, now_ms: u64, max_jump: Duration) -> Result<(), JumpError> {
        self.progress.advance_at_most(now_ms, max_jump, &self.memory)
    }

    /// See [`Filter::latest_ms`].
    #[must_use]
    pub fn latest_ms(&self) -> Option<u64> {
        self.progress.ages().ageing.latest_ms
    }

    /// See [`Filter::clock`].
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.progress.ages().ageing.clock
    }

    /// See [`Filter::set_clock`].
    pub fn set_clock(&self, clock: Clock) {
        self.progress.ages().ageing.set_clock(clock);
    }

    /// See [`Filter::next_shift_ms`].
    #[must_use]
    pub fn next_shift_ms(&self) -> Option<u64> {
        let ages = self.progress.ages();
        ages.ageing.next_generation_ms()
    }

    /// Forgets every insert that returned before the call. Of the inserts that other threads make meanwhile,
    /// some are forgotten too. Unlike [`Filter::clear`], it goes on counting, and the clock stays set: other
    /// threads may be using both.
    ///
    /// ```
    /// let seen = lately::Filter::builder().window(1000).false_positive_rate(1e-6).build_shared()?;
    /// seen.insert("order-17");
    /// seen.clear();
    /// assert!(!seen.contains("order-17"));
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn clear(&self) {
        self.progress.forget_all(&self.memory);
    }

    /// See [`Filter::guaranteed_window`].
    #[must_use]
    pub fn guaranteed_window(&self) -> u64 {
        let ages = self.progress.ages();
        ages.ageing.guaranteed_window(&ages.ring)
    }

    /// See [`Filter::guaranteed_span`].
    #[must_use]
    pub fn guaranteed_span(&self) -> Option<Duration> {
        let ages = self.progress.ages();
        ages.ageing.guaranteed_span(&ages.ring)
    }

    /// See [`Filter::plan`]. A shared filter has the memory of a [`Filter`] plus tables of less than 77
    /// kilobytes.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan::of(&self.dimensions)
    }

    /// See [`Filter::window`].
    #[must_use]
    pub fn window(&self) -> Window {
        self.dimensions.window
    }

    /// See [`Filter::memory_bytes`]. Does not include the tables of a shared filter, less than 77 kilobytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.dimensions.memory_bytes
    }

    /// See [`Filter::counters`].
    #[must_use]
    pub fn counters(&self) -> Counters {
        let ages = self.progress.ages();
        Counters::of(&ages.ring, &ages.ageing, self.dimensions.memory_bytes)
    }

    /// See [`Filter::instructions`].
    #[must_use]
    pub fn instructions(&self) -> Instructions {
        self.kernel.instructions()
    }

    /// See [`Filter::hash_function`].
    #[must_use]
    pub fn hash_function(&self) -> HashFunction {
        self.hash_function
    }

    /// See [`Filter::statistics`]; works on a copy. `memory_bytes` is that of a [`Filter`]: it does not
    /// include the tables of a shared filter, less than 77 kilobytes.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.to_filter().statistics()
    }

    /// Returns a copy as a [`Filter`]. It contains every insert that returned before the call, and some of
    /// the inserts that other threads make during it.
    ///
    /// # Panics
    /// If the memory for the copy cannot be allocated. [`statistics`](Self::statistics) and
    /// [`to_bytes`](Self::to_bytes) panic for the same reason.
    #[must_use]
    pub fn to_filter(&self) -> Filter {
        self.try_to_filter().unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// The same as [`to_filter`](Self::to_filter), but returns an error instead of panicking.
    ///
    /// # Errors
    /// If the memory for the copy cannot be allocated.
    pub fn try_to_filter(&self) -> Result<Filter, ConfigError> {
        let mut copy = Filter::with_dimensions(self.dimensions, self.hash_function)?;
        copy.label = self.label;
        copy.kernel = self.kernel;
        // Waits for a shift in progress: if no other begins, the copied words need no housekeeping.
        let mut before = self.progress.ages().ring.generation();
        self.copy_words(&mut copy);
        let ages = self.progress.ages();
        if ages.ring.generation() - before >= u64::from(ages.ring.segments()) {
            // Every segment has been recycled since: the filter is so small that it is better to copy it
            // between two shifts.
            before = ages.ring.generation();
            self.copy_words(&mut copy);
        }
        copy.ring = ages.ring;
        copy.ageing = ages.ageing.clone();
        drop(ages);
        forget_what_moved(&mut copy.memory, before, &copy.ring);
        copy.shift_if_overfull();
        Ok(copy)
    }

    fn copy_words(&self, copy: &mut Filter) {
        let words = copy.memory.contents_mut().words_mut();
        whichever!(SharedMemory: &self.memory, layout => layout.shared().copy_to(words));
    }

    /// See [`Filter::to_bytes`]; works on a copy.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_filter().to_bytes()
    }

    /// See [`Filter::from_bytes`].
    ///
    /// # Errors
    /// The same as [`Filter::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::restore(Filter::from_bytes(bytes)?)
    }

    /// See [`Filter::save`]; works on a copy.
    ///
    /// # Errors
    /// The same as [`Filter::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        let bytes = self.dimensions.memory_bytes;
        self.try_to_filter().map_err(|_| SnapshotError::Allocation { bytes })?.save(path)
    }

    /// See [`Filter::load`].
    ///
    /// # Errors
    /// The same as [`Filter::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        Self::restore(Filter::load(path)?)
    }

    fn restore(filter: Filter) -> Result<Self, SnapshotError> {
        let bytes = filter.dimensions.memory_bytes;
        Self::try_from(filter).map_err(|refused| match refused {
            ConfigError::SharedElastic => SnapshotError::SharedElastic,
            _ => SnapshotError::Allocation { bytes },
        })
    }
}

impl fmt::Debug for SharedFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ages = self.progress.ages();
        f.debug_struct("SharedFilter")
            .field("dimensions", &self.dimensions)
            .field("hash_function", &self.hash_function)
            .field("inserts", &ages.ageing.inserts)
            .field("generation", &ages.ring.generation())
            .finish_non_exhaustive()
    }
}

//! A filter that threads share.

mod batch;
mod progress;

use std::fmt;
use std::path::Path;
use std::time::Duration;
use std::vec::Vec;

use crate::ageing::AgeRange;
use crate::error::{ConfigError, SnapshotError};
use crate::filter::Filter;
use crate::hash::HashFunction;
use crate::layout::kernel::Instructions;
use crate::layout::shared::{SharedMemory, SharedSegments, forget_what_moved};
use crate::layout::whichever;
use crate::plan::{Dimensions, Plan};
use crate::query;
use crate::ring::Ring;
use crate::statistics::Statistics;
use progress::Progress;

/// A [`Filter`] that threads share: every operation takes `&self`.
///
/// Built by [`Builder::build_shared`](crate::Builder::build_shared), or from a [`Filter`]; its snapshots are those of a
/// [`Filter`], and used by one thread it is that filter, bit for bit.
///
/// ```
/// use lately::SharedFilter;
///
/// let seen: SharedFilter = lately::Filter::builder().window(100_000).false_positive_rate(1e-6).build_shared()?;
/// let first = std::thread::scope(|scope| {
///     let deliver = || seen.check_and_insert("order-17");
///     let threads = [scope.spawn(deliver), scope.spawn(deliver), scope.spawn(deliver)];
///     threads.map(|thread| thread.join().unwrap())
/// });
/// assert_eq!(first.iter().filter(|&&seen_before| !seen_before).count(), 1, "exactly one was told it is new");
/// # Ok::<(), lately::ConfigError>(())
/// ```
///
/// # What is promised when threads meet
///
/// - **No false negatives.** An item whose insert has returned is reported as long as fewer than
///   [`guaranteed_window`](Self::guaranteed_window) inserts have *begun* since its own began. An insert in progress counts
///   for what it pushes out, and not yet for what it brings. An item that is inserted again in time is reported throughout,
///   also by a query during which one insert took over from another. A batch begins its inserts up to 32 at a time.
///   For a time window: as long as nobody has begun to tell a time at which the item is out of the span.
/// - **One winner.** In [`Layout::Rows`](crate::Layout::Rows), of threads that call `check_and_insert` or `check_or_insert`
///   with the same new item at the same time, exactly one is told that it is new. In the other layouts several may be.
/// - **Queries never wait.** One that finds nothing looks again if a shift was made meanwhile. An insert into slices or blocks
///   does not wait for another; one into a row waits only for a thread that is writing to the very same row: some ten
///   nanoseconds, or in a batch, which takes up to sixteen rows at a time, a few hundred (longer only if the system puts that
///   thread to sleep just then). One thread makes a shift, and the others go on inserting, until the generation that ends has
///   had an eighth more than its share. A shift visits a few rows, and waits for who is writing to them.
/// - What looks at the whole filter ([`snapshot`](Self::snapshot), [`statistics`](Self::statistics), [`save`](Self::save))
///   works on a copy made while others go on: every insert that has returned before the call is in it.
pub struct SharedFilter {
    dimensions: Dimensions,
    pub(crate) hash_function: HashFunction,
    memory: SharedMemory,
    progress: Progress,
    /// For its k and l; which way it is turned is the progress's to say.
    ring: Ring,
    instructions: Instructions,
}

impl TryFrom<Filter> for SharedFilter {
    type Error = ConfigError;

    /// Shares a filter; as long as this takes, there are two.
    fn try_from(filter: Filter) -> Result<Self, ConfigError> {
        let Filter { dimensions, hash_function, ring, ageing, memory, instructions } = filter;
        let refused = ConfigError::Allocation { bytes: dimensions.memory_bytes };
        let memory = SharedMemory::copy_of(&memory, &ring).ok_or(refused)?;
        let progress = Progress::new(ring.clone(), ageing);
        Ok(Self { dimensions, hash_function, memory, progress, ring, instructions })
    }
}

impl SharedFilter {
    /// [`Filter::age_of`].
    pub fn age_of<T: AsRef<[u8]>>(&self, item: T) -> Option<AgeRange> {
        self.age_of_hash(self.hash_of(item))
    }

    /// [`Filter::age_of_hash`]. Waits for a shift in progress. Of an item inserted while a shift was made, the range may be
    /// too young by as many inserts as were in progress.
    pub fn age_of_hash(&self, hash: u64) -> Option<AgeRange> {
        let ages = self.progress.ages();
        let (newest, oldest) = whichever!(SharedMemory: &self.memory, segments => {
            query::newest_run(&ages.ring, |age| segments.shared().matches(hash, &ages.ring, age))?
        });
        Some(ages.ageing.age_range(&ages.ring, newest, oldest))
    }

    /// [`Filter::advance_to`]. What is inserted after the call has returned counts as inserted at this time or later. Waits
    /// for a shift in progress, so tell the time once per batch rather than once per item.
    pub fn advance_to(&self, now_ms: u64) {
        self.progress.advance_to(now_ms, &self.memory);
    }

    /// [`Filter::guaranteed_window`].
    pub fn guaranteed_window(&self) -> u64 {
        let ages = self.progress.ages();
        ages.ageing.guaranteed_window(&ages.ring)
    }

    /// [`Filter::guaranteed_span`].
    pub fn guaranteed_span(&self) -> Option<Duration> {
        let ages = self.progress.ages();
        ages.ageing.guaranteed_span(&ages.ring)
    }

    /// [`Filter::plan`].
    pub fn plan(&self) -> Plan {
        Plan::of(&self.dimensions)
    }

    /// [`Filter::hash_function`].
    pub fn hash_function(&self) -> HashFunction {
        self.hash_function
    }

    /// [`Filter::statistics`], of a copy. The memory is that of a [`Filter`]; tables come on top, less than 69 kilobytes.
    pub fn statistics(&self) -> Statistics {
        self.snapshot().statistics()
    }

    /// A filter of one's own, in the state this one is in. Every insert that has returned before the call is in it; of
    /// those that other threads make meanwhile, some.
    ///
    /// # Panics
    /// If the memory for another filter cannot be had; so do [`statistics`](Self::statistics) and
    /// [`to_bytes`](Self::to_bytes).
    pub fn snapshot(&self) -> Filter {
        self.try_snapshot().unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// [`snapshot`](Self::snapshot), or an error if the memory for it cannot be had.
    ///
    /// # Errors
    /// If the memory cannot be had.
    pub fn try_snapshot(&self) -> Result<Filter, ConfigError> {
        let mut copy = Filter::with_dimensions(self.dimensions, self.hash_function)?;
        copy.instructions = self.instructions;
        let mut before = self.progress.generation();
        self.copy_words(&mut copy);
        let ages = self.progress.ages();
        if ages.ring.generation() - before >= u64::from(ages.ring.segments()) {
            // All is new since: the filter is so small that it had better be copied between two shifts.
            before = ages.ring.generation();
            self.copy_words(&mut copy);
        }
        copy.ring = ages.ring.clone();
        copy.ageing = ages.ageing.clone();
        drop(ages);
        forget_what_moved(&mut copy.memory, before, &copy.ring);
        copy.start_generation_if_overfull();
        Ok(copy)
    }

    fn copy_words(&self, copy: &mut Filter) {
        let words = copy.memory.segments_mut().words_mut();
        whichever!(SharedMemory: &self.memory, segments => segments.shared().copy_to(words));
    }

    /// [`Filter::to_bytes`], of a copy.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.snapshot().to_bytes()
    }

    /// [`Filter::from_bytes`].
    ///
    /// # Errors
    /// As [`Filter::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        Self::restore(Filter::from_bytes(bytes)?)
    }

    /// [`Filter::save`], of a copy.
    ///
    /// # Errors
    /// As [`Filter::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        let bytes = self.dimensions.memory_bytes;
        self.try_snapshot().map_err(|_| SnapshotError::Allocation { bytes })?.save(path)
    }

    /// [`Filter::load`].
    ///
    /// # Errors
    /// As [`Filter::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        Self::restore(Filter::load(path)?)
    }

    fn restore(filter: Filter) -> Result<Self, SnapshotError> {
        let bytes = filter.dimensions.memory_bytes;
        Self::try_from(filter).map_err(|_| SnapshotError::Allocation { bytes })
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

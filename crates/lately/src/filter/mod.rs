//! The filter: hash, age, layout, answer. One file for each kind of operation.

mod ages;
mod any;
mod apply;
mod as_of;
mod builder;
#[cfg(feature = "std")]
mod file;
mod limit;
mod methods;
mod operation;
mod pieces;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "std")]
mod shared;
mod snapshot;
mod statistics;
mod time;
mod unseen;

use core::fmt;

use crate::ageing::Ageing;
use crate::error::ConfigError;
use crate::hash::HashFunction;
use crate::layout::Memory;
use crate::layout::instructions::Instructions;
use crate::layout::kernel::AnyKernel;
use crate::plan::{Dimensions, Plan};
use crate::ring::Ring;
use crate::shape::Shape;
use crate::window::Window;

pub use any::AnyFilter;
pub use as_of::AsOf;
pub use builder::Builder;
#[cfg(feature = "std")]
pub use file::PendingSave;
pub use pieces::{SnapshotReader, SnapshotWriter};
#[cfg(feature = "std")]
pub use shared::SharedFilter;
pub use snapshot::FORMAT_VERSION;
pub use statistics::{Counters, Statistics};
pub use unseen::{Unseen, UnseenBy, UnseenExt};
#[cfg(feature = "futures")]
pub use unseen::{UnseenByStream, UnseenStream, UnseenStreamExt};

/// A sliding-window Bloom filter: answers "have I seen this lately?" in bounded memory.
///
/// Any of the last [`guaranteed_window`](Self::guaranteed_window) inserts is reported, always. Items that
/// were never inserted are reported at most at the requested rate. Items that have left the window are soon
/// forgotten; [`max_slack`](crate::Builder::max_slack) bounds how soon.
///
/// An item is bytes, text, an integer, or a tuple of them: see [`Item`](crate::Item). Every operation also
/// has a form for callers with their own 64-bit hash (`*_hash`; the hash must be well mixed) and for many
/// items at once (`*_batch`, `*_hash_batch`).
///
/// ```
/// use lately::Filter;
///
/// let mut seen = Filter::builder().window(100_000).false_positive_rate(1e-3).build()?;
/// for (delivery, expected) in [("a", false), ("b", false), ("a", true)] {
///     assert_eq!(seen.check_and_insert(delivery), expected);
/// }
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Filter {
    dimensions: Dimensions,
    hash_function: HashFunction,
    /// See [`set_label`](Self::set_label).
    label: u64,
    ring: Ring,
    ageing: Ageing,
    memory: Memory,
    /// Selects how the filter computes; not part of its state.
    kernel: AnyKernel,
}

/// Equal filters have the same state, bit for bit.
impl PartialEq for Filter {
    fn eq(&self, other: &Self) -> bool {
        let state = |filter: &Self| (filter.dimensions, filter.hash_function, filter.label);
        state(self) == state(other)
            && self.ring == other.ring
            && self.ageing == other.ageing
            && self.memory == other.memory
    }
}

impl Eq for Filter {}

impl Filter {
    fn with_dimensions(dimensions: Dimensions, hash_function: HashFunction) -> Result<Self, ConfigError> {
        Self::with_cells(dimensions, dimensions.cells_at_first(), hash_function)
    }

    /// The same, with another number of cells than at first: an elastic filter grows.
    fn with_cells(
        dimensions: Dimensions,
        cells: u64,
        hash_function: HashFunction,
    ) -> Result<Self, ConfigError> {
        let Dimensions { window, shape, items_per_generation, memory_bytes, .. } = dimensions;
        let refused = ConfigError::Allocation { bytes: memory_bytes };
        let ring = Ring::of(&shape);
        let mut memory = Memory::allocate(&shape, cells, &ring).ok_or(refused)?;
        if let Memory::Elastic(bins) = &mut memory {
            bins.set_most_lines(dimensions.cells);
        }
        let ageing = Ageing::new(window, items_per_generation, &ring, &shape);
        Ok(Self { dimensions, hash_function, label: 0, ring, ageing, memory, kernel: AnyKernel::fastest() })
    }

    /// The number of cells at present.
    fn cells(&self) -> u64 {
        match &self.memory {
            Memory::Elastic(bins) => bins.lines(),
            _ => self.dimensions.cells,
        }
    }

    /// Forgets everything. The filter is like a new one, with its clock unset.
    pub fn clear(&mut self) {
        self.ring = Ring::of(&self.dimensions.shape);
        self.memory.contents_mut().clear(&self.ring);
        self.ageing.clear();
    }

    /// Returns the filter's shape and the predictions of the exact model. Computes them at each call.
    #[must_use]
    pub fn plan(&self) -> Plan {
        Plan::of(&self.dimensions)
    }

    /// Returns the number that [`set_label`](Self::set_label) was given; 0 if none.
    #[must_use]
    pub fn label(&self) -> u64 {
        self.label
    }

    /// Keeps a number with the filter, also in its snapshots: for example a fingerprint of how a program makes the
    /// items, to refuse a snapshot whose items were made in another way. It changes no answer.
    pub fn set_label(&mut self, label: u64) {
        self.label = label;
    }

    /// Returns the hash function of this filter.
    #[must_use]
    pub fn hash_function(&self) -> HashFunction {
        self.hash_function
    }

    /// Returns the instructions that this filter computes with: by default the fastest of the machine.
    #[must_use]
    pub fn instructions(&self) -> Instructions {
        self.kernel.instructions()
    }

    /// Computes with these instructions from now on, for example to compare them. Answers and bits stay the
    /// same. Returns false, and changes nothing, if the machine does not have them.
    pub fn set_instructions(&mut self, instructions: Instructions) -> bool {
        let kernel = AnyKernel::new(instructions);
        self.kernel = kernel.unwrap_or(self.kernel);
        kernel.is_some()
    }

    /// Returns a copy, or an error if the memory for it cannot be allocated; `clone` would abort the program.
    ///
    /// # Errors
    /// If the memory cannot be allocated.
    pub fn try_clone(&self) -> Result<Self, ConfigError> {
        let mut copy = Self::with_cells(self.dimensions, self.cells(), self.hash_function)?;
        copy.label = self.label;
        copy.ring = self.ring;
        copy.ageing = self.ageing.clone();
        copy.kernel = self.kernel;
        if let (Memory::Elastic(of_copy), Memory::Elastic(bins)) = (&mut copy.memory, &self.memory) {
            of_copy.set_lines_at(bins.lines_at().iter().copied());
            of_copy.set_history(*bins.history());
        }
        let contents = copy.memory.contents_mut();
        contents.words_mut().copy_from_slice(self.memory.contents().words());
        contents.ring_was_set(&copy.ring);
        Ok(copy)
    }

    /// Returns the filter's shape.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.dimensions.shape
    }

    /// Returns g: the number of inserts between two shifts, or the share of a generation of a time window.
    #[must_use]
    pub fn items_per_generation(&self) -> u64 {
        self.dimensions.items_per_generation
    }

    /// Returns the predicted false positive rate at the worst moment: that of [`plan`](Self::plan), in less time.
    #[must_use]
    pub fn worst_false_positive_rate(&self) -> f64 {
        self.dimensions.worst_rate()
    }

    /// Returns the predicted slack at its peak: that of [`plan`](Self::plan), in less time.
    #[must_use]
    pub fn peak_slack(&self) -> f64 {
        self.dimensions.npws()
    }

    /// Returns the requested window.
    #[must_use]
    pub fn window(&self) -> Window {
        self.dimensions.window
    }

    /// Returns the number of bytes on the heap: fixed since construction, except for an elastic window.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.dimensions.bytes_with(self.cells())
    }

    /// Returns the most bytes that the filter may have on the heap after so many more inserts, as far as their number
    /// tells: [`memory_bytes`](Self::memory_bytes) if it has room for them. Only an elastic window grows.
    ///
    /// If an elastic filter grows and its memory cannot be allocated, the program aborts, as for a `Vec` that
    /// grows. For programs that must not abort, this tells what to ask for before the inserts. Rarely, a filter grows
    /// although it has room: if too many items find both their lines full. It may also grow when its clock starts a
    /// generation: see [`next_shift_ms`](Self::next_shift_ms).
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let mut recent = Filter::builder().time_window(Duration::from_secs(60)).false_positive_rate(1e-3).build()?;
    /// recent.insert(0);
    /// assert_eq!(recent.most_memory_bytes_after(1), recent.memory_bytes());
    /// let most = recent.most_memory_bytes_after(100_000);
    /// recent.extend(1..=100_000);
    /// assert!(recent.memory_bytes() > 100_000 && recent.memory_bytes() <= most);
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    #[must_use]
    pub fn most_memory_bytes_after(&self, inserts: u64) -> u64 {
        let cells = match &self.memory {
            Memory::Elastic(bins) if inserts > self.ageing.inserts_before_full() => {
                bins.most_lines_after(inserts)
            }
            _ => self.cells(),
        };
        self.dimensions.bytes_with(cells)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("dimensions", &self.dimensions)
            .field("hash_function", &self.hash_function)
            .field("inserts", &self.ageing.inserts)
            .field("generation", &self.ring.generation())
            .finish_non_exhaustive()
    }
}

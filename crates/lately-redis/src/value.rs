//! The value of a key: a filter.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use lately::{AsOf, Counters, Filter, SnapshotWriter, Window};

use crate::allocator;
use crate::server::{self, Failure};
use crate::traffic::Traffic;

/// Number of filters on this server, and the memory that they take.
static FILTERS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

pub(crate) fn filter_count() -> u64 {
    FILTERS.load(Ordering::Relaxed)
}

pub(crate) fn total_bytes() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

/// A filter, and the server memory that it takes.
pub(crate) struct Value {
    filter: Filter,
    /// Exact after every change of the filter.
    allocated_bytes: usize,
    pub(crate) traffic: Traffic,
    /// The inserts before the traffic was counted.
    uncounted_inserts: u64,
    /// A snapshot that clients read in pieces.
    pieces: RefCell<Option<Box<SnapshotWriter>>>,
}

impl Value {
    /// Builds a filter, and measures the memory that it takes.
    pub(crate) fn new<E>(build: impl FnOnce() -> Result<Filter, E>) -> Result<Box<Self>, E> {
        let (built, bytes) = allocator::measured(|| {
            build().map(|filter| {
                let uncounted_inserts = filter.counters().inserts;
                Box::new(Self {
                    filter,
                    allocated_bytes: 0,
                    traffic: Traffic::default(),
                    uncounted_inserts,
                    pieces: RefCell::default(),
                })
            })
        });
        built.map(|mut value| {
            let bytes = usize::try_from(bytes).unwrap_or(0);
            value.allocated_bytes = bytes;
            FILTERS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
            value
        })
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Changes the filter, and measures the memory that an elastic one takes then. The others never take more or less.
    pub(crate) fn change<T>(&mut self, change: impl FnOnce(&mut Filter) -> T) -> T {
        *self.pieces.get_mut() = None;
        if !self.is_elastic() {
            return change(&mut self.filter);
        }
        let (result, grown) = allocator::measured(|| change(&mut self.filter));
        if grown != 0 {
            let before = self.allocated_bytes;
            self.allocated_bytes = before.saturating_add_signed(grown);
            BYTES.fetch_add(self.allocated_bytes as u64, Ordering::Relaxed);
            BYTES.fetch_sub(before as u64, Ordering::Relaxed);
        }
        result
    }

    /// Returns the piece of the snapshot that begins at this byte, which is 0 or the end of the piece before. Returns
    /// `None` at another byte, and if the filter has changed since the first piece.
    pub(crate) fn piece_of_snapshot(&self, begin: u64, most: usize) -> Option<Vec<u8>> {
        let mut pieces = self.pieces.borrow_mut();
        if begin == 0 {
            *pieces = Some(Box::new(SnapshotWriter::new(&self.filter)));
        }
        let writer = pieces.as_mut().filter(|writer| writer.written() == begin)?;
        let piece = writer.next_piece(&self.filter, most)?;
        if writer.written() == self.filter.snapshot_len() {
            *pieces = None;
        }
        Some(piece)
    }

    /// Fails if a counter is above half of what a snapshot can hold: 2^52 generations, and 2^62 of everything
    /// else. This leaves room for everything that this server will count.
    pub(crate) fn check_counts(&self) -> Result<(), Failure> {
        let Counters { inserts, generation, backward_steps, overloaded_generations, .. } =
            self.filter.counters();
        let counts = [
            ("inserts", inserts, 61),
            ("generation", generation, 51),
            ("backward_steps", backward_steps, 61),
            ("overloaded_generations", overloaded_generations, 61),
        ];
        match counts.into_iter().find(|(_, count, power)| *count > 1 << power) {
            None => Ok(()),
            Some((name, count, power)) => Err(Failure::new(format!(
                "{name} is {count}, but can be at most 2^{power}: load a snapshot that was not changed"
            ))),
        }
    }

    /// Returns the bytes as the server counts them, including the allocator's rounding.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.allocated_bytes
    }

    /// Returns the inserts before this server counted which items were new.
    pub(crate) fn uncounted_inserts(&self) -> u64 {
        self.uncounted_inserts
    }

    /// Returns the filter as of now, for commands that read. They must not perform the shifts that are due:
    /// shifting is a write, and replicas get their writes from the primary.
    pub(crate) fn as_of_now(&self) -> AsOf<'_> {
        self.filter.as_of(server::now_ms())
    }

    pub(crate) fn has_clock(&self) -> bool {
        self.filter.window().span().is_some()
    }

    /// Returns true if the filter grows and shrinks.
    pub(crate) fn is_elastic(&self) -> bool {
        matches!(self.filter.window(), Window::Elastic { .. })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        FILTERS.fetch_sub(1, Ordering::Relaxed);
        BYTES.fetch_sub(self.allocated_bytes as u64, Ordering::Relaxed);
    }
}

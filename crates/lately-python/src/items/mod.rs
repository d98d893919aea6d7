//! Reads items: one Python object, or the items of a bulk call (arrays and columns, read in place, or any
//! iterable).
//!
//! A bulk call adds all of its items or none, so invalid items are refused here, before the filter sees the
//! first item.
//!
//! | file | owns |
//! |---|---|
//! | `item.rs` | which bytes a Python object is |
//! | `reader.rs` | which kind of column or iterable an object is |
//! | `reading.rs` | what a call wants of its items |
//! | `nulls.rs` | what a call does with missing items |
//! | `column.rs` | the trait of many items in memory |
//! | `collected.rs` | items that had to be read one by one: their hashes, or their bytes |
//! | `sequence.rs` | iterables of Python objects |
//! | `buffer.rs`, `strided.rs` | numpy and other buffers; elements of a fixed width |
//! | `code_points.rs`, `numpy_strings.rs` | texts of numpy: `U`, and `StringDType` |
//! | `arrow/` | columns and tables of Arrow |
//! | `keys.rs` | several columns, whose values together are one key |

mod arrow;
mod buffer;
mod code_points;
mod collected;
mod column;
mod item;
mod keys;
mod nulls;
mod numpy_strings;
mod reader;
mod reading;
mod sequence;
mod strided;

use lately::HashFunction;

use column::Column;
pub(crate) use item::{hash_of, item_bytes, with_bytes};
pub(crate) use nulls::Nulls;
pub(crate) use reading::{Reading, Wanted};

/// Number of hashes that are computed before they are passed to the filter. They fit into the processor's
/// cache.
const CHUNK: usize = 1024;

/// The items of a bulk call.
pub(crate) struct Items {
    source: Source,
    /// Positions of missing items, in order. They are never read.
    pub(crate) missing: Vec<usize>,
    /// True if the caller passed an array or a column; the answers are then an array, too.
    pub(crate) are_columns: bool,
}

enum Source {
    /// Read one after the other.
    Columns(Vec<Box<dyn Column>>),
    /// Already hashed.
    Hashes(Vec<u64>),
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        match &self.source {
            Source::Columns(columns) => columns.iter().map(|column| column.len()).sum(),
            Source::Hashes(hashes) => hashes.len(),
        }
    }

    /// Returns the hashes of the next items, with the position of the first one; `None` at the end. Missing
    /// items are skipped.
    pub(crate) fn next_hashes<'a>(
        &'a self,
        function: HashFunction,
        cursor: &'a mut Cursor,
    ) -> Option<(usize, &'a [u64])> {
        let (column, first, count) = self.next_run(cursor)?;
        let position = cursor.done - count;
        match &self.source {
            Source::Hashes(hashes) => Some((position, &hashes[first..first + count])),
            Source::Columns(columns) => {
                let hashes = &mut cursor.hashes[..count];
                columns[column].hash(function, first, hashes);
                Some((position, hashes))
            }
        }
    }

    /// Passes the bytes of all items in order, with their positions. Missing items are skipped, and so are
    /// items of which only hashes are known.
    pub(crate) fn for_each(&self, mut take: impl FnMut(usize, &[u8])) {
        let Source::Columns(columns) = &self.source else { return };
        let mut cursor = Cursor::start();
        while let Some((column, first, count)) = self.next_run(&mut cursor) {
            let mut position = cursor.done - count;
            columns[column].for_each(first, count, &mut |bytes| {
                take(position, bytes);
                position += 1;
            });
        }
    }

    /// Moves the cursor behind the next items that lie side by side. Returns their column, the first one in
    /// it, and how many.
    fn next_run(&self, cursor: &mut Cursor) -> Option<(usize, usize, usize)> {
        loop {
            let len = match &self.source {
                Source::Columns(columns) => columns.get(cursor.column)?.len(),
                Source::Hashes(hashes) if cursor.column == 0 => hashes.len(),
                Source::Hashes(_) => return None,
            };
            let left = len - cursor.in_column;
            if left == 0 {
                cursor.column += 1;
                cursor.in_column = 0;
                continue;
            }
            let missing =
                self.missing.get(cursor.missing).map_or(usize::MAX, |missing| missing - cursor.done);
            if missing == 0 {
                cursor.missing += 1;
                cursor.advance(1);
                continue;
            }
            let count = CHUNK.min(left).min(missing);
            let first = cursor.in_column;
            cursor.advance(count);
            return Some((cursor.column, first, count));
        }
    }
}

/// How far a bulk call is.
pub(crate) struct Cursor {
    /// How many items are done, missing ones included.
    pub(crate) done: usize,
    /// The number of the column to read next, and how many of its items are done.
    column: usize,
    in_column: usize,
    /// How many missing items are done.
    missing: usize,
    hashes: [u64; CHUNK],
}

impl Cursor {
    pub(crate) fn start() -> Self {
        Self { done: 0, column: 0, in_column: 0, missing: 0, hashes: [0; CHUNK] }
    }

    fn advance(&mut self, items: usize) {
        self.done += items;
        self.in_column += items;
    }
}

//! A slice of an Arrow array: where its elements and its nulls are.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, PyResult};

use super::c_interface::{Array, Owned};

/// Elements of an array, which is a chunk of a column or a child of such a chunk. Keeps the chunk alive.
#[derive(Clone)]
pub(crate) struct ArraySlice {
    /// Points into the chunk.
    array: *const Array,
    chunk: Arc<Owned<Array>>,
    /// The first element, counted from the start of the array's buffers.
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

// SAFETY: the pointer points into the chunk, which keeps its arrays in place; they are only read.
unsafe impl Send for ArraySlice {}
// SAFETY: as above.
unsafe impl Sync for ArraySlice {}

impl ArraySlice {
    /// All elements of a chunk.
    pub(super) fn whole(chunk: Owned<Array>) -> PyResult<Self> {
        let chunk = Arc::new(chunk);
        let array = &chunk.0;
        let (offset, len) = array.place()?;
        Ok(Self { array, chunk, offset, len })
    }

    fn array(&self) -> &Array {
        // SAFETY: the chunk owns the array and its children, and lives as long as `self`.
        unsafe { &*self.array }
    }

    /// The same elements of a child, for example of a column of a table.
    pub(crate) fn child(&self, number: usize) -> PyResult<Self> {
        let child = self.array().child(number).ok_or_else(|| lacks("child", number))?;
        // The offset of an array counts for its children, too.
        let elements = self.offset..self.offset + self.len;
        let (offset, len) = child.place()?;
        if len < elements.end {
            return Err(lacks("element", elements.end - 1));
        }
        Ok(Self {
            array: child,
            chunk: Arc::clone(&self.chunk),
            offset: offset + elements.start,
            len: self.len,
        })
    }

    /// All values of the dictionary whose numbers these elements are.
    pub(crate) fn dictionary(&self) -> PyResult<Self> {
        // SAFETY: by the interface, it is null or a live array, which the chunk owns.
        let values = unsafe { self.array().dictionary.as_ref() }.ok_or_else(|| lacks("dictionary", 0))?;
        let (offset, len) = values.place()?;
        Ok(Self { array: values, chunk: Arc::clone(&self.chunk), offset, len })
    }

    /// Returns the buffer with this number; null if the array has none.
    pub(crate) fn buffer(&self, number: usize) -> *const u8 {
        let array = self.array();
        if number >= usize::try_from(array.n_buffers).unwrap_or(0) || array.buffers.is_null() {
            return std::ptr::null();
        }
        // SAFETY: the array is live, and `number` is less than its number of buffers.
        unsafe { *array.buffers.add(number) }.cast()
    }

    /// Returns the buffer with this number, or an error if the array has none.
    pub(crate) fn required_buffer(&self, number: usize) -> PyResult<*const u8> {
        let found = self.buffer(number);
        if found.is_null() { Err(lacks("buffer", number)) } else { Ok(found) }
    }

    pub(crate) fn has_no_nulls(&self) -> bool {
        self.array().null_count == 0 || self.buffer(0).is_null()
    }

    /// Returns true if element i is null; false if there are not as many elements.
    pub(crate) fn is_null(&self, i: usize) -> bool {
        if i >= self.len || self.has_no_nulls() {
            return false;
        }
        let bit = self.offset + i;
        // SAFETY: the validity buffer has a bit for every element, including those before the offset.
        unsafe { self.buffer(0).add(bit / 8).read() >> (bit % 8) & 1 == 0 }
    }

    /// Returns the positions of the nulls, in order.
    pub(crate) fn nulls(&self) -> impl Iterator<Item = usize> + '_ {
        let len = if self.has_no_nulls() { 0 } else { self.len };
        (0..len).filter(|&i| self.is_null(i))
    }
}

impl Array {
    /// Returns the offset and the length.
    fn place(&self) -> PyResult<(usize, usize)> {
        match (usize::try_from(self.offset), usize::try_from(self.length)) {
            (Ok(offset), Ok(len)) => Ok((offset, len)),
            _ => Err(PyValueError::new_err(format!(
                "the Arrow array has {} elements from {} on: report this to the library that exported it",
                self.length, self.offset
            ))),
        }
    }
}

fn lacks(part: &str, number: usize) -> PyErr {
    PyValueError::new_err(format!(
        "the Arrow array lacks its {part} {number}: report this to the library that exported it"
    ))
}

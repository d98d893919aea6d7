//! Strings and bytes of any length, as Arrow stores them.

use pyo3::PyResult;

use crate::arrow::ArraySlice;
use crate::items::column::Elements;

/// Strings or bytes stored one after the other: element i reaches from offset i to offset i + 1.
pub(super) struct Offsets<O> {
    offsets: *const O,
    data: *const u8,
    array: ArraySlice,
}

// SAFETY: the pointers point into the memory of the array, which keeps it in place; it is only read.
unsafe impl<O> Send for Offsets<O> {}
// SAFETY: as above.
unsafe impl<O> Sync for Offsets<O> {}

impl<O> Offsets<O> {
    pub(super) fn new(array: ArraySlice) -> PyResult<Self> {
        let offsets = array.required_buffer(1)?.cast::<O>().wrapping_add(array.offset);
        Ok(Self { offsets, data: array.buffer(2), array })
    }
}

impl<O: Copy + Into<i64>> Elements for Offsets<O> {
    type Element<'a>
        = &'a [u8]
    where
        O: 'a;

    fn len(&self) -> usize {
        self.array.len
    }

    #[inline]
    unsafe fn element(&self, i: usize) -> &[u8] {
        // SAFETY: an array of n elements has n + 1 offsets, and both offsets of this element are among them.
        let (start, end): (i64, i64) = unsafe {
            let offset = self.offsets.add(i);
            (offset.read_unaligned().into(), offset.add(1).read_unaligned().into())
        };
        match usize::try_from(end - start) {
            // SAFETY: by the Arrow format, offsets are positions in the data buffer.
            Ok(len) if len > 0 => unsafe {
                std::slice::from_raw_parts(self.data.offset(start as isize), len)
            },
            _ => &[],
        }
    }
}

/// Strings or bytes as views of 16 bytes: a length, then either the content (up to 12 bytes) or its location.
pub(super) struct Views {
    views: *const [u8; 16],
    array: ArraySlice,
}

// SAFETY: the pointer points into the memory of the array, which keeps it in place; it is only read.
unsafe impl Send for Views {}
// SAFETY: as above.
unsafe impl Sync for Views {}

impl Views {
    pub(super) fn new(array: ArraySlice) -> PyResult<Self> {
        let views = array.required_buffer(1)?.cast::<[u8; 16]>().wrapping_add(array.offset);
        Ok(Self { views, array })
    }
}

impl Elements for Views {
    type Element<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.array.len
    }

    #[inline]
    unsafe fn element(&self, i: usize) -> &[u8] {
        // SAFETY: there is a view for every element.
        let view = unsafe { &*self.views.add(i) };
        let number =
            |at: usize| u32::from_le_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]) as usize;
        let len = number(0);
        match view.get(4..4 + len) {
            Some(inside) => inside,
            None => {
                // Buffers 0 and 1 are the validity and the views.
                let data = self.array.buffer(2 + number(8));
                // SAFETY: by the Arrow format, a long view names a data buffer and the position of its bytes
                // in that buffer.
                unsafe { std::slice::from_raw_parts(data.add(number(12)), len) }
            }
        }
    }
}

/// Nothing but nulls, which have no memory at all, and are never read.
pub(super) struct Absent {
    pub(super) len: usize,
}

impl Elements for Absent {
    type Element<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.len
    }

    unsafe fn element(&self, _i: usize) -> &[u8] {
        &[]
    }
}

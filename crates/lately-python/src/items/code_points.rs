//! numpy's `U`: texts of a fixed width, as code points of four bytes that are padded with zeros.

use lately::{CompositeKey, HashFunction};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::column::Column;
use super::strided::Strided;

/// The items are the texts as UTF-8, without zeros at their ends.
pub(super) struct CodePoints {
    elements: Strided,
    /// True if the byte order differs from the machine's.
    is_swapped: bool,
}

impl CodePoints {
    /// Fails if a code point has no UTF-8 encoding.
    pub(super) fn new(py: Python<'_>, elements: Strided, is_swapped: bool) -> PyResult<Self> {
        let points = Self { elements, is_swapped };
        match py.detach(|| points.first_invalid()) {
            None => Ok(points),
            Some((position, point)) => Err(PyValueError::new_err(format!(
                "item {position} has the code point U+{point:04X}, which has no UTF-8 encoding: pass bytes, for example \
                 encoded with errors=\"surrogateescape\""
            ))),
        }
    }

    fn first_invalid(&self) -> Option<(usize, u32)> {
        (0..self.elements.len()).find_map(|i| {
            // Nearly all texts are below the surrogates, and this loop is one of vectors.
            let highest = self.points(i).fold(0, |highest, point| highest | point);
            if highest < 0x800 {
                return None;
            }
            self.points(i).find(|&point| char::from_u32(point).is_none()).map(|point| (i, point))
        })
    }

    #[inline]
    fn points(&self, i: usize) -> impl Iterator<Item = u32> + Clone {
        let is_swapped = self.is_swapped;
        self.elements.bytes(i).as_chunks().0.iter().map(move |point| {
            let point = u32::from_ne_bytes(*point);
            if is_swapped { point.swap_bytes() } else { point }
        })
    }

    /// Writes text i as UTF-8.
    #[inline]
    fn write(&self, i: usize, text: &mut Vec<u8>) {
        text.clear();
        let points = self.points(i);
        if points.clone().fold(0, |all, point| all | point) < 0x80 {
            text.extend(points.map(|point| point as u8));
        } else {
            let mut utf8 = [0; 4];
            for point in points.filter_map(char::from_u32) {
                text.extend_from_slice(point.encode_utf8(&mut utf8).as_bytes());
            }
        }
        let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        text.truncate(end);
    }
}

impl Column for CodePoints {
    fn len(&self) -> usize {
        self.elements.len()
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        let mut text = Vec::new();
        for (i, hash) in hashes.iter_mut().enumerate() {
            self.write(first + i, &mut text);
            *hash = function.hash(&text);
        }
    }

    fn push_to(&self, first: usize, keys: &mut [CompositeKey]) {
        let mut text = Vec::new();
        for (i, key) in keys.iter_mut().enumerate() {
            self.write(first + i, &mut text);
            key.push(&*text);
        }
    }

    fn for_each(&self, first: usize, count: usize, take: &mut dyn FnMut(&[u8])) {
        let mut text = Vec::new();
        for i in first..first + count {
            self.write(i, &mut text);
            take(&text);
        }
    }
}

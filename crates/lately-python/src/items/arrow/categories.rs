//! Dictionaries: each value stands once, and the elements are numbers of values.

use std::sync::OnceLock;

use lately::{CompositeKey, HashFunction};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use crate::arrow::ArraySlice;
use crate::items::column::Column;

/// The numbers of the values, as the array stores them.
pub(super) struct Numbers {
    array: ArraySlice,
    first: *const u8,
    width: usize,
}

// SAFETY: the pointer points into the memory of the array, which keeps it in place; it is only read.
unsafe impl Send for Numbers {}
// SAFETY: as above.
unsafe impl Sync for Numbers {}

impl Numbers {
    pub(super) fn new(array: ArraySlice, width: usize) -> PyResult<Self> {
        let first = array.required_buffer(1)?.wrapping_add(array.offset * width);
        Ok(Self { array, first, width })
    }

    /// Returns the number of the value of element i, which must be less than the length of the array. A
    /// negative number becomes a large one.
    #[inline]
    fn get(&self, i: usize) -> usize {
        debug_assert!(i < self.array.len);
        let at = self.first.wrapping_add(i * self.width);
        // SAFETY: buffer 1 of the array holds integers of this width one after the other.
        unsafe {
            match self.width {
                1 => at.read().into(),
                2 => at.cast::<u16>().read_unaligned().into(),
                4 => at.cast::<u32>().read_unaligned() as usize,
                _ => at.cast::<u64>().read_unaligned() as usize,
            }
        }
    }

    /// Returns the positions of the elements that are null, or whose value is one of these.
    pub(super) fn into_nulls(self, null_values: Vec<bool>) -> impl Iterator<Item = usize> {
        let is_value_null = null_values.contains(&true);
        let may_have_nulls = is_value_null || !self.array.has_no_nulls();
        let len = if may_have_nulls { self.array.len } else { 0 };
        let is_null = move |&i: &usize| {
            self.array.is_null(i) || is_value_null && null_values.get(self.get(i)).copied().unwrap_or(false)
        };
        (0..len).filter(is_null)
    }
}

/// Elements that are values of a dictionary. Each value is hashed once.
pub(super) struct Categories {
    numbers: Numbers,
    values: Box<dyn Column>,
    hashes: OnceLock<Vec<u64>>,
}

impl Categories {
    /// Fails if an element has a number that no value has. The elements at these positions, which are in order, are
    /// never read: in a structure that is null, a field may have any number.
    pub(super) fn new(numbers: Numbers, values: Box<dyn Column>, absent: &[usize]) -> PyResult<Self> {
        let is_value = |i: &usize| numbers.get(*i) < values.len() || absent.binary_search(i).is_ok();
        match (0..numbers.array.len).find(|i| !is_value(i)) {
            Some(i) => Err(PyValueError::new_err(format!(
                "element {i} of the Arrow dictionary array is value {}, but the dictionary has {} values: report this to \
                 the library that exported it",
                numbers.get(i),
                values.len()
            ))),
            None => Ok(Self { numbers, values, hashes: OnceLock::new() }),
        }
    }

    /// A slice of a column may have a dictionary that is larger than itself.
    fn is_worthwhile(&self) -> bool {
        self.values.len() <= self.numbers.array.len
    }
}

impl Column for Categories {
    fn len(&self) -> usize {
        self.numbers.array.len
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        assert!(first + hashes.len() <= self.len());
        if !self.is_worthwhile() {
            for (i, hash) in hashes.iter_mut().enumerate() {
                let number = self.numbers.get(first + i);
                if number < self.values.len() {
                    self.values.hash(function, number, std::slice::from_mut(hash));
                }
            }
            return;
        }
        // All calls for a column are made with the same function.
        let of_values = self.hashes.get_or_init(|| {
            let mut hashes = vec![0; self.values.len()];
            self.values.hash(function, 0, &mut hashes);
            hashes
        });
        for (i, hash) in hashes.iter_mut().enumerate() {
            // Only a null has a number that no value has.
            *hash = of_values.get(self.numbers.get(first + i)).copied().unwrap_or(0);
        }
    }

    fn push_to(&self, first: usize, keys: &mut [CompositeKey]) {
        assert!(first + keys.len() <= self.len());
        for (i, key) in keys.iter_mut().enumerate() {
            let number = self.numbers.get(first + i);
            if number < self.values.len() {
                self.values.push_to(number, std::slice::from_mut(key));
            }
        }
    }

    fn for_each(&self, first: usize, count: usize, take: &mut dyn FnMut(&[u8])) {
        assert!(first + count <= self.len());
        for number in (first..first + count).map(|i| self.numbers.get(i)) {
            if number < self.values.len() {
                self.values.for_each(number, 1, take);
            }
        }
    }
}

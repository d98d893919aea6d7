//! Several columns, whose values together are one key per item.

use lately::{CompositeKey, HashFunction};

use super::column::Column;

/// Number of keys that are written at a time, column by column. They fit into the processor's cache.
const KEYS: usize = 64;

/// Item i is the key of the items i of all columns, in the order of the columns.
pub(super) struct Keys {
    columns: Vec<Box<dyn Column>>,
    len: usize,
}

impl Keys {
    /// Each of the columns has `len` items.
    pub(super) fn new(columns: Vec<Box<dyn Column>>, len: usize) -> Self {
        Self { columns, len }
    }

    /// Passes the keys of `count` items from `first` on to `take`, with their positions from 0 on.
    fn for_each_key(&self, first: usize, count: usize, mut take: impl FnMut(usize, &CompositeKey)) {
        let mut keys: [CompositeKey; KEYS] = std::array::from_fn(|_| CompositeKey::new());
        for start in (0..count).step_by(KEYS) {
            let keys = &mut keys[..KEYS.min(count - start)];
            keys.iter_mut().for_each(CompositeKey::clear);
            for column in &self.columns {
                column.push_to(first + start, keys);
            }
            for (i, key) in keys.iter().enumerate() {
                take(start + i, key);
            }
        }
    }
}

impl Column for Keys {
    fn len(&self) -> usize {
        self.len
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        self.for_each_key(first, hashes.len(), |i, key| hashes[i] = function.hash_of(key));
    }

    fn push_to(&self, first: usize, keys: &mut [CompositeKey]) {
        self.for_each_key(first, keys.len(), |i, key| keys[i].push(key));
    }

    fn for_each(&self, first: usize, count: usize, take: &mut dyn FnMut(&[u8])) {
        self.for_each_key(first, count, |_, key| take(key.as_bytes()));
    }
}

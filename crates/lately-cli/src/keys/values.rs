//! The values found in one record, each in its slot.

use std::ops::Range;

#[derive(Debug)]
pub(super) struct Values {
    found: Vec<Option<Place>>,
    /// Values that differ from the bytes of the record, because quotes or escapes were resolved.
    resolved: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Place {
    Record(Range<usize>),
    Resolved(Range<usize>),
}

impl Values {
    pub(super) fn new(slots: usize) -> Self {
        Self { found: vec![None; slots], resolved: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.found.fill(None);
        self.resolved.clear();
    }

    /// Sets a value that is a range of the record.
    pub(super) fn set(&mut self, slot: usize, range: Range<usize>) {
        self.found[slot] = Some(Place::Record(range));
    }

    /// Sets a value to the bytes that `write` appends.
    pub(super) fn set_resolved(&mut self, slot: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.resolved.len();
        write(&mut self.resolved);
        self.found[slot] = Some(Place::Resolved(start..self.resolved.len()));
    }

    pub(super) fn unset(&mut self, slot: usize) {
        self.found[slot] = None;
    }

    pub(super) fn get<'a>(&'a self, record: &'a [u8], slot: usize) -> Option<&'a [u8]> {
        match self.found[slot].clone()? {
            Place::Record(range) => record.get(range),
            Place::Resolved(range) => self.resolved.get(range),
        }
    }

    /// Returns the values that `find` sets for a record.
    #[cfg(test)]
    pub(super) fn texts(slots: usize, record: &str, find: impl Fn(&[u8], &mut Self)) -> Vec<Option<String>> {
        let record = record.as_bytes();
        let mut values = Self::new(slots);
        find(record, &mut values);
        let text = |slot| values.get(record, slot).map(|value| String::from_utf8_lossy(value).into());
        (0..slots).map(text).collect()
    }
}

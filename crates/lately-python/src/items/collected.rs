//! Items that were read one by one.

use lately::HashFunction;

use super::column::Elements;
use super::reading::Wanted;
use super::{Items, Source};
use crate::errors::{self, NoMemory};

/// Collects items: their hashes, or, if these are not enough, their bytes.
pub(super) struct Collected {
    store: Store,
    missing: Vec<usize>,
}

enum Store {
    Hashes(HashFunction, Vec<u64>),
    Bytes(Packed),
}

impl Collected {
    pub(super) fn new(wanted: Wanted, room: usize) -> Result<Self, NoMemory> {
        let store = match wanted {
            Wanted::Hashes(function) => Store::Hashes(function, errors::room_for_items(room)?),
            Wanted::Bytes => Store::Bytes(Packed { bytes: Vec::new(), ends: errors::room_for_items(room)? }),
        };
        Ok(Self { store, missing: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        match &self.store {
            Store::Hashes(_, hashes) => hashes.len(),
            Store::Bytes(packed) => packed.ends.len(),
        }
    }

    pub(super) fn push(&mut self, item: &[u8]) -> Result<(), NoMemory> {
        match &mut self.store {
            Store::Hashes(function, hashes) => {
                make_room(hashes, 1)?;
                hashes.push(function.hash(item));
            }
            Store::Bytes(Packed { bytes, ends }) => {
                make_room(bytes, item.len())?;
                make_room(ends, 1)?;
                bytes.extend_from_slice(item);
                ends.push(bytes.len());
            }
        }
        Ok(())
    }

    pub(super) fn push_missing(&mut self) -> Result<(), NoMemory> {
        make_room(&mut self.missing, 1)?;
        self.missing.push(self.len());
        self.push(b"")
    }

    pub(super) fn into_items(self, are_columns: bool) -> Items {
        let source = match self.store {
            Store::Hashes(_, hashes) => Source::Hashes(hashes),
            Store::Bytes(packed) => Source::Columns(vec![Box::new(packed)]),
        };
        Items { source, missing: self.missing, are_columns }
    }
}

/// Doubles the capacity if the vector is full. An endless iterable fails here.
fn make_room<T>(vector: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    vector.try_reserve(more).map_err(|_| NoMemory::for_items::<T>(2 * vector.len() + more))
}

/// Items one after the other, and where each of them ends.
struct Packed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Elements for Packed {
    type Element<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.ends.len()
    }

    unsafe fn element(&self, i: usize) -> &[u8] {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[i]]
    }
}

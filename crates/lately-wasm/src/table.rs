//! Objects that JavaScript refers to by a number.

use alloc::vec::Vec;

use crate::failure::Failure;

#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: Vec<Option<T>>,
    /// Slots that are empty, to be used again.
    free: Vec<usize>,
}

impl<T> Table<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> i32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(value);
        i32::try_from(slot).unwrap_or(i32::MAX)
    }

    pub(crate) fn get(&mut self, number: i32) -> Result<&mut T, Failure> {
        let slot = usize::try_from(number).ok().and_then(|slot| self.slots.get_mut(slot));
        slot.and_then(Option::as_mut).ok_or_else(Failure::freed)
    }

    pub(crate) fn remove(&mut self, number: i32) {
        let Ok(slot) = usize::try_from(number) else { return };
        if self.slots.get_mut(slot).and_then(Option::take).is_some() {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_unknown_ones_are_refused() {
        let mut table = Table::new();
        let (one, two) = (table.insert('a'), table.insert('b'));
        table.remove(one);
        table.remove(one);
        table.remove(99);
        assert!(table.get(one).is_err() && table.get(-1).is_err() && table.get(99).is_err());
        assert_eq!(table.insert('c'), one);
        assert_eq!((*table.get(one).unwrap(), *table.get(two).unwrap()), ('c', 'b'));
        assert_eq!(table.insert('d'), 2);
    }
}

//! The four operations, on one item.

use alloc::format;
use alloc::vec::Vec;

use lately::{Filter, Window};

use crate::failure::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Has,
    CheckAndAdd,
    CheckOrAdd,
}

impl Operation {
    pub(crate) fn numbered(number: i32) -> Result<Self, Failure> {
        match number {
            0 => Ok(Self::Add),
            1 => Ok(Self::Has),
            2 => Ok(Self::CheckAndAdd),
            3 => Ok(Self::CheckOrAdd),
            _ => Err(Failure::internal(format!("there is no operation {number}"))),
        }
    }

    pub(crate) fn adds(self) -> bool {
        self != Self::Has
    }

    /// Returns whether the item was seen lately; false for `Add`.
    /// Takes a hash, whatever the item is: each kind of items would be compiled for each operation and layout. For the same
    /// reason checks and inserts are two calls; the core's own operations do the same in one, and are twice the code.
    pub(crate) fn apply(self, filter: &mut Filter, hash: u64) -> bool {
        match self {
            Self::Add => {
                filter.insert_hash(hash);
                false
            }
            Self::Has => filter.contains_hash(hash),
            Self::CheckAndAdd => {
                let seen = filter.contains_hash(hash);
                filter.insert_hash(hash);
                seen
            }
            Self::CheckOrAdd => {
                let seen = filter.contains_hash(hash);
                if !seen {
                    filter.insert_hash(hash);
                }
                seen
            }
        }
    }

    /// Fails if the filter may grow and the memory for it is not there. A filter that grows without memory would
    /// end the program.
    pub(crate) fn find_room(self, filter: &Filter, items: u64) -> Result<(), Failure> {
        if !self.adds() || !matches!(filter.window(), Window::Elastic { .. }) {
            return Ok(());
        }
        let most = filter.most_memory_bytes_after(items);
        if most > filter.memory_bytes() { check_free(most) } else { Ok(()) }
    }
}

/// Fails unless so many bytes can be allocated at once.
pub(crate) fn check_free(bytes: u64) -> Result<(), Failure> {
    let length = usize::try_from(bytes).map_err(|_| Failure::no_memory(bytes))?;
    Vec::<u8>::new().try_reserve_exact(length).map_err(|_| Failure::no_memory(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use lately::{Builder, Layout};

    #[test]
    fn two_calls_leave_the_same_filter_as_one() {
        let time = |capacity| Filter::builder().time_window(Duration::from_secs(1)).capacity(capacity);
        let mut asked: Vec<Builder> = Layout::ALL
            .iter()
            .flat_map(|&layout| [Filter::builder().window(500).layout(layout), time(500).layout(layout)])
            .collect();
        asked.push(Filter::builder().time_window(Duration::from_secs(1)));
        for asked in asked {
            let mut ours = asked.false_positive_rate(1e-2).build().unwrap();
            let mut cores = ours.clone();
            for number in 0..6_000_u64 {
                let item = (number * number % 1_013).to_string();
                let hash = ours.hash_of(&item);
                ours.advance_to(number * 3);
                cores.advance_to(number * 3);
                if number % 3 == 0 {
                    let seen = Operation::CheckOrAdd.apply(&mut ours, hash);
                    assert_eq!(seen, cores.check_or_insert(&item));
                } else {
                    let seen = Operation::CheckAndAdd.apply(&mut ours, hash);
                    assert_eq!(seen, cores.check_and_insert(&item));
                }
            }
            assert!(ours == cores, "{:?}", ours.shape());
        }
    }
}

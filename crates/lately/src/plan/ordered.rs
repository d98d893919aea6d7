//! One sort for all lists of the planner. Each instance of the standard library's sort is several kilobytes of code, and
//! eight of them were a tenth of the WebAssembly module.

use alloc::vec::Vec;
use core::mem;

/// Sorts by a key. Those with equal keys keep their order.
pub(super) fn sort_by_key<T>(items: &mut Vec<T>, key: impl Fn(&T) -> u64) {
    let mut order: Vec<(u64, usize)> = items.iter().map(key).zip(0..).collect();
    order.sort_unstable();
    let mut unsorted: Vec<Option<T>> = mem::take(items).into_iter().map(Some).collect();
    items.extend(order.into_iter().filter_map(|(_, place)| unsorted[place].take()));
}

/// The key of a number that is not negative: such numbers are in the order of their bits.
pub(super) fn key(number: f64) -> u64 {
    number.to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_stable_sort() {
        let mut state = 1_u64;
        for length in [0, 1, 2, 30, 1_000] {
            let mut items: Vec<(f64, usize)> = (0..length)
                .map(|number| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    ((state >> 60) as f64 / 3.0 * 1e-9, number)
                })
                .collect();
            let mut expected = items.clone();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            sort_by_key(&mut items, |item| key(item.0));
            assert_eq!(items, expected);
        }
    }
}

//! Many items in one call, as JavaScript lays them out in the input.

use alloc::format;
use alloc::vec::Vec;

use lately::{Filter, HashFunction};

use crate::decimal::Decimal;
use crate::failure::Failure;
use crate::operation::Operation;

/// Texts: the length of each in four bytes, then their bytes, one after the other.
pub(crate) fn texts(
    operation: Operation,
    filter: &mut Filter,
    input: &[u8],
    count: usize,
    seen: &mut Vec<u8>,
) -> Result<(), Failure> {
    let cut = || Failure::internal("the input is shorter than its items");
    let (lengths, mut rest) =
        count.checked_mul(4).and_then(|length| input.split_at_checked(length)).ok_or_else(cut)?;
    let mut found = Vec::new();
    found.try_reserve_exact(count).map_err(|_| Failure::no_memory(count as u64 * 8))?;
    for length in lengths.as_chunks::<4>().0 {
        let (item, after) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        found.push(item);
        rest = after;
    }
    perform(operation, filter, found.into_iter(), HashFunction::hash, seen)
}

/// Items that all have the same number of bytes, one after the other.
pub(crate) fn fixed(
    operation: Operation,
    filter: &mut Filter,
    input: &[u8],
    width: usize,
    seen: &mut Vec<u8>,
) -> Result<(), Failure> {
    if width == 0 || !input.len().is_multiple_of(width) {
        return Err(Failure::internal(format!("{} bytes are no items of {width} bytes", input.len())));
    }
    perform(operation, filter, input.chunks_exact(width), HashFunction::hash, seen)
}

/// A typed array. Each integer is its decimal text.
pub(crate) fn integers(
    operation: Operation,
    filter: &mut Filter,
    input: &[u8],
    kind: i32,
    seen: &mut Vec<u8>,
) -> Result<(), Failure> {
    macro_rules! of {
        ($type:ty, $bytes:literal) => {{
            let integers = input.as_chunks::<$bytes>().0.iter();
            let decimals = integers.map(|&bytes| {
                let wide = i128::from(<$type>::from_le_bytes(bytes));
                Decimal::new(wide < 0, wide.unsigned_abs() as u64)
            });
            perform(operation, filter, decimals, |hash, decimal| hash.hash(decimal.text()), seen)
        }};
    }
    match kind {
        0 => of!(u8, 1),
        1 => of!(i8, 1),
        2 => of!(u16, 2),
        3 => of!(i16, 2),
        4 => of!(u32, 4),
        5 => of!(i32, 4),
        6 => of!(u64, 8),
        7 => of!(i64, 8),
        _ => Err(Failure::internal(format!("there is no kind of integers {kind}"))),
    }
}

/// Applies the operation to all items, and replaces `seen` by one byte for each: 1 if it was seen lately.
///
/// One by one: the core's batches fetch memory ahead, which WebAssembly cannot, and are five times the code.
fn perform<T>(
    operation: Operation,
    filter: &mut Filter,
    items: impl ExactSizeIterator<Item = T>,
    hash_of: impl Fn(&HashFunction, T) -> u64,
    seen: &mut Vec<u8>,
) -> Result<(), Failure> {
    let count = items.len();
    operation.find_room(filter, count as u64)?;
    seen.clear();
    seen.try_reserve_exact(count).map_err(|_| Failure::no_memory(count as u64))?;
    let hash_function = filter.hash_function();
    seen.extend(items.map(|item| u8::from(operation.apply(filter, hash_of(&hash_function, item)))));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter() -> Filter {
        Filter::new(10_000, 1e-9).unwrap()
    }

    #[test]
    fn all_forms_of_an_item_are_the_same_item() {
        let (mut filter, mut seen) = (filter(), Vec::new());
        let input: Vec<u8> = (0..3_000_u64).flat_map(u64::to_le_bytes).collect();
        integers(Operation::CheckAndAdd, &mut filter, &input, 6, &mut seen).unwrap();
        assert_eq!(seen, [0; 3_000]);
        let names: Vec<String> = (0..3_000).map(|number| number.to_string()).collect();
        let mut input: Vec<u8> = names.iter().flat_map(|name| (name.len() as u32).to_le_bytes()).collect();
        input.extend(names.concat().bytes());
        texts(Operation::Has, &mut filter, &input, names.len(), &mut seen).unwrap();
        assert_eq!(seen, [1; 3_000]);
        fixed(Operation::CheckOrAdd, &mut filter, b"2999300029981", 4, &mut seen).unwrap_err();
        fixed(Operation::CheckOrAdd, &mut filter, b"299930002998", 4, &mut seen).unwrap();
        assert_eq!(seen, [1, 0, 1]);
    }

    #[test]
    fn inputs_that_are_too_short_are_refused() {
        let (mut filter, mut seen) = (filter(), Vec::new());
        for (input, count) in [(&[][..], 1), (&[5, 0, 0, 0, b'a'], 1), (&[0; 4], usize::MAX)] {
            assert!(texts(Operation::Add, &mut filter, input, count, &mut seen).is_err());
        }
        assert!(integers(Operation::Add, &mut filter, &[], 8, &mut seen).is_err());
        assert_eq!(filter.counters().inserts, 0);
    }
}

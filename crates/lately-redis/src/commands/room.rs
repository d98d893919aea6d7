//! Room for what a command adds: memory that the filter may need is found before anything changes.
//!
//! A filter that did not grow because its memory was refused would differ from its replicas. So a primary refuses the
//! whole command beforehand; and if memory is short while a filter grows, the server ends, as with any other type.

use crate::allocator;
use crate::replication;
use crate::server::{Argument, Call, Failure};
use crate::value::Value;

/// A filter that is smaller, and gets few items, does not grow by a large block.
const SMALL_BYTES: u64 = 128 << 10;

/// Fails if the server has no memory for a new filter.
pub(super) fn check_memory(call: &Call<'_>) -> Result<(), Failure> {
    if call.is_out_of_memory() {
        return Err(Failure::OutOfMemory(
            "a new filter needs memory, but the server has reached maxmemory: raise it, or delete keys",
        ));
    }
    Ok(())
}

/// Fails if the filter may have to grow for the items of this command, and the server has no memory for it. Most
/// commands need none.
pub(super) fn make_room(
    call: &Call<'_>,
    key: &Argument,
    value: &mut Value,
    items: u64,
    now_ms: Option<u64>,
) -> Result<(), Failure> {
    if !value.is_elastic() {
        return Ok(());
    }
    if call.is_out_of_memory() {
        return grow_without_memory(call, key, value, items, now_ms);
    }
    // The server ends if it cannot allocate a small block, for whatever purpose.
    let is_small = value.filter().memory_bytes() + items * 16 < SMALL_BYTES;
    let needed = if is_small { None } else { growth(value, items) };
    match needed {
        Some(needed) if !usize::try_from(needed).is_ok_and(allocator::can_allocate) => {
            Err(Failure::new(format!(
                "the filter may grow to {needed} bytes, which the server cannot allocate: add fewer items at once, or give the server more memory"
            )))
        }
        _ => Ok(()),
    }
}

/// Fails if the filter may have to grow, also without the items that have left the window: they may give back enough.
fn grow_without_memory(
    call: &Call<'_>,
    key: &Argument,
    value: &mut Value,
    items: u64,
    now_ms: Option<u64>,
) -> Result<(), Failure> {
    let next_ms = value.filter().next_shift_ms();
    if let Some(now_ms) = now_ms.filter(|now_ms| next_ms.is_some_and(|next_ms| *now_ms >= next_ms)) {
        value.change(|filter| filter.advance_to(now_ms));
        replication::send_time(call, key, now_ms);
    }
    if growth(value, items).is_some() && call.is_out_of_memory() {
        return Err(Failure::OutOfMemory(
            "the filter has to grow, but the server has reached maxmemory: raise it, or delete keys",
        ));
    }
    Ok(())
}

/// Returns the bytes that the filter may have after so many more inserts; `None` if it certainly does not grow.
fn growth(value: &Value, items: u64) -> Option<u64> {
    let filter = value.filter();
    Some(filter.most_memory_bytes_after(items)).filter(|most| *most > filter.memory_bytes())
}

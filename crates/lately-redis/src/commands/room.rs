//! Room for what a command adds: memory that the filter may need is found before anything changes.
//!
//! A filter that did not grow because its memory was refused would differ from its replicas. So a primary refuses the
//! whole command beforehand; and if memory is short while a filter grows, the server ends, as with any other type.

use crate::allocator;
use crate::replication;
use crate::server::{Argument, Call, Failure};
use crate::value::Value;

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
    let due_ms = now_ms.filter(|now_ms| value.filter().next_shift_ms().is_some_and(|at_ms| *now_ms >= at_ms));
    let Some(needed) = growth(value, items) else { return Ok(()) };
    if call.is_out_of_memory() {
        // Items may have left the window, and the filter may have room without them.
        if let Some(now_ms) = due_ms {
            value.change(|filter| filter.advance_to(now_ms));
            replication::send_time(call, key, now_ms);
        }
        if growth(value, items).is_some() && call.is_out_of_memory() {
            return Err(Failure::OutOfMemory(
                "the filter has to grow, but the server has reached maxmemory: raise it, or delete keys",
            ));
        }
    } else if !usize::try_from(needed).is_ok_and(allocator::can_allocate) {
        return Err(Failure::new(format!(
            "the filter may grow to {needed} bytes, which the server cannot allocate: add fewer items at once, or give the server more memory"
        )));
    }
    Ok(())
}

/// Returns the bytes that the filter may have after so many more inserts; `None` if it certainly does not grow.
fn growth(value: &Value, items: u64) -> Option<u64> {
    let filter = value.filter();
    Some(filter.most_memory_bytes_after(items)).filter(|most| *most > filter.memory_bytes())
}

//! Whose times a time window gets: the caller's, or the system's, which JavaScript reads.

use core::time::Duration;

use lately::{Clock, Filter, Window};

use crate::failure::Failure;
use crate::operation::check_free;

/// Advances to a time that the caller gave. From then on the filter lives on the caller's times.
pub(crate) fn advance(filter: &mut Filter, now_ms: u64, max_jump: Option<Duration>) -> Result<(), Failure> {
    find_room(filter, now_ms)?;
    match max_jump {
        Some(max_jump) => filter.advance_at_most(now_ms, max_jump)?,
        None => filter.advance_to(now_ms),
    }
    filter.set_clock(Clock::Events);
    Ok(())
}

/// Advances to the system's time, unless the filter lives on the times of its events. A call that only asks does not
/// start the clock.
pub(crate) fn follow_system(filter: &mut Filter, system_ms: u64, adds: bool) -> Result<(), Failure> {
    if filter.clock() == Clock::Events || !(adds || filter.latest_ms().is_some()) {
        return Ok(());
    }
    find_room(filter, system_ms)?;
    filter.advance_to(system_ms);
    filter.set_clock(Clock::System);
    Ok(())
}

/// An elastic window may also change its size when a generation begins; it is never more than twice as large then.
fn find_room(filter: &Filter, now_ms: u64) -> Result<(), Failure> {
    let shifts = matches!(filter.window(), Window::Elastic { .. })
        && filter.next_shift_ms().is_some_and(|next| next <= now_ms);
    if shifts { check_free(filter.memory_bytes() * 2) } else { Ok(()) }
}

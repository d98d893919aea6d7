//! The clock of a time window, and what the window guarantees.

use core::time::Duration;

use super::Filter;
use super::apply::OwnedFilter;
use crate::error::JumpError;
use crate::layout::{Memory, whichever};
use crate::window::Clock;

impl Filter {
    /// Advances the clock of a time window to `now_ms`: milliseconds of a clock that the caller owns (event
    /// time or wall time). The filter never reads a clock itself.
    ///
    /// Time does not run backwards: an earlier `now_ms` has no effect except that
    /// [`Counters::backward_steps`](crate::Counters::backward_steps) counts it. The clock is unset until the
    /// first call; items inserted before that call count as inserted at its time. The call makes at most k +
    /// l shifts, however long the gap. Count windows have no clock and ignore the call.
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let mut recent = Filter::builder()
    ///     .time_window(Duration::from_secs(60)).capacity(10_000)
    ///     .false_positive_rate(1e-4)
    ///     .build()?;
    /// recent.advance_to(1_700_000_000_000);
    /// recent.insert("click");
    /// recent.advance_to(1_700_000_060_000);
    /// assert!(recent.contains("click"), "60 s later it is still there");
    /// recent.advance_to(1_700_000_180_000);
    /// assert!(!recent.contains("click"), "well past window and slack it is gone");
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    pub fn advance_to(&mut self, now_ms: u64) {
        let before = self.ring.generation();
        for start_ms in self.ageing.advance_clock(now_ms, &self.ring) {
            let Self { memory, ring, ageing, .. } = self;
            whichever!(Memory: memory, layout => {
                OwnedFilter { layout: layout.update(), ring, ageing }.start_generation(start_ms);
            });
        }
        if let Self { memory: Memory::Elastic(bins), ring, ageing, .. } = self
            && ring.generation() > before
        {
            // Items have left the window, and perhaps nothing is inserted for a long time.
            OwnedFilter { layout: bins.update(), ring, ageing }.fit_to_time();
        }
    }

    /// Does the same as [`advance_to`](Self::advance_to), but refuses a time that is more than `max_jump` ahead
    /// of the latest time. One wrong time in the far future would otherwise empty the window, and then stop
    /// its clock until the other times have caught up.
    ///
    /// While the clock is unset, there is nothing to compare with, and every time is accepted. Count windows
    /// accept every time and ignore it.
    ///
    /// ```
    /// use lately::Filter;
    /// use std::time::Duration;
    ///
    /// let minute = Duration::from_secs(60);
    /// let mut recent = Filter::builder().time_window(minute).capacity(1000).false_positive_rate(1e-4).build()?;
    /// recent.advance_to(1_700_000_000_000);
    /// recent.insert("click");
    /// let refused = recent.advance_at_most(4_200_000_000_000, 60 * minute).unwrap_err();
    /// assert_eq!(refused.ahead, Duration::from_secs(2_500_000_000));
    /// assert!(recent.contains("click") && recent.latest_ms() == Some(1_700_000_000_000));
    /// assert!(recent.advance_at_most(1_700_000_030_000, 60 * minute).is_ok());
    /// # Ok::<(), lately::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If the time is too far ahead. The filter has not changed then; the error says how far ahead it is.
    pub fn advance_at_most(&mut self, now_ms: u64, max_jump: Duration) -> Result<(), JumpError> {
        self.ageing.check_jump(now_ms, max_jump)?;
        self.advance_to(now_ms);
        Ok(())
    }

    /// Starts the next generation, as the next insert would, if the current one has more items than its
    /// share. That can happen while threads share the filter.
    #[cfg(feature = "std")]
    pub(super) fn shift_if_overfull(&mut self) {
        let Self { memory, ring, ageing, .. } = self;
        if ageing.is_overfull() {
            whichever!(Memory: memory, layout => {
                OwnedFilter { layout: layout.update(), ring, ageing }.shift_if_due();
            });
        }
    }

    /// Returns the first time at which [`advance_to`](Self::advance_to) will shift a time window. Calls with
    /// earlier times do not change any answer, so a batch of items that all have earlier times needs only one
    /// call, before the first item. Returns `None` for count windows, while the clock is unset, and if the
    /// clock cannot reach another shift.
    #[must_use]
    pub fn next_shift_ms(&self) -> Option<u64> {
        self.ageing.next_generation_ms()
    }

    /// Returns the latest time passed to a time window. `None` for count windows and while the clock is
    /// unset.
    #[must_use]
    pub fn latest_ms(&self) -> Option<u64> {
        self.ageing.latest_ms
    }

    /// Returns which clock the window's times come from, as set by [`set_clock`](Self::set_clock).
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.ageing.clock
    }

    /// Records which clock the window's times come from. The filter works the same with all of them; snapshots keep
    /// the answer. A count window ignores the call.
    pub fn set_clock(&mut self, clock: Clock) {
        self.ageing.set_clock(clock);
    }

    /// Returns how many of the newest inserts are certain to be reported.
    ///
    /// For a count window this is l * g: the requested window, rounded up to whole generations. For a time
    /// window it is the number of inserts that the generations now in the window received; see
    /// [`guaranteed_span`](Self::guaranteed_span).
    #[must_use]
    pub fn guaranteed_window(&self) -> u64 {
        self.ageing.guaranteed_window(&self.ring)
    }

    /// For a time window, returns the age below which every insert is certain to be reported. `None` for a
    /// count window.
    ///
    /// This is the requested span, unless [`Overload::KeepRate`](crate::Overload::KeepRate) has recently
    /// shortened it, or [`SharedFilter::clear`](crate::SharedFilter::clear) was called less than one span
    /// ago.
    #[must_use]
    pub fn guaranteed_span(&self) -> Option<Duration> {
        self.ageing.guaranteed_span(&self.ring)
    }
}

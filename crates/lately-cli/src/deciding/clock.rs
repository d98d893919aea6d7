//! The clock of a time window, and which times it believes.

use std::time::Duration;

use lately::Filter;

use super::on_late::OnLate;
use super::troubles::{Jump, Late};
use crate::dates::{DAY_MS, now_ms};

/// What to do with the times of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventRules {
    pub(crate) on_late: OnLate,
    /// How far a time may be ahead of the latest one. `None`: a day ahead of the system's clock.
    pub(crate) max_jump: Option<Duration>,
}

/// The source of a time window's time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The time of arrival.
    Arrival,
    /// The times in the records.
    Events(EventRules),
    /// No time: the window is a count, or nothing is changed.
    None,
}

/// Where a record's time is, compared with the filter's latest time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Before the next shift: the clock changes no answer.
    Current,
    /// In a later generation.
    Ahead,
    /// Older than the latest time by more than the span: the filter may have forgotten what came before the
    /// record, and knows what came after it.
    Late,
    /// Too far ahead to be believed.
    Jump(Jump),
}

/// The clock of a filter whose time comes from the records.
pub(super) struct EventClock {
    pub(super) on_late: OnLate,
    max_jump_ms: Option<u64>,
    span_ms: u64,
    /// Copies of the filter's latest time and of its next shift.
    latest_ms: Option<u64>,
    next_shift_ms: Option<u64>,
    system_ms: u64,
}

impl EventClock {
    pub(super) fn new(filter: &Filter, rules: EventRules) -> Self {
        let EventRules { on_late, max_jump } = rules;
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let span_ms = filter.window().span().map_or(u64::MAX, millis);
        let (latest_ms, next_shift_ms) = (filter.latest_ms(), filter.next_shift_ms());
        let max_jump_ms = max_jump.map(millis);
        Self { on_late, max_jump_ms, span_ms, latest_ms, next_shift_ms, system_ms: now_ms() }
    }

    /// Reads the system's clock, which limits what is believed.
    pub(super) fn read_system_clock(&mut self) {
        self.system_ms = now_ms();
    }

    #[inline]
    pub(super) fn is_latest(&self, time: u64) -> bool {
        self.latest_ms == Some(time)
    }

    #[inline]
    pub(super) fn place(&self, time: u64) -> Place {
        let (since_ms, most_ms) = match (self.max_jump_ms, self.latest_ms) {
            (Some(max_jump), Some(latest)) => (latest, max_jump),
            // Before the first time, there is only the system's clock to compare with.
            (max_jump, _) => (self.system_ms, max_jump.unwrap_or(DAY_MS)),
        };
        if time.saturating_sub(since_ms) > most_ms {
            Place::Jump(Jump {
                time,
                since_ms,
                is_system: self.max_jump_ms.is_none() || self.latest_ms.is_none(),
            })
        } else if self.next_shift_ms.is_none_or(|next| time >= next) {
            Place::Ahead
        } else if self.behind_ms(time) > self.span_ms {
            Place::Late
        } else {
            Place::Current
        }
    }

    /// How much earlier than the latest time this one is.
    pub(super) fn behind_ms(&self, time: u64) -> u64 {
        self.latest_ms.map_or(0, |latest| latest.saturating_sub(time))
    }

    /// Describes a late time.
    pub(super) fn lag(&self, time: u64) -> Late {
        Late { time, latest_ms: self.latest_ms.unwrap_or(time) }
    }

    /// Advances the filter's clock, which counts earlier times.
    #[inline]
    pub(super) fn advance(&mut self, filter: &mut Filter, time: u64) {
        filter.advance_to(time);
        if self.latest_ms < Some(time) {
            self.latest_ms = Some(time);
            if self.next_shift_ms.is_none_or(|next| time >= next) {
                self.next_shift_ms = filter.next_shift_ms();
            }
        }
    }
}

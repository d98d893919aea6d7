//! A bulk call: one action on many items, each at its time.

use std::time::{Duration, Instant};

use super::action::Action;
use crate::items::{Cursor, Items};
use crate::time::{Clock, Clocked, Now, Times};
use lately::{HashFunction, Overload};

/// After this long a bulk call lets other threads use the filter, and looks for signals such as Ctrl-C.
const TURN: Duration = Duration::from_millis(5);

/// A bulk call and how far it is.
pub(super) struct Bulk<'a> {
    pub(super) action: Action,
    pub(super) items: &'a Items,
    pub(super) hash_function: HashFunction,
    pub(super) times: &'a Times,
    pub(super) clock: &'a Clock,
    pub(super) cursor: Cursor,
}

impl Bulk<'_> {
    /// Performs the action on the next items, for one turn. Returns false if there are no more. `seen` is as
    /// long as all items, or empty if the action has no answers.
    pub(super) fn take_turn(&mut self, filter: &mut impl Clocked, seen: &mut [bool]) -> bool {
        let end = Instant::now() + TURN;
        while let Some((first, hashes)) = self.items.next_hashes(self.hash_function, &mut self.cursor) {
            let seen = if seen.is_empty() { &mut [] } else { &mut seen[first..first + hashes.len()] };
            match self.times {
                Times::ForAll(_) => self.action.perform_many(filter, hashes, seen),
                Times::ForEach { millis, max_jump } => {
                    let timed = Timed { action: self.action, clock: self.clock, max_jump: *max_jump };
                    timed.perform(filter, hashes, &millis[first..first + hashes.len()], seen);
                }
            }
            if Instant::now() >= end {
                return true;
            }
        }
        false
    }
}

/// An action on items with a time each.
struct Timed<'a> {
    action: Action,
    clock: &'a Clock,
    max_jump: Option<Duration>,
}

impl Timed<'_> {
    fn perform(&self, filter: &mut impl Clocked, hashes: &[u64], millis: &[u64], seen: &mut [bool]) {
        let mut first = 0;
        while first < hashes.len() {
            let run = first..first + self.advance(filter, &millis[first..]);
            let seen = if seen.is_empty() { &mut [] } else { &mut seen[run.clone()] };
            self.action.perform_many(filter, &hashes[run.clone()], seen);
            first = run.end;
        }
    }

    /// Advances the filter to the times of the first items, and returns how many: before the next shift, the
    /// order of times and inserts makes no difference.
    fn advance(&self, filter: &mut impl Clocked, millis: &[u64]) -> usize {
        let follow = |filter: &mut _, millis| {
            self.clock.follow(
                filter,
                Now { millis: Some(millis), max_jump: self.max_jump },
                self.action.adds(),
            );
        };
        follow(filter, millis[0]);
        // The time at which an overloaded generation starts is that of an insert.
        let starts_early = filter.window().overload() == Some(Overload::KeepRate);
        let Some(mut latest) = filter.latest_ms() else { return 1 };
        let mut told = latest;
        let next_shift = filter.next_shift_ms().filter(|_| !starts_early).unwrap_or(latest);
        let mut run = 1;
        for &now in &millis[1..] {
            let is_refused =
                self.max_jump.is_some_and(|most| Duration::from_millis(now.saturating_sub(latest)) > most);
            if now < latest || is_refused {
                // Only counted.
                if told < latest {
                    follow(filter, latest);
                    told = latest;
                }
                follow(filter, now);
            } else if now < next_shift {
                latest = now;
            } else if now > latest {
                break;
            }
            run += 1;
        }
        if told < latest {
            follow(filter, latest);
        }
        run
    }
}

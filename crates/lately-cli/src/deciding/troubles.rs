//! What was wrong with the times of a stream, counted, to be told once at its end.

use std::fmt;
use std::time::Duration;

use crate::dates::{about, date};
use crate::keys::Missing;

/// A time that was not believed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    pub(crate) time: u64,
    /// The time that it was too far ahead of.
    pub(crate) since_ms: u64,
    /// True if that was the system's clock, not the latest time.
    pub(crate) is_system: bool,
}

impl fmt::Display for Jump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ahead = Duration::from_millis(self.time.saturating_sub(self.since_ms));
        let clock = if self.is_system { "the system's clock" } else { "the latest time" };
        write!(
            f,
            "its time, {}, is {} ahead of {clock}, {}",
            date(self.time),
            about(ahead),
            date(self.since_ms)
        )
    }
}

impl Jump {
    /// Says which flag lets the program believe it.
    pub(crate) fn remedy(&self) -> &'static str {
        if self.is_system { "believe it with --max-jump SPAN" } else { "believe it with a longer --max-jump" }
    }
}

/// A time that came too late.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(super) time: u64,
    pub(super) latest_ms: u64,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind = Duration::from_millis(self.latest_ms.saturating_sub(self.time));
        let [time, latest] = [self.time, self.latest_ms].map(date);
        write!(f, "its time, {time}, is {} behind the latest one, {latest}", about(behind))
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Troubles {
    /// Records with an earlier time than one before them, late ones included.
    pub(crate) behind: u64,
    pub(crate) most_behind_ms: u64,
    /// The first late record with its number.
    pub(crate) first_late: Option<(u64, Late)>,
    /// Records whose time was not believed, and the first of them with its number.
    pub(crate) refused: u64,
    pub(crate) first_refused: Option<(u64, Jump)>,
    /// The latest time that was believed.
    pub(crate) latest_ms: Option<u64>,
    /// Records without a key or a time, by reason.
    unread: [u64; 3],
    /// The number of the first record that lacks a value.
    pub(crate) first_lacking: Option<u64>,
    /// The number of the first record that was too long.
    pub(crate) first_oversize: Option<u64>,
    /// What the reading thread has found, to be told as it is.
    pub(crate) notices: Vec<String>,
    /// About the first of them whose time was not read.
    examples: Vec<(Missing, String)>,
}

impl Troubles {
    /// Notes a time that was believed, and how much earlier than the latest one it is.
    #[inline]
    pub(super) fn note_time(&mut self, time: u64, behind_ms: u64) {
        self.latest_ms = self.latest_ms.max(Some(time));
        if behind_ms > 0 {
            self.behind += 1;
            self.most_behind_ms = self.most_behind_ms.max(behind_ms);
        }
    }

    pub(super) fn note_late(&mut self, record: u64, late: Late) {
        self.first_late.get_or_insert((record, late));
    }

    pub(super) fn note_oversize(&mut self, record: u64) {
        self.first_oversize.get_or_insert(record);
    }

    pub(super) fn note_jump(&mut self, record: u64, jump: Jump) {
        self.refused += 1;
        self.first_refused.get_or_insert((record, jump));
    }

    pub(super) fn note_unread(&mut self, record: u64, reason: Missing) {
        self.unread[slot_of(reason)] += 1;
        if reason == Missing::Value {
            self.first_lacking.get_or_insert(record);
        }
    }

    pub(super) fn add_examples(&mut self, examples: &[(Missing, String)]) {
        self.examples.extend_from_slice(examples);
    }

    /// Returns how many records have no key for this reason, and a sentence about the first whose time was not
    /// read.
    pub(crate) fn unread(&self, reason: Missing) -> Option<(u64, &str)> {
        let count = Some(self.unread[slot_of(reason)]).filter(|count| *count > 0)?;
        let example = self.examples.iter().find(|(of, _)| *of == reason);
        Some((count, example.map_or("", |(_, text)| text)))
    }
}

fn slot_of(reason: Missing) -> usize {
    match reason {
        Missing::Value => 0,
        Missing::UnreadableTime => 1,
        Missing::OtherSpelling => 2,
    }
}

//! Decides on the records of a batch, in order: queries the filter for their keys.

use std::time::{SystemTime, UNIX_EPOCH};

use lately::Filter;

use super::refresh::Refresh;
use super::verdict::{Counts, Verdict};
use crate::keys::OnMissing;
use crate::reading::{Batch, UnkeyedKind};

/// The source of a time window's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The time of arrival.
    Arrival,
    /// The times in the records.
    Events,
    /// No time: the window is a count, or nothing is changed.
    None,
}

/// The number of answers taken from the filter at a time.
const ANSWERS: usize = 1024;

pub(crate) struct Sieve {
    pub(crate) filter: Filter,
    refresh: Refresh,
    clock: Clock,
    on_missing: OnMissing,
    pub(crate) counts: Counts,
    /// Copies of the filter's latest time and of its next shift, which decide when it must be advanced.
    latest_ms: Option<u64>,
    next_shift_ms: Option<u64>,
}

impl Sieve {
    pub(crate) fn new(filter: Filter, refresh: Refresh, clock: Clock, on_missing: OnMissing) -> Self {
        let (latest_ms, next_shift_ms) = (filter.latest_ms(), filter.next_shift_ms());
        Self { filter, refresh, clock, on_missing, counts: Counts::default(), latest_ms, next_shift_ms }
    }

    /// Decides on every record of the batch, and passes its number and the verdict to `note`. A header that
    /// repeats the first file's gets no verdict, nor does a record that `--missing drop` leaves out.
    pub(crate) fn decide(&mut self, batch: &Batch, mut note: impl FnMut(usize, Verdict)) {
        if self.clock == Clock::Arrival {
            self.filter.advance_to(now_ms());
        }
        let (mut record, mut key) = (0, 0);
        for unkeyed in &batch.unkeyed {
            let keyed = unkeyed.record - record;
            self.decide_keyed(batch, record, key..key + keyed, &mut note);
            self.decide_unkeyed(unkeyed.record, unkeyed.kind, &mut note);
            (record, key) = (unkeyed.record + 1, key + keyed);
        }
        self.decide_keyed(batch, record, key..batch.hashes.len(), &mut note);
        self.counts.bytes += batch.bytes().len() as u64;
    }

    /// Decides on the records from `record` on, whose keys are `keys`.
    fn decide_keyed(
        &mut self,
        batch: &Batch,
        mut record: usize,
        keys: std::ops::Range<usize>,
        note: &mut impl FnMut(usize, Verdict),
    ) {
        let mut answers = [false; ANSWERS];
        for start in keys.clone().step_by(ANSWERS) {
            let keys = start..keys.end.min(start + ANSWERS);
            let seen = &mut answers[..keys.len()];
            match self.clock {
                Clock::Events => self.ask_over_time(&batch.hashes[keys.clone()], &batch.times[keys], seen),
                Clock::Arrival | Clock::None => self.ask(&batch.hashes[keys], seen),
            }
            let duplicates = seen.iter().filter(|seen| **seen).count() as u64;
            self.counts.records += seen.len() as u64;
            self.counts.duplicates += duplicates;
            self.counts.unique += seen.len() as u64 - duplicates;
            for seen in &*seen {
                note(record, if *seen { Verdict::Seen } else { Verdict::New });
                record += 1;
            }
        }
    }

    fn decide_unkeyed(&mut self, record: usize, kind: UnkeyedKind, note: &mut impl FnMut(usize, Verdict)) {
        match kind {
            UnkeyedKind::Header => note(record, Verdict::Header),
            UnkeyedKind::RepeatedHeader => {}
            UnkeyedKind::Missing => {
                self.counts.records += 1;
                self.counts.missing += 1;
                if self.on_missing == OnMissing::Pass {
                    note(record, Verdict::Missing);
                }
            }
        }
    }

    fn ask(&mut self, hashes: &[u64], seen: &mut [bool]) {
        match self.refresh {
            Refresh::Every => self.filter.check_and_insert_hash_batch(hashes, seen),
            Refresh::First => self.filter.check_or_insert_hash_batch(hashes, seen),
            Refresh::Never => self.filter.contains_hash_batch(hashes, seen),
        }
    }

    /// Gives the same answers as advancing the time before each record. Between two shifts the time changes
    /// no answer, so the records between them are queried together.
    fn ask_over_time(&mut self, hashes: &[u64], times: &[u64], seen: &mut [bool]) {
        let mut asked = 0;
        for (record, &time) in times.iter().enumerate() {
            if self.latest_ms == Some(time) {
                continue;
            }
            let shifts = self.next_shift_ms.is_none_or(|next| time >= next);
            if shifts {
                self.ask(&hashes[asked..record], &mut seen[asked..record]);
                asked = record;
            }
            // Also for a time before the latest: the filter counts these.
            self.filter.advance_to(time);
            self.latest_ms = self.latest_ms.max(Some(time));
            if shifts {
                self.next_shift_ms = self.filter.next_shift_ms();
            }
        }
        self.ask(&hashes[asked..], &mut seen[asked..]);
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

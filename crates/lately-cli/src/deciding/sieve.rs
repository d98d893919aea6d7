//! Decides on the records of a batch, in order: queries the filter for their keys.

use std::ops::Range;

use lately::Filter;

use super::clock::{Clock, EventClock, Place};
use super::on_late::OnLate;
use super::refresh::Refresh;
use super::troubles::Troubles;
use super::verdict::{Counts, Decided, Verdict};
use crate::dates::now_ms;
use crate::failure::Failure;
use crate::keys::OnMissing;
use crate::reading::{Batch, OnOversize, UnkeyedKind};

/// The number of answers taken from the filter at a time.
const ANSWERS: usize = 1024;

pub(crate) struct Sieve {
    pub(crate) filter: Filter,
    refresh: Refresh,
    time: Time,
    on_missing: OnMissing,
    on_oversize: OnOversize,
    pub(crate) counts: Counts,
    pub(crate) troubles: Troubles,
    /// Headers so far, also repeated ones. They are not counted as records, but they are in the input.
    headers: u64,
}

/// Where the filter's time comes from.
enum Time {
    Arrival,
    Events(EventClock),
    None,
}

impl Sieve {
    pub(crate) fn new(
        filter: Filter,
        refresh: Refresh,
        clock: Clock,
        on_missing: OnMissing,
        on_oversize: OnOversize,
    ) -> Self {
        let time = match clock {
            Clock::Arrival => Time::Arrival,
            Clock::Events(rules) => Time::Events(EventClock::new(&filter, rules)),
            Clock::None => Time::None,
        };
        let (counts, troubles) = (Counts::default(), Troubles::default());
        Self { filter, refresh, time, on_missing, on_oversize, counts, troubles, headers: 0 }
    }

    /// Returns the time of the window, or of the system's clock if it has none.
    pub(crate) fn now_ms(&self) -> u64 {
        match self.time {
            Time::Events(_) => self.filter.latest_ms().unwrap_or(0),
            Time::Arrival | Time::None => now_ms(),
        }
    }

    /// Decides on every record of the batch, and passes its number, its key and the verdict to `note`. A header that
    /// repeats the first file's gets no verdict, nor does a record that `--missing drop` or `--late drop`
    /// leaves out. If a record ends the run, no record from there on gets a verdict.
    pub(crate) fn decide(&mut self, batch: &Batch, mut note: impl FnMut(Decided)) -> Result<(), Failure> {
        match &mut self.time {
            Time::Arrival => self.filter.advance_to(now_ms()),
            Time::Events(clock) => clock.read_system_clock(),
            Time::None => {}
        }
        self.troubles.add_examples(&batch.examples);
        self.troubles.notices.extend_from_slice(&batch.notices);
        let (mut record, mut key) = (0, 0);
        for unkeyed in &batch.unkeyed {
            let keyed = unkeyed.record - record;
            self.decide_keyed(batch, record, key..key + keyed, &mut note)?;
            self.decide_unkeyed(unkeyed.record, unkeyed.kind, &mut note);
            (record, key) = (unkeyed.record + 1, key + keyed);
        }
        self.decide_keyed(batch, record, key..batch.hashes.len(), &mut note)?;
        self.counts.bytes += batch.bytes().len() as u64;
        Ok(())
    }

    /// Decides on the records from `record` on, whose keys are `keys`.
    fn decide_keyed(
        &mut self,
        batch: &Batch,
        record: usize,
        keys: Range<usize>,
        note: &mut impl FnMut(Decided),
    ) -> Result<(), Failure> {
        if matches!(self.time, Time::Events(_)) {
            return self.decide_over_time(batch, record, keys, note);
        }
        self.look_up(batch, keys, record, note);
        Ok(())
    }

    /// Gives the same answers as advancing the time before each record. Between two shifts the time changes
    /// no answer, so the records between them are looked up together.
    fn decide_over_time(
        &mut self,
        batch: &Batch,
        first: usize,
        keys: Range<usize>,
        note: &mut impl FnMut(Decided),
    ) -> Result<(), Failure> {
        let record_of = |key: usize| first + key - keys.start;
        // The first key that was not looked up yet.
        let mut next = keys.start;
        for key in keys.clone() {
            let time = batch.times[key];
            let Time::Events(clock) = &mut self.time else { break };
            if clock.is_latest(time) {
                self.troubles.note_time(time, 0);
                continue;
            }
            let place = clock.place(time);
            if let Place::Current = place {
                self.troubles.note_time(time, clock.behind_ms(time));
                clock.advance(&mut self.filter, time);
                continue;
            }
            self.look_up(batch, next..key, record_of(next), note);
            let is_aside = self.enter(place, time, record_of(key), note)?;
            next = if is_aside { key + 1 } else { key };
        }
        self.look_up(batch, next..keys.end, record_of(next), note);
        Ok(())
    }

    /// Advances the clock to a time at which the filter shifts. Decides on the record, and returns true, if it
    /// is not to be looked up.
    fn enter(
        &mut self,
        place: Place,
        time: u64,
        record: usize,
        note: &mut impl FnMut(Decided),
    ) -> Result<bool, Failure> {
        let number = self.counts.records + self.headers + 1;
        let Time::Events(clock) = &mut self.time else { return Ok(false) };
        if let Place::Jump(jump) = place {
            if self.on_missing == OnMissing::Fail {
                return Err(Failure::other(format!(
                    "record {number} of the run: {jump}; use --missing pass or --missing drop to continue with the next \
                     record, or {}",
                    jump.remedy()
                )));
            }
            self.troubles.note_jump(number, jump);
            self.decide_missing(record, note);
            return Ok(true);
        }
        let late = matches!(place, Place::Late).then(|| clock.lag(time));
        if let Some(late) = late.filter(|_| clock.on_late == OnLate::Fail) {
            return Err(Failure::other(format!(
                "record {number} of the run: {late}, more than --within; sort the records by time, or use --late pass or \
                 --late drop to continue with the next record"
            )));
        }
        self.troubles.note_time(time, clock.behind_ms(time));
        clock.advance(&mut self.filter, time);
        let Some(late) = late else { return Ok(false) };
        self.troubles.note_late(number, late);
        self.counts.records += 1;
        self.counts.late += 1;
        if clock.on_late == OnLate::Pass {
            note(Decided::without_key(record, Verdict::Late));
        }
        Ok(true)
    }

    /// Looks up these keys, of the records from `record` on.
    fn look_up(
        &mut self,
        batch: &Batch,
        keys: Range<usize>,
        mut record: usize,
        note: &mut impl FnMut(Decided),
    ) {
        let mut answers = [false; ANSWERS];
        let mut key = keys.start;
        for hashes in batch.hashes[keys].chunks(ANSWERS) {
            let seen = &mut answers[..hashes.len()];
            match self.refresh {
                Refresh::Every => self.filter.check_and_insert_hash_batch(hashes, seen),
                Refresh::First => self.filter.check_or_insert_hash_batch(hashes, seen),
                Refresh::Never => self.filter.contains_hash_batch(hashes, seen),
            }
            let duplicates = seen.iter().filter(|seen| **seen).count() as u64;
            self.counts.records += seen.len() as u64;
            self.counts.duplicates += duplicates;
            self.counts.unique += seen.len() as u64 - duplicates;
            for seen in &*seen {
                let verdict = if *seen { Verdict::Seen } else { Verdict::New };
                note(Decided { record, verdict, key });
                record += 1;
                key += 1;
            }
        }
    }

    fn decide_unkeyed(&mut self, record: usize, kind: UnkeyedKind, note: &mut impl FnMut(Decided)) {
        match kind {
            UnkeyedKind::Header => {
                self.headers += 1;
                note(Decided::without_key(record, Verdict::Header));
            }
            UnkeyedKind::RepeatedHeader => self.headers += 1,
            UnkeyedKind::Oversize => {
                self.counts.records += 1;
                self.counts.oversize += 1;
                self.troubles.note_oversize(self.counts.records + self.headers);
                if self.on_oversize == OnOversize::Pass {
                    note(Decided::without_key(record, Verdict::Oversize));
                }
            }
            UnkeyedKind::OversizeRest if self.on_oversize == OnOversize::Pass => {
                note(Decided::without_key(record, Verdict::Rest));
            }
            UnkeyedKind::OversizeRest => {}
            UnkeyedKind::Missing(reason) => {
                self.troubles.note_unread(self.counts.records + self.headers + 1, reason);
                self.decide_missing(record, note);
            }
        }
    }

    fn decide_missing(&mut self, record: usize, note: &mut impl FnMut(Decided)) {
        self.counts.records += 1;
        self.counts.missing += 1;
        if self.on_missing == OnMissing::Pass {
            note(Decided::without_key(record, Verdict::Missing));
        }
    }
}

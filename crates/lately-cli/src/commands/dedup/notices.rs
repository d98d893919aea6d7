//! What is told on standard error about the times of a run: each kind of trouble once, with its count.

use std::path::Path;
use std::time::Duration;

use lately::{Filter, Window};

use crate::commands::flags::RecordFlags;
use crate::commands::human::human_bytes;
use crate::dates::{DAY_MS, about, date, exactly, now_ms};
use crate::deciding::{Clock, Counts, EventRules, OnLate, Sieve, Troubles};
use crate::keys::{Missing, OnMissing};
use crate::reading::OnOversize;

/// Clocks of different machines may differ by this much.
const CLOCKS_DIFFER_MS: u64 = 1_000;

/// A state's clock before the run.
pub(super) struct StateClock<'a> {
    path: &'a Path,
    latest_ms: u64,
    /// True if it was told that the clock is ahead of the system's.
    is_told: bool,
}

impl<'a> StateClock<'a> {
    /// Returns `None` if the state has no clock, or did not exist.
    pub(super) fn of(path: &'a Path, filter: &Filter) -> Option<Self> {
        let latest_ms = filter.latest_ms()?;
        Some(Self { path, latest_ms, is_told: false })
    }

    /// Says that the clock is ahead of the system's. Times in records may be a day ahead of it.
    pub(super) fn ahead_of_system(&mut self, clock: &Clock) -> Option<String> {
        let (tolerance_ms, effect) = match clock {
            Clock::Arrival => (CLOCKS_DIFFER_MS, "it stands still until then, so nothing is forgotten"),
            Clock::Events(_) => {
                (DAY_MS, "records of today are late, so they are neither checked nor remembered")
            }
            Clock::None => return None,
        };
        let now_ms = now_ms();
        self.is_told = self.latest_ms > now_ms.saturating_add(tolerance_ms);
        self.is_told.then(|| {
            format!(
                "lately: {}: its clock, {}, is ahead of the system's clock, {}: {effect}; to start again with an empty \
                 filter, name another --state file",
                self.path.display(),
                date(self.latest_ms),
                date(now_ms),
            )
        })
    }

    /// Says that the clock was ahead of every time in the input.
    fn ahead_of_input(&self, troubles: &Troubles, tolerance_ms: u64) -> Option<String> {
        let input_ms = troubles.latest_ms.filter(|_| !self.is_told)?;
        (self.latest_ms.saturating_sub(input_ms) > tolerance_ms).then(|| {
            format!(
                "lately: {}: its clock, {}, is ahead of the latest time in the input, {}",
                self.path.display(),
                date(self.latest_ms),
                date(input_ms),
            )
        })
    }
}

/// The bytes of a filter from which its rate is estimated.
const SAMPLE: u64 = 1 << 20;

/// Returns the share of new records that would be left out now, if that is clearly more than promised.
fn share_left_out(filter: &Filter) -> Option<f64> {
    let now = filter.as_of(filter.latest_ms()?);
    let estimated = now.estimate(SAMPLE).estimated_false_positive_rate;
    (estimated > 2.0 * filter.plan().false_positive_rate).then_some(estimated)
}

/// Says how many generations were overloaded, and what that does to new records; `None` if there is no overload.
pub(super) fn overload(filter: &Filter, overloaded_before: u64) -> Option<String> {
    let generations = filter.counters().overloaded_generations - overloaded_before;
    let left_out = share_left_out(filter);
    let (cause, remedy) = match filter.window() {
        Window::Elastic { .. } => {
            let most = filter.plan().memory_bytes;
            (
                format!("--max-memory {most} ({})", human_bytes(most)),
                "use a higher --max-memory, also with this state: it helps when these records have left the window",
            )
        }
        window => (
            format!("--capacity {}", window.items()),
            "use a higher --capacity (a state that was saved with another one is refused then)",
        ),
    };
    let share =
        |share: f64| format!("about {:.3}% of new records are left out as repeats now", 100.0 * share);
    match (generations, left_out) {
        (0, None) => None,
        (0, Some(left_out)) => Some(format!(
            "lately: the window of the state is still overloaded, because more records came than {cause} has room for; {}; \
             {remedy}",
            share(left_out)
        )),
        (_, left_out) => {
            let effect = left_out.map_or("new records may have been mistaken for repeats".into(), share);
            Some(format!(
                "lately: overloaded generations: {generations}, because more records came than {cause} has room for; \
                 {effect}; {remedy}"
            ))
        }
    }
}

/// Says how many repeats are not among those of the busiest keys.
pub(super) fn untold_repeats(repeats: u64, top: u32) -> String {
    format!(
        "lately: {repeats} repeats are in no line, because their keys were not among the {top} that are repeated most; \
         raise --top to tell about more"
    )
}

/// Returns what is to be told about times at the end of a run.
pub(super) fn of_run(
    sieve: &Sieve,
    rules: Option<EventRules>,
    flags: &RecordFlags,
    state: Option<&StateClock<'_>>,
) -> Vec<String> {
    let on_missing = flags.missing;
    let Sieve { counts, troubles, filter, .. } = sieve;
    let mut notices = Vec::new();
    if let (Some(rules), Some(span)) = (rules, filter.window().span()) {
        // A filter knows no more of a time than its generation.
        let generation = span / filter.plan().shape.window_generations;
        let generation_ms = u64::try_from(generation.as_millis()).unwrap_or(u64::MAX);
        notices.extend(state.and_then(|state| state.ahead_of_input(troubles, generation_ms)));
        notices.extend(behind(counts, troubles, span, generation_ms, rules.on_late));
        notices.extend(refused(counts, troubles, on_missing));
        notices.extend(unread(counts, troubles, on_missing));
    }
    notices.extend(lacking(counts, troubles, on_missing, rules.is_some()));
    notices.extend(too_long(counts, troubles, flags));
    notices.extend_from_slice(&troubles.notices);
    notices
}

fn behind(
    counts: &Counts,
    troubles: &Troubles,
    span: Duration,
    generation_ms: u64,
    on_late: OnLate,
) -> Option<String> {
    let Troubles { behind, most_behind_ms, .. } = *troubles;
    let all = format!(
        "lately: {behind} of {} records came behind the latest time, by up to {}",
        counts.records,
        about(Duration::from_millis(most_behind_ms)),
    );
    let within = exactly(span);
    if let Some((record, first)) = troubles.first_late {
        let (done, remedy) = match on_late {
            OnLate::Pass => {
                ("passed without a check", "sort the records by time, or leave these out with --late drop")
            }
            // With `fail`, the first one ends the run.
            OnLate::Drop | OnLate::Fail => ("were left out", "sort the records by time"),
        };
        return Some(format!(
            "{all}; {} of them by more than --within {within}, too late to check, and {done}: the first is record {record} \
             of the run: {first}; {remedy}; if the latest time is wrong, use --max-jump",
            counts.late,
        ));
    }
    (most_behind_ms > generation_ms)
        .then(|| format!("{all}, and were checked as if they had that time; to check them by their own, sort the records by time"))
}

fn refused(counts: &Counts, troubles: &Troubles, on_missing: OnMissing) -> Option<String> {
    let (record, first) = troubles.first_refused?;
    Some(format!(
        "lately: {} of {} records have a time that was not believed, and {}: the first is record {record} of the run: {first}; \
         if it is right, {}",
        troubles.refused,
        counts.records,
        treated(on_missing),
        first.remedy(),
    ))
}

fn unread(counts: &Counts, troubles: &Troubles, on_missing: OnMissing) -> Vec<String> {
    let records = counts.records;
    let done = treated(on_missing);
    let mut notices = Vec::new();
    if let Some((count, example)) = troubles.unread(Missing::UnreadableTime) {
        notices.push(format!(
            "lately: {count} of {records} records have a time that cannot be read, and {done}: the first is {example}"
        ));
    }
    if let Some((count, example)) = troubles.unread(Missing::OtherSpelling) {
        notices.push(format!(
            "lately: {count} of {records} records have a time in another spelling than the first of their file, and \
             {done}: the first is {example}; to say which one is right, use --time-unit or --time-format"
        ));
    }
    notices
}

/// Says how many records lack a value.
fn lacking(counts: &Counts, troubles: &Troubles, on_missing: OnMissing, have_times: bool) -> Option<String> {
    let (lacking, _) = troubles.unread(Missing::Value)?;
    let or_time = if have_times { " or time" } else { "" };
    if lacking == counts.records {
        return Some(
            "lately: no record had a key (or a time); check --field, --column, --json, --key-regex and --time-field"
                .into(),
        );
    }
    let done = match on_missing {
        OnMissing::Pass => "passed without a check",
        OnMissing::Drop | OnMissing::Fail => "were left out",
    };
    Some(format!(
        "lately: {lacking} of {} records lack a value of their key{or_time}, and {done}: the first is record {} of the run",
        counts.records,
        troubles.first_lacking.unwrap_or(0),
    ))
}

/// Says how many records were too long.
fn too_long(counts: &Counts, troubles: &Troubles, flags: &RecordFlags) -> Option<String> {
    let first = troubles.first_oversize?;
    let done = match flags.oversize {
        OnOversize::Pass => "passed without a check",
        OnOversize::Drop | OnOversize::Fail => "were left out",
    };
    Some(format!(
        "lately: {} of {} records are longer than --max-record, {} bytes, and {done}: the first is record {first} of the run",
        counts.oversize, counts.records, flags.max_record
    ))
}

/// What happened to records without a time.
fn treated(on_missing: OnMissing) -> &'static str {
    match on_missing {
        OnMissing::Pass => "passed as records without a time",
        OnMissing::Drop => "were left out as records without a time",
        OnMissing::Fail => "ended the run",
    }
}

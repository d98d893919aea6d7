//! The summary of a run, as text and as JSON.

use std::time::Duration;

use lately::{Counters, Filter, Window};
use serde::Serialize;

use crate::commands::human::{Listing, human_bytes};
use crate::dates::{about, exactly};
use crate::deciding::{Counts, Sieve};

/// How much of a filter is read for an estimate: enough for three digits, little enough for a tenth of a second.
const SAMPLE_BYTES: u64 = 8 << 20;

/// Formats the output of `--count`. Only records with times can be late.
pub(super) fn counts_text(counts: &Counts, have_times: bool) -> String {
    let Counts { records, unique, duplicates, missing, late, oversize, .. } = counts;
    let late = if have_times { format!("late {late}\n") } else { String::new() };
    let oversize = if *oversize > 0 { format!("oversize {oversize}\n") } else { String::new() };
    format!(
        "records {records}\nunique {unique}\nduplicates {duplicates}\nmissing {missing}\n{late}{oversize}"
    )
}

/// For serde, which passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The output of `--stats` and `--stats-json`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    records: u64,
    unique: u64,
    duplicates: u64,
    missing: u64,
    #[serde(skip_serializing_if = "is_zero")]
    oversize: u64,
    bytes: u64,
    seconds: f64,
    records_per_second: f64,
    guaranteed_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guaranteed_span_ms: Option<u64>,
    predicted_false_positive_rate: f64,
    estimated_false_positive_rate: f64,
    memory_bytes: u64,
    #[serde(flatten)]
    elastic: Option<Elastic>,
    #[serde(flatten)]
    time: Option<TimeTroubles>,
}

/// How the memory of a filter without a capacity followed the traffic.
#[derive(Clone, Copy, Debug, Serialize)]
struct Elastic {
    /// The most memory that it can grow to, and that it had since the state was created.
    max_memory_bytes: u64,
    peak_memory_bytes: u64,
    /// How often its memory grew and shrank since then.
    growths: u64,
    shrinks: u64,
}

impl Elastic {
    /// `None` if the memory is fixed.
    fn of(filter: &Filter) -> Option<Self> {
        let plan = filter.plan();
        let Counters { peak_memory_bytes, growths, shrinks, .. } = filter.counters();
        let max_memory_bytes = plan.memory_bytes;
        matches!(plan.window, Window::Elastic { .. }).then_some(Self {
            max_memory_bytes,
            peak_memory_bytes,
            growths,
            shrinks,
        })
    }
}

/// Events that a time window's promise does not cover.
#[derive(Clone, Copy, Debug, Serialize)]
struct TimeTroubles {
    /// Generations with more records than their share of the capacity; in bins, with more than all generations
    /// have room for together.
    overloaded_generations: u64,
    /// Times that were earlier than the latest time.
    backward_steps: u64,
    /// Records of this run that were behind the latest time by more than the span.
    late: u64,
    /// By how much a record of this run was behind the latest time, at most.
    most_behind_ms: u64,
    /// Times of this run that were not believed.
    refused_times: u64,
}

impl TimeTroubles {
    /// The first two count since the filter was built. `None` for a count window.
    fn of(sieve: &Sieve) -> Option<Self> {
        let Sieve { filter, counts, troubles, .. } = sieve;
        let Counters { overloaded_generations, backward_steps, .. } = filter.counters();
        filter.guaranteed_span().map(|_| Self {
            overloaded_generations,
            backward_steps,
            late: counts.late,
            most_behind_ms: troubles.most_behind_ms,
            refused_times: troubles.refused,
        })
    }
}

impl Summary {
    /// Reads a sample of a large filter's memory.
    pub(super) fn new(sieve: &Sieve, elapsed: Duration) -> Self {
        let filter = &sieve.filter;
        let Counts { records, unique, duplicates, missing, oversize, bytes, .. } = sieve.counts;
        let (plan, now_ms) = (filter.plan(), filter.latest_ms().unwrap_or(0));
        let statistics = filter.as_of(now_ms).estimate(SAMPLE_BYTES);
        let seconds = elapsed.as_secs_f64();
        Self {
            records,
            unique,
            duplicates,
            missing,
            oversize,
            bytes,
            seconds,
            records_per_second: if seconds > 0.0 { records as f64 / seconds } else { 0.0 },
            guaranteed_window: filter.guaranteed_window(),
            guaranteed_span_ms: filter.guaranteed_span().map(|span| span.as_millis() as u64),
            predicted_false_positive_rate: plan.false_positive_rate,
            estimated_false_positive_rate: statistics.estimated_false_positive_rate,
            memory_bytes: filter.memory_bytes(),
            elastic: Elastic::of(filter),
            time: TimeTroubles::of(sieve),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut listing = Listing::new(19);
        listing.line("records", self.records);
        listing.line("unique", self.unique);
        listing.line("duplicates", self.duplicates);
        listing.line("missing", self.missing);
        if self.oversize > 0 {
            listing.line("oversize", self.oversize);
        }
        listing.line("bytes", format!("{} ({})", self.bytes, human_bytes(self.bytes)));
        listing.line("seconds", format!("{:.3}", self.seconds));
        listing.line("records/s", format!("{:.0}", self.records_per_second));
        let span =
            self.guaranteed_span_ms.map(|ms| format!(", the last {}", exactly(Duration::from_millis(ms))));
        listing.line(
            "guaranteed window",
            format!("{} records{}", self.guaranteed_window, span.unwrap_or_default()),
        );
        listing.line(
            "false positive rate",
            format!("{:.3e} predicted at worst", self.predicted_false_positive_rate),
        );
        listing.line("", format!("{:.3e} estimated now", self.estimated_false_positive_rate));
        listing.line("memory", format!("{} bytes ({})", self.memory_bytes, human_bytes(self.memory_bytes)));
        if let Some(elastic) = self.elastic {
            let Elastic { max_memory_bytes: most, peak_memory_bytes: peak, growths, shrinks } = elastic;
            listing.line("", format!("{peak} bytes ({}) at its peak", human_bytes(peak)));
            listing.line("", format!("grows to at most {most} ({})", human_bytes(most)));
            listing.line("", format!("grew {growths} times, shrank {shrinks} times"));
        }
        if let Some(time) = self.time {
            listing.line("overloaded", format!("{} generations", time.overloaded_generations));
            listing.line("backward steps", time.backward_steps);
            listing.line("late", format!("{} records", time.late));
            listing.line("most behind", about(Duration::from_millis(time.most_behind_ms)));
            listing.line("not believed", format!("{} times", time.refused_times));
        }
        listing.into_text()
    }
}

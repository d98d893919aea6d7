//! The summary of a run, as text and as JSON.

use std::time::Duration;

use lately::{Filter, Statistics};
use serde::Serialize;

use crate::commands::human::{Listing, human_bytes, human_span};
use crate::deciding::Counts;

/// Formats the output of `--count`.
pub(super) fn counts_text(counts: &Counts) -> String {
    let Counts { records, unique, duplicates, missing, .. } = counts;
    format!("records {records}\nunique {unique}\nduplicates {duplicates}\nmissing {missing}\n")
}

/// The output of `--stats` and `--stats-json`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    records: u64,
    unique: u64,
    duplicates: u64,
    missing: u64,
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
    time: Option<TimeTroubles>,
}

/// Events that a time window's promise does not cover.
#[derive(Clone, Copy, Debug, Serialize)]
struct TimeTroubles {
    /// Generations with more records than their share of the capacity; in bins, with more than all generations
    /// have room for together.
    overloaded_generations: u64,
    /// Times that were earlier than the latest time.
    backward_steps: u64,
}

impl TimeTroubles {
    /// Returns the counts since the filter was built; `None` for a count window.
    fn of(filter: &Filter, statistics: &Statistics) -> Option<Self> {
        let Statistics { overloaded_generations, backward_steps, .. } = *statistics;
        filter.guaranteed_span().map(|_| Self { overloaded_generations, backward_steps })
    }
}

impl Summary {
    /// Reads the filter's whole memory.
    pub(super) fn new(counts: Counts, elapsed: Duration, filter: &Filter) -> Self {
        let Counts { records, unique, duplicates, missing, bytes } = counts;
        let (plan, statistics) = (filter.plan(), filter.statistics());
        let seconds = elapsed.as_secs_f64();
        Self {
            records,
            unique,
            duplicates,
            missing,
            bytes,
            seconds,
            records_per_second: if seconds > 0.0 { records as f64 / seconds } else { 0.0 },
            guaranteed_window: filter.guaranteed_window(),
            guaranteed_span_ms: filter.guaranteed_span().map(|span| span.as_millis() as u64),
            predicted_false_positive_rate: plan.false_positive_rate,
            estimated_false_positive_rate: statistics.estimated_false_positive_rate,
            memory_bytes: plan.memory_bytes,
            time: TimeTroubles::of(filter, &statistics),
        }
    }

    /// Returns a warning to print even without `--stats`. `before` is the number of overloaded generations
    /// before this run.
    pub(super) fn warning(&self, capacity: u64, before: u64) -> Option<String> {
        let overloaded = self.time?.overloaded_generations.saturating_sub(before);
        (overloaded > 0).then(|| {
            format!(
                "lately: overloaded generations: {overloaded}, because more records came than --capacity {capacity} has room for; \
                 more new records than promised may have been mistaken for repeats; use a higher --capacity"
            )
        })
    }

    pub(super) fn text(&self) -> String {
        let mut listing = Listing::new(19);
        listing.line("records", self.records);
        listing.line("unique", self.unique);
        listing.line("duplicates", self.duplicates);
        listing.line("missing", self.missing);
        listing.line("bytes", format!("{} ({})", self.bytes, human_bytes(self.bytes)));
        listing.line("seconds", format!("{:.3}", self.seconds));
        listing.line("records/s", format!("{:.0}", self.records_per_second));
        let span =
            self.guaranteed_span_ms.map(|ms| format!(", the last {}", human_span(Duration::from_millis(ms))));
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
        if let Some(time) = self.time {
            listing.line("overloaded", format!("{} generations", time.overloaded_generations));
            listing.line("backward steps", time.backward_steps);
        }
        listing.into_text()
    }
}

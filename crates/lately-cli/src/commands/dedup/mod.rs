//! `lately dedup`: passes a stream through without the records seen lately.

mod stored;
mod summary;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use lately::{Filter, PendingSave, Promise};

use super::flags::{PromiseFlags, RecordFlags, units};
use super::stream;
use crate::deciding::{Clock, Refresh, Sieve};
use crate::failure::Failure;
use crate::keys::TimeUnit;
use crate::reading::{InputEnd, Inputs};
use crate::system::standard_streams::tell;
use crate::writing::{Emit, Output, StateFile, print};
use summary::{Summary, counts_text};

const EXAMPLES: &str = "\
Examples:
  Drop log lines that repeat one of the last million lines:
    lately dedup --window 1M access.log > once.log
  At most one alert per host and check in ten minutes, across restarts:
    tail -F alerts.tsv | lately dedup --within 10m --capacity 1M --field 2,3 --delimiter '\\t' \\
      --refresh first --state alerts.lately
  Drop webhook redeliveries, by the event's own time:
    lately dedup --json event.id --within 24h --capacity 5M --time-field event.created hooks.jsonl
  CSV, by two columns: the repeats, with a summary:
    lately dedup --csv --column user,ts --window 1e6 --emit duplicates --stats clicks.csv
  NUL-separated file names:
    find . -print0 | lately dedup -0 --window 1M";

/// Pass records through, without those seen lately
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dedup {
    /// Files to read, in order; - is standard input, which is also the default
    files: Vec<PathBuf>,
    #[command(flatten)]
    promise: PromiseFlags,
    #[command(flatten)]
    time: TimeFlags,
    /// Which sightings renew a record's place in the window
    #[arg(long, value_name = "WHEN", default_value = "every", help_heading = "Window")]
    refresh: Refresh,
    #[command(flatten)]
    records: RecordFlags,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    state: StateFlags,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Window")]
struct TimeFlags {
    /// Take the time from the record, not from the clock: a field number, or with --csv a column, with --json
    /// a path
    #[arg(long, value_name = "FIELD", requires = "within", conflicts_with = "window")]
    time_field: Option<String>,
    /// The format of that time
    #[arg(long, value_name = "UNIT", default_value = "auto", requires = "time_field")]
    time_unit: TimeUnit,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct OutputFlags {
    /// Which records to write
    #[arg(long, value_name = "WHAT", default_value = "unique")]
    emit: Emit,
    /// Print only the counts of records
    #[arg(long, conflicts_with = "emit")]
    count: bool,
    /// Print a summary to standard error
    #[arg(long)]
    stats: bool,
    /// Write a summary as JSON to FILE
    #[arg(long, value_name = "FILE")]
    stats_json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "State")]
struct StateFlags {
    /// Continue from FILE if it exists; save to it at the end, on SIGINT and SIGTERM, and at checkpoints
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The time between checkpoints; 0 for none
    #[arg(long, value_name = "SPAN", default_value = "30s", allow_negative_numbers = true, value_parser = units::span, requires = "state")]
    checkpoint: Duration,
}

impl Dedup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if let (Some(state), Some(summary)) = (&self.state.state, &self.output.stats_json)
            && PendingSave::target_of(state) == PendingSave::target_of(summary)
        {
            return Err(Failure::Usage(format!(
                "--state and --stats-json are the same file, {}; use two different files",
                state.display()
            )));
        }
        let inputs = Inputs::new(&self.files)?;
        let promise = Promise::from(&self.promise);
        let mut state = self.open_state()?;
        let filter = load_or_build(promise, state.as_ref())?;
        let overloaded_before =
            if promise.span.is_some() { filter.counters().overloaded_generations } else { 0 };
        let time_field = self.time.time_field.as_deref().map(|field| (field, self.time.time_unit));
        let clock = match (&time_field, promise.span) {
            (Some(_), _) => Clock::Events,
            (None, Some(_)) => Clock::Arrival,
            (None, None) => Clock::None,
        };
        let emit = if self.output.count { Emit::Nothing } else { self.output.emit };
        let mut output = Output::open(emit, self.records.tag_delimiter())?;
        inputs.check_output(output.file())?;
        let started = Instant::now();
        let finder = self.records.finder(time_field, filter.hash_function())?;
        let mut sieve = Sieve::new(filter, self.refresh, clock, self.records.missing);
        // After a failure the filter contains records that were not written: it must not be saved.
        let end = stream::run(inputs, finder, &mut sieve, &mut output, state.as_mut())?;

        let counted = if self.output.count { print(&counts_text(&sieve.counts)) } else { Ok(()) };
        let saved = match &mut state {
            // It must not be saved either if the counts could not be printed.
            Some(state) if counted.is_ok() => state.save(&sieve.filter, output.durable()),
            _ => Ok(()),
        };
        let summarised = self.summarise(&promise, &sieve, started.elapsed(), overloaded_before);
        let (failed, stopped) = match end {
            InputEnd::Complete => (Ok(()), Ok(())),
            InputEnd::Failed(failure) => (Err(failure), Ok(())),
            InputEnd::Stopped(signal) => (Ok(()), Err(Failure::Stopped(signal))),
        };
        first_of([failed, counted, saved, stopped, summarised])
    }

    fn open_state(&self) -> Result<Option<StateFile>, Failure> {
        let interval = Some(self.state.checkpoint).filter(|interval| !interval.is_zero());
        self.state.state.as_ref().map(|path| StateFile::open(path, interval)).transpose()
    }

    fn summarise(
        &self,
        promise: &Promise,
        sieve: &Sieve,
        elapsed: Duration,
        overloaded_before: u64,
    ) -> Result<(), Failure> {
        let is_asked_for = self.output.stats || self.output.stats_json.is_some();
        // A summary reads the whole filter. It is made only if requested, or if a time window may need a
        // warning.
        let summary = (is_asked_for || promise.span.is_some())
            .then(|| Summary::new(sieve.counts, elapsed, &sieve.filter));
        let capacity = promise.capacity.unwrap_or(0);
        if let Some(warning) =
            summary.as_ref().and_then(|summary| summary.warning(capacity, overloaded_before))
        {
            tell(&warning);
        }
        if sieve.counts.records > 0 && sieve.counts.missing == sieve.counts.records {
            tell("lately: no record had a key (or a time); check --field, --column, --json and --time-field");
        }
        if let Some(summary) = summary.as_ref().filter(|_| self.output.stats) {
            tell(summary.text().trim_end());
        }
        if let Some((path, summary)) = self.output.stats_json.as_ref().zip(summary.as_ref()) {
            let json = serde_json::to_string_pretty(summary)
                .map_err(|error| Failure::other(format!("{}: {error}", path.display())))?;
            fs::write(path, json + "\n").map_err(|error| Failure::file(path, &error))?;
        }
        Ok(())
    }
}

/// Loads the stored filter, which must keep the promise, or builds a new one if none is stored.
fn load_or_build(promise: Promise, state: Option<&StateFile>) -> Result<Filter, Failure> {
    if let Some(state) = state
        && let Some(stored) = state.load()?
    {
        stored::check(&promise, &stored.plan(), state.path())?;
        return Ok(stored);
    }
    Ok(Filter::builder().promise(promise).build()?)
}

/// Returns the first failure, which decides the exit code, and reports the others.
fn first_of<const N: usize>(results: [Result<(), Failure>; N]) -> Result<(), Failure> {
    let mut failures = results.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else { return Ok(()) };
    for later in failures {
        later.report();
    }
    Err(first)
}

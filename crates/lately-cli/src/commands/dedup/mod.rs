//! `lately dedup`: passes a stream through without the records seen lately.

mod notices;
mod stored;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use lately::{Filter, Promise};

use super::files::Files;
use super::flags::{PromiseFlags, RecordFlags, TimeFlags, units};
use super::stream;
use crate::deciding::{Clock, Refresh, Sieve};
use crate::failure::Failure;
use crate::reading::{InputEnd, Inputs};
use crate::system::standard_streams::tell;
use crate::writing::{Emit, Output, StateFile, print};
use notices::StateClock;
use summary::{Summary, counts_text};

const EXAMPLES: &str = "\
Examples:
  Drop log lines that repeat one of the last million lines:
    lately dedup --window 1M access.log > once.log
  At most one alert per host and check in ten minutes, across restarts:
    tail -F alerts.tsv | lately dedup --within 10m --field 2,3 --delimiter '\\t' \\
      --refresh first --state alerts.lately
  Drop webhook redeliveries, by the event's own time:
    lately dedup --json event.id --within 24h --time-field event.created hooks.jsonl
  At most one line per client and hour of a web server's log, by the times in it:
    lately dedup --field 1 --within 1h --time-field 4,5 --refresh first access.log
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
    /// Write a summary as JSON to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    stats_json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "State")]
struct StateFlags {
    /// Continue from FILE if it exists; save to it at the end, on SIGINT, SIGTERM and SIGHUP, and at checkpoints
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The time between checkpoints; 0 for none
    #[arg(long, value_name = "SPAN", default_value = "30s", allow_hyphen_values = true, value_parser = units::span, requires = "state")]
    checkpoint: Duration,
}

impl Dedup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let inputs = Inputs::new(&self.files)?;
        let emit = if self.output.count { Emit::Nothing } else { self.output.emit };
        let mut output = Output::open(emit, self.records.tag_delimiter())?;
        self.check_files(&inputs, &output)?;
        let promise = Promise::from(&self.promise);
        let mut state = self.open_state()?;
        let filter = load_or_build(promise, state.as_ref())?;
        let overloaded_before = filter.counters().overloaded_generations;
        let rules = self.time.rules();
        let clock = match (rules, promise.span) {
            (Some(rules), _) => Clock::Events(rules),
            (None, Some(_)) => Clock::Arrival,
            (None, None) => Clock::None,
        };
        let mut state_clock = self.state.state.as_deref().and_then(|path| StateClock::of(path, &filter));
        if let Some(notice) = state_clock.as_mut().and_then(|state| state.ahead_of_system(&clock)) {
            tell(&notice);
        }
        let started = Instant::now();
        let finder = self.records.finder(self.time.times(), filter.hash_function())?;
        let RecordFlags { missing, oversize, .. } = self.records;
        let mut sieve = Sieve::new(filter, self.refresh, clock, missing, oversize);
        // After a failure the filter contains records that were not written: it must not be saved.
        let end = stream::run(inputs, finder, &mut sieve, &mut output, state.as_mut())?;

        let counted =
            if self.output.count { print(&counts_text(&sieve.counts, rules.is_some())) } else { Ok(()) };
        let saved = match &mut state {
            // It must not be saved either if the counts could not be printed.
            Some(state) if counted.is_ok() => state.save(&sieve.filter, output.durable()),
            _ => Ok(()),
        };
        for notice in notices::of_run(&sieve, rules, &self.records, state_clock.as_ref()) {
            tell(&notice);
        }
        if let Some(notice) = notices::overload(&sieve.filter, overloaded_before) {
            tell(&notice);
        }
        let summarised = self.summarise(&sieve, started.elapsed());
        let (failed, stopped) = match end {
            InputEnd::Complete => (Ok(()), Ok(())),
            InputEnd::Failed(failure) => (Err(failure), Ok(())),
            InputEnd::Stopped(signal) => (Ok(()), Err(Failure::Stopped(signal))),
        };
        first_of([failed, counted, saved, stopped, summarised])
    }

    fn check_files(&self, inputs: &Inputs, output: &Output) -> Result<(), Failure> {
        let mut files = Files::default();
        files.read_inputs(inputs)?;
        if let Some(path) = &self.state.state {
            files.write("--state", path)?;
        }
        if let Some(path) = self.output.stats_json.as_deref().filter(|path| !is_standard_output(path)) {
            files.write("--stats-json", path)?;
        }
        files.write_output(output.file())
    }

    fn open_state(&self) -> Result<Option<StateFile>, Failure> {
        let interval = Some(self.state.checkpoint).filter(|interval| !interval.is_zero());
        self.state.state.as_ref().map(|path| StateFile::open(path, interval)).transpose()
    }

    fn summarise(&self, sieve: &Sieve, elapsed: Duration) -> Result<(), Failure> {
        let OutputFlags { stats, stats_json, .. } = &self.output;
        if !*stats && stats_json.is_none() {
            return Ok(());
        }
        let summary = Summary::new(sieve, elapsed);
        if *stats {
            tell(summary.text().trim_end());
        }
        if let Some(path) = stats_json {
            let json = serde_json::to_string_pretty(&summary)
                .map_err(|error| Failure::other(format!("{}: {error}", path.display())))?;
            if is_standard_output(path) {
                return print(&(json + "\n"));
            }
            fs::write(path, json + "\n").map_err(|error| Failure::file(path, &error))?;
        }
        Ok(())
    }
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
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

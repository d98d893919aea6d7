//! `lately dedup`: passes a stream through without the records seen lately.

mod notices;
mod stored;

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lately::{Clock as FilterClock, Filter, HashFunction, Promise, Window};

use super::files::Files;
use super::flags::{PromiseFlags, RecordFlags, TimeFlags, units};
use super::reports::Reports;
use super::stream::{self, Outputs};
use super::summary::{Summary, counts_text};
use crate::deciding::{Clock, Refresh, Sieve};
use crate::failure::Failure;
use crate::reading::{EarlierHeader, Follow, InputEnd, Inputs, RecordFinder, header_text};
use crate::system::standard_streams::tell;
use crate::writing::{Continued, Emit, Lifetime, Output, Repeats, StateFile, print};
use notices::StateClock;

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
    /// Do not end at the end of the file, but wait for more, also after it was rotated. With --state, a later run goes
    /// on where this one has ended
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    promise: PromiseFlags,
    #[command(flatten)]
    time: TimeFlags,
    /// Which sightings renew a record's place in the window
    #[arg(long, value_name = "WHEN", default_value = "every", help_heading = "Window")]
    refresh: Refresh,
    /// Hash with a secret key, for hostile senders: without it, records can be chosen so that others are mistaken for
    /// repeats. The key is random; a state keeps it
    #[arg(long, help_heading = "Window")]
    keyed: bool,
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
    /// With --emit summary, tell about the N keys that are repeated most [default: 1000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Write to FILE instead of standard output. It is replaced; with --state, it is continued
    #[arg(long, short, value_name = "FILE", conflicts_with = "count")]
    output: Option<PathBuf>,
    /// Write the records seen lately to FILE. It is replaced; with --state, it is continued
    #[arg(long, value_name = "FILE")]
    duplicates_to: Option<PathBuf>,
    /// Exit with code 3 if any record was seen lately
    #[arg(long)]
    fail_on_duplicates: bool,
    /// Print a summary to standard error
    #[arg(long)]
    stats: bool,
    /// Print statistics to standard error every SPAN while running, as one line of JSON. SIGUSR1 does so once
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = interval)]
    stats_every: Option<Duration>,
    /// Write statistics to FILE for Prometheus, every --stats-every [default: 10s] and at the end
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Write a summary as JSON to FILE; - is standard output
    #[arg(long, value_name = "FILE")]
    stats_json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "State")]
struct StateFlags {
    /// Continue from FILE if it exists; save to it at the end, on SIGINT, SIGTERM and SIGHUP, and at checkpoints
    #[arg(long, short, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Accept a state whose keys were made with other flags
    #[arg(long, requires = "state")]
    other_keys: bool,
    /// If another process uses the state, wait for its end
    #[arg(long, requires = "state")]
    wait: bool,
    /// The time between checkpoints; 0 for none
    #[arg(long, value_name = "SPAN", default_value = "30s", allow_hyphen_values = true, value_parser = units::span, requires = "state")]
    checkpoint: Duration,
}

impl Dedup {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut inputs = if self.follow { Inputs::followed(&self.files)? } else { Inputs::new(&self.files)? };
        let emit = if self.output.count { Emit::Nothing } else { self.output.emit };
        self.output.check(emit)?;
        let mut output = Output::open(emit, self.records.tag_delimiter())?;
        self.check_files(&inputs, &output)?;
        let promise = Promise::from(&self.promise);
        let mut state = self.open_state()?;
        let mut filter = load_or_build(promise, self.keyed, state.as_mut())?;
        self.check_label_and_clock(&mut filter)?;
        let mut finder =
            self.records.finder(self.time.fields(), self.time.times(), filter.hash_function())?;
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
        self.output.probe()?;
        self.continue_streams(&mut inputs, &mut finder, &mut output, state.as_mut())?;
        if emit == Emit::Summary {
            output.summarise(self.repeats(&filter));
        }
        let mut reports = Reports::new(self.output.stats_every, self.output.metrics_file.as_deref());
        let RecordFlags { missing, oversize, .. } = self.records;
        let mut sieve = Sieve::new(filter, self.refresh, clock, missing, oversize);
        // After a failure the filter contains records that were not written: it must not be saved.
        let outputs = Outputs { records: &mut output, state: state.as_mut(), reports: &mut reports };
        let end = stream::run(inputs, finder, &mut sieve, outputs)?;

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
        if let others @ 1.. = output.untold_repeats() {
            tell(&notices::untold_repeats(others, self.output.top()));
        }
        let summarised = self.summarise(&sieve, reports.started.elapsed());
        let measured = reports.finish(&sieve, state.as_ref());
        let has_duplicates = self.output.fail_on_duplicates && sieve.counts.duplicates > 0;
        let repeated = if has_duplicates { Err(Failure::Duplicates) } else { Ok(()) };
        let (failed, stopped) = match end {
            InputEnd::Complete => (Ok(()), Ok(())),
            InputEnd::Failed(failure) => (Err(failure), Ok(())),
            InputEnd::Stopped(signal) => (Ok(()), Err(Failure::Stopped(signal))),
        };
        first_of([failed, counted, saved, stopped, summarised, measured, repeated])
    }

    /// Opens the files of output, and begins where the runs before have ended.
    fn continue_streams(
        &self,
        inputs: &mut Inputs,
        finder: &mut RecordFinder,
        output: &mut Output,
        state: Option<&mut StateFile>,
    ) -> Result<(), Failure> {
        let (records, duplicates) = (self.output.records_file(), self.output.duplicates_to.as_deref());
        let known = state.as_ref().map(|state| state.known().clone());
        let continued = known.as_ref().map(|known| Continued { known, splitter: self.records.splitter() });
        if let Some(path) = records {
            output.write_to(path, continued.as_ref())?;
        }
        if let Some(path) = duplicates {
            let file = Some(path).filter(|path| !is_standard_output(path));
            output.write_duplicates_to(file, continued.as_ref())?;
        }
        let Some((state, known)) = state.zip(known) else { return Ok(()) };
        if let Some(header) = &known.header {
            let text = header_text(header).to_vec();
            let must_agree = output.has_header();
            finder.expect_header(EarlierHeader { text, must_agree });
        }
        let followed = inputs.followed_name();
        if followed == known.followed {
            inputs.begin_at(Follow { from: known.position, header: known.header });
        } else if let (Some(file), Some(other)) = (&followed, &known.followed) {
            tell(&format!(
                "lately: {file}: the state has the position in another file, {other}; reading this one from its beginning"
            ));
        }
        state.begin(followed, inputs.beginning(), &output.durable())
    }

    fn check_files(&self, inputs: &Inputs, output: &Output) -> Result<(), Failure> {
        let mut files = Files::default();
        files.read_inputs(inputs)?;
        if let Some(path) = &self.state.state {
            files.write("--state", path)?;
            for beside in StateFile::beside(path) {
                files.write("a file that belongs to --state", &beside)?;
            }
        }
        if let Some(path) = self.output.stats_json.as_deref().filter(|path| !is_standard_output(path)) {
            files.write("--stats-json", path)?;
        }
        let OutputFlags { duplicates_to, metrics_file, .. } = &self.output;
        for (name, path) in [
            ("--output", self.output.records_file()),
            ("--duplicates-to", duplicates_to.as_deref().filter(|path| !is_standard_output(path))),
            ("--metrics-file", metrics_file.as_deref()),
        ] {
            if let Some(path) = path {
                files.write(name, path)?;
            }
        }
        files.write_output(output.main().file())
    }

    /// Fails if the keys or the times of a stored filter were made in another way. A filter that another program made
    /// does not tell.
    fn check_label_and_clock(&self, filter: &mut Filter) -> Result<(), Failure> {
        let label = self.records.label(self.time.fields());
        let (stored, clock) = (filter.label(), self.clock());
        if let Some(path) = &self.state.state {
            if stored != 0 && stored != label && !self.state.other_keys {
                return Err(stored::other_keys(path));
            }
            stored::check_clock(filter.clock(), clock, path)?;
        }
        filter.set_label(label);
        filter.set_clock(clock);
        Ok(())
    }

    /// Returns whose times the window gets.
    fn clock(&self) -> FilterClock {
        if self.time.rules().is_some() { FilterClock::Events } else { FilterClock::System }
    }

    /// Repeats end when the filter has forgotten the key: a window and one generation after the last one.
    fn repeats(&self, filter: &Filter) -> Repeats {
        let generations = u64::from(filter.plan().shape.window_generations);
        let and_one = |window: u64| window.saturating_add(window / generations);
        let lifetime = match filter.window().span() {
            Some(span) => Lifetime::Millis(and_one(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))),
            None => Lifetime::Records(and_one(filter.window().items())),
        };
        Repeats::new(self.output.top() as usize, self.records.line_format(), lifetime)
    }

    fn open_state(&self) -> Result<Option<StateFile>, Failure> {
        if self.state.state.as_deref().is_some_and(is_standard_output) {
            return Err(Failure::Usage("--state: a state is read, replaced and locked; name a file".into()));
        }
        let interval = Some(self.state.checkpoint).filter(|interval| !interval.is_zero());
        self.state.state.as_ref().map(|path| StateFile::open(path, interval, self.state.wait)).transpose()
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

impl OutputFlags {
    /// Fails for flags that do not go together.
    fn check(&self, emit: Emit) -> Result<(), Failure> {
        if self.top.is_some() && emit != Emit::Summary {
            return Err(Failure::Usage("--top: only --emit summary tells about keys; add it".into()));
        }
        if self.duplicates_to.as_deref().is_some_and(is_standard_output) && self.records_file().is_none() {
            return Err(Failure::Usage(
                "--duplicates-to: standard output has the other records; name a file, or write them to one with --output"
                    .into(),
            ));
        }
        if self.metrics_file.as_deref().is_some_and(is_standard_output) {
            return Err(Failure::Usage("--metrics-file: it is replaced each time; name a file".into()));
        }
        Ok(())
    }

    /// Fails if a file that is only written at the end cannot be written, before anything is read.
    fn probe(&self) -> Result<(), Failure> {
        let at_end = [self.stats_json.as_deref(), self.metrics_file.as_deref()];
        for path in at_end.into_iter().flatten().filter(|path| !is_standard_output(path)) {
            probe(path).map_err(|error| Failure::file(path, &error))?;
        }
        Ok(())
    }

    /// The file for the records, if they do not go to standard output.
    fn records_file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard_output(path))
    }

    fn top(&self) -> u32 {
        self.top.unwrap_or(1_000)
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let span = units::span(text)?;
    if span.is_zero() {
        return Err("statistics need some time between them; write for example 10s".into());
    }
    Ok(span)
}

/// Fails if the file cannot be written. Its content stays, and if it does not exist, it does not afterwards. A pipe is
/// opened only when there is something to write.
fn probe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(_) => {
            OpenOptions::new().append(true).create_new(true).open(path)?;
            fs::remove_file(path)
        }
    }
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Loads the stored filter, which must keep the promise, or builds a new one if none is stored.
fn load_or_build(promise: Promise, keyed: bool, state: Option<&mut StateFile>) -> Result<Filter, Failure> {
    if let Some(state) = state
        && let Some(mut stored) = state.load()?
    {
        if let (Some(max_memory), Window::Elastic { .. }) = (promise.max_memory, stored.window()) {
            stored.set_max_memory(max_memory)?;
        }
        stored::check(&promise, &stored.plan(), state.path())?;
        if keyed {
            stored::check_key(stored.hash_function(), state.path())?;
        }
        return Ok(stored);
    }
    let hash = if keyed { HashFunction::SipHash13 { key: secret_key()? } } else { HashFunction::default() };
    Ok(Filter::builder().promise(promise).hash_function(hash).build()?)
}

/// Returns a key that nobody can guess.
fn secret_key() -> Result<[u8; 16], Failure> {
    let mut key = [0; 16];
    getrandom::fill(&mut key).map_err(|error| {
        Failure::other(format!(
            "--keyed: the system gave no random bytes for the key: {error}; allow this program the call getrandom (or \
             /dev/urandom), or leave out --keyed"
        ))
    })?;
    Ok(key)
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

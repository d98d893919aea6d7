//! Statistics while a stream runs: lines of JSON on standard error, or a file for Prometheus.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::summary::Summary;
use crate::deciding::Sieve;
use crate::failure::Failure;
use crate::system::standard_streams::tell;
use crate::writing::StateFile;

/// How often the file is written if nothing else was requested.
const FILE_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Reports {
    pub(super) started: Instant,
    every: Option<Duration>,
    metrics_file: Option<PathBuf>,
    /// The last report, and the records until then.
    last: Instant,
    last_records: u64,
    /// A failure is told once.
    has_failed: bool,
}

impl Reports {
    /// `metrics_file` replaces the lines.
    pub(super) fn new(every: Option<Duration>, metrics_file: Option<&Path>) -> Self {
        let metrics_file = metrics_file.map(Path::to_path_buf);
        let every = every.or(metrics_file.as_ref().map(|_| FILE_INTERVAL));
        let now = Instant::now();
        Self { started: now, every, metrics_file, last: now, last_records: 0, has_failed: false }
    }

    /// Returns the time until the next report is due.
    pub(super) fn until_due(&self) -> Option<Duration> {
        Some(self.every?.saturating_sub(self.last.elapsed()))
    }

    pub(super) fn report_if_due(&mut self, sieve: &Sieve, state: Option<&StateFile>) {
        if self.until_due() != Some(Duration::ZERO) {
            return;
        }
        if self.metrics_file.is_none() {
            return self.print(sieve, state);
        }
        self.last = Instant::now();
        // The stream goes on, and the next report may succeed.
        if let Err(failure) = self.write_metrics(sieve, state)
            && !self.has_failed
        {
            self.has_failed = true;
            let _ = failure.report();
        }
    }

    /// Prints a line, because a signal or the clock asks for it.
    pub(super) fn print(&mut self, sieve: &Sieve, state: Option<&StateFile>) {
        let since = self.last.elapsed().as_secs_f64();
        let recent = sieve.counts.records - self.last_records;
        (self.last, self.last_records) = (Instant::now(), sieve.counts.records);
        let mut line = json!(Summary::new(sieve, self.started.elapsed()));
        if let Value::Object(members) = &mut line {
            let rate = if since > 0.0 { recent as f64 / since } else { 0.0 };
            members.insert("recent_records_per_second".into(), json!(rate));
            members.extend(checkpoint_age(state).map(|age| ("checkpoint_age_seconds".into(), json!(age))));
        }
        tell(&line.to_string());
    }

    /// Writes the file for the last time.
    pub(super) fn finish(&self, sieve: &Sieve, state: Option<&StateFile>) -> Result<(), Failure> {
        self.write_metrics(sieve, state)
    }

    /// A reader finds the old file or the new one, never a part.
    fn write_metrics(&self, sieve: &Sieve, state: Option<&StateFile>) -> Result<(), Failure> {
        let Some(path) = &self.metrics_file else { return Ok(()) };
        let summary = Summary::new(sieve, self.started.elapsed());
        let mut temporary = path.clone().into_os_string();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let written = fs::write(&temporary, metrics(&summary, checkpoint_age(state)))
            .and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // The error says what is wrong; what is left of the file is not needed.
            let _ = fs::remove_file(&temporary);
            Failure::file(path, &error)
        })
    }
}

fn checkpoint_age(state: Option<&StateFile>) -> Option<f64> {
    state.map(|state| state.since_save().as_secs_f64())
}

/// Formats the numbers as Prometheus reads them.
fn metrics(summary: &Summary, checkpoint_age: Option<f64>) -> String {
    const COUNTERS: [(&str, &str); 10] = [
        ("records", "Records read."),
        ("unique", "Records that were new."),
        ("duplicates", "Records that were seen lately."),
        ("missing", "Records without a key."),
        ("late", "Records whose window had passed."),
        ("oversize", "Records that were too long."),
        ("bytes", "Bytes of records."),
        ("refused_times", "Times that were not believed."),
        ("backward_steps", "Times behind the latest one, since the state was created."),
        ("overloaded_generations", "Overloaded generations, since the state was created."),
    ];
    const GAUGES: [(&str, &str); 6] = [
        ("memory_bytes", "Memory of the filter."),
        ("max_memory_bytes", "The most that the filter grows to."),
        ("peak_memory_bytes", "The most memory of the filter since the state was created."),
        ("guaranteed_window", "The guaranteed window, in records."),
        ("predicted_false_positive_rate", "The promised rate at the worst moment."),
        ("estimated_false_positive_rate", "The rate with the bits as they are now."),
    ];
    let values = json!(summary);
    let mut text = String::new();
    let mut add = |name: &str, suffix: &str, kind: &str, help: &str, value: &Value| {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "# HELP lately_{name}{suffix} {help}\n# TYPE lately_{name}{suffix} {kind}\nlately_{name}{suffix} {value}\n"
        );
    };
    for (name, help) in COUNTERS {
        if let Some(value) = values.get(name) {
            add(name, "_total", "counter", help, value);
        }
    }
    for (name, help) in GAUGES {
        if let Some(value) = values.get(name) {
            add(name, "", "gauge", help, value);
        }
    }
    if let Some(age) = checkpoint_age {
        add("checkpoint_age_seconds", "", "gauge", "Seconds since the last save or the start.", &json!(age));
    }
    text
}

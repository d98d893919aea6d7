//! A run over a stream: one thread reads and hashes, this one queries the filter and writes.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::ProgressBar;
use lately::HashFunction;

use crate::batch::Batch;
use crate::csv;
use crate::failure::Failure;
use crate::input::Inputs;
use crate::keys::{Columns, Delimiter, Fields, Format, JsonPaths, Keys, TimeUnit};
use crate::output::Output;
use crate::reader::{Ending, Event, Missing, Reader};
use crate::reading::Splitter;
use crate::sieve::Sieve;
use crate::state::StateFile;
use crate::system::signals;

/// Batches that circulate between the two threads. With two, one thread would wait for the other whenever
/// their speeds vary.
const BATCHES: usize = 4;

/// How long to wait, after a signal, for a read that should not block. It can block if another process reads
/// from the same pipe and was faster.
const READ_PATIENCE: Duration = Duration::from_secs(3);

/// How records are delimited, and how their keys are found.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Records and keys")]
pub(crate) struct RecordArgs {
    /// Records end with NUL, not with a newline
    #[arg(short = '0', long)]
    null: bool,
    /// Use these fields of the record (from 1) as the key
    #[arg(long, value_name = "NUMBERS", allow_negative_numbers = true, value_delimiter = ',', value_parser = field_number)]
    field: Vec<usize>,
    /// The character between fields, or \t for a tab [default: any number of blanks; with --csv a comma]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Records are CSV: quoted fields may contain delimiters and newlines, and the first record of a file
    /// names the columns
    #[arg(long, conflicts_with_all = ["field", "json", "null"])]
    csv: bool,
    /// Use these CSV columns as the key
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = column_name, requires = "csv")]
    column: Vec<String>,
    /// Records are JSON: use the values at these dotted paths (user.id) as the key; repeat the flag, or use
    /// commas
    #[arg(long, value_name = "PATHS", value_delimiter = ',', value_parser = json_path, conflicts_with = "field")]
    json: Vec<String>,
    /// What to do with a record without a key (or, with --time-field, without a time)
    #[arg(long, value_name = "WHAT", default_value = "pass")]
    pub(crate) missing: Missing,
}

impl RecordArgs {
    /// Returns the byte after a tag, which is also the delimiter of the records' own columns.
    pub(crate) fn tag_delimiter(&self) -> u8 {
        match self.delimiter {
            Some(byte) => byte,
            None if self.csv => b',',
            None => b'\t',
        }
    }

    fn splitter(&self) -> Splitter {
        match (self.csv, self.null) {
            (true, _) => Splitter::Csv(csv::RecordEnds::new(self.tag_delimiter())),
            (_, true) => Splitter::Terminated(0),
            _ => Splitter::Terminated(b'\n'),
        }
    }

    /// Builds the key finder. The time is found like a key: by field number, column name or path.
    fn keys(&self, time: Option<(&str, TimeUnit)>, terminator: u8) -> Result<Keys, Failure> {
        let (time_name, time_unit) = (time.map(|(name, _)| name), time.map(|(_, unit)| unit));
        let (format, key_slots) = if self.csv {
            let names = self.column.iter().map(String::as_str).chain(time_name).map(String::from).collect();
            (Format::Csv(Columns::new(self.tag_delimiter(), names)), self.column.len())
        } else if !self.json.is_empty() {
            let paths = self.json.iter().map(String::as_str).chain(time_name);
            (Format::Json(JsonPaths::new(paths)), self.json.len())
        } else if !self.field.is_empty() || time.is_some() {
            let time_number = time_name.map(field_number).transpose().map_err(|problem| {
                Failure::Usage(format!(
                    "--time-field: {problem} (to name a column or a path, add --csv or --json)"
                ))
            })?;
            let numbers = self.field.iter().copied().chain(time_number);
            let delimiter = self.delimiter.map_or(Delimiter::Blanks, Delimiter::Byte);
            (Format::Fields(Fields::new(delimiter, numbers)), self.field.len())
        } else {
            return Ok(Keys::whole_records(terminator));
        };
        Ok(Keys::new(Some(format), key_slots, time_unit, terminator))
    }
}

fn field_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("`{text}` is not a field number; the first is 1"))
}

fn column_name(text: &str) -> Result<String, String> {
    if text.is_empty() {
        Err("a column needs a name; write for example user,ts".into())
    } else {
        Ok(text.into())
    }
}

fn json_path(text: &str) -> Result<String, String> {
    if text.split('.').any(str::is_empty) {
        return Err("a path is names separated by dots; write for example user.id".into());
    }
    Ok(text.into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'\n' | b'\r' | b'"' | 0] => {
            Err("a newline, a carriage return, a quote or NUL cannot be a delimiter; use another character"
                .into())
        }
        [byte] => Ok(*byte),
        _ => Err("write exactly one ASCII character, or \\t for a tab".into()),
    }
}

/// The reading half of a run.
pub(crate) struct Source {
    events: Receiver<Event>,
    free: mpsc::Sender<Batch>,
    ending: Arc<Ending>,
}

impl Source {
    /// Starts the reader thread. `time` is the field that holds the time, and its format.
    pub(crate) fn start(
        inputs: Inputs,
        records: &RecordArgs,
        time: Option<(&str, TimeUnit)>,
        hash_function: HashFunction,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel();
        let (free, recycled) = mpsc::channel();
        for _ in 0..BATCHES {
            // This cannot fail: the receiver exists.
            let _ = free.send(Batch::new());
        }
        let splitter = records.splitter();
        let keys = records.keys(time, splitter.terminator())?;
        let for_signals = sender.clone();
        signals::listen(move |signal| {
            // Sending fails after the end of the input: then the orderly end, with its save, has already begun.
            let _ = for_signals.send(Event::Stop(signal));
        })
        .map_err(|error| Failure::other(format!("cannot install the signal handlers: {error}")))?;
        let ending = Arc::new(Ending::default());
        let reader = Reader {
            inputs,
            splitter,
            keys,
            missing: records.missing,
            hash_function,
            events: sender,
            ending: Arc::clone(&ending),
            free: recycled,
        };
        std::thread::spawn(move || reader.run());
        Ok(Self { events, free, ending })
    }

    /// Runs until the stream ends, fails or is stopped. Afterwards every record that `sieve` has counted has
    /// been written, unless writing failed.
    pub(crate) fn run(
        self,
        sieve: &mut Sieve,
        output: &mut Output,
        mut state: Option<&mut StateFile>,
        progress: &ProgressBar,
    ) -> Result<(), StreamEnd> {
        let mut stopped_by = None;
        loop {
            let event = match (stopped_by, state.as_ref().and_then(|state| state.until_checkpoint())) {
                (Some(_), _) => self.next_of_the_last(),
                (None, Some(patience)) => self.events.recv_timeout(patience),
                (None, None) => self.events.recv().map_err(RecvTimeoutError::from),
            };
            match event {
                Ok(Event::Batch(batch)) => {
                    sieve.decide(&batch, output);
                    output.write(&batch).map_err(StreamEnd::OutputFailed)?;
                    progress.inc(batch.bytes().len() as u64);
                    if let Some(state) = &mut state {
                        state.touch();
                    }
                    // Sending fails if the reader has already ended, which is fine.
                    let _ = self.free.send(batch);
                }
                // A signal that ends a whole pipeline often ends the input as well.
                Ok(Event::End) => return stopped_by.map_or(Ok(()), |signal| Err(StreamEnd::Stopped(signal))),
                Ok(Event::Failed(failure)) => return Err(StreamEnd::InputFailed(failure)),
                Ok(Event::Stop(signal)) => {
                    self.ending.ask_for();
                    stopped_by = Some(signal);
                }
                Err(_) => {
                    if let Some(signal) = stopped_by {
                        return Err(StreamEnd::Stopped(signal));
                    }
                }
            }
            if let Some(state) = &mut state {
                let checked = state.checkpoint_if_due(&sieve.filter, || output.durable());
                checked.map_err(StreamEnd::OutputFailed)?;
            }
        }
    }

    /// After a signal: returns the remaining events, then an error.
    fn next_of_the_last(&self) -> Result<Event, RecvTimeoutError> {
        let asked = Instant::now();
        loop {
            let has_nothing_in_hand = self.ending.has_nothing_in_hand();
            let is_stuck = self.ending.is_reading() && asked.elapsed() > READ_PATIENCE;
            match self.events.recv_timeout(Duration::from_millis(1)) {
                // The flag was loaded before the channel was read: if it was set, every batch was already
                // there.
                Err(RecvTimeoutError::Timeout) if !has_nothing_in_hand && !is_stuck => {}
                event => return event,
            }
        }
    }
}

/// Why a stream ended early.
pub(crate) enum StreamEnd {
    /// Counted records may not have been written.
    OutputFailed(Failure),
    InputFailed(Failure),
    Stopped(i32),
}

#[cfg(test)]
mod tests {
    use lately::Filter;

    use super::*;
    use crate::output::Emit;
    use crate::sieve::{Clock, Operation};

    /// Runs a stream with these events.
    fn end_of(events: impl IntoIterator<Item = Event>, ending: Ending) -> Result<(), StreamEnd> {
        let (sender, receiver) = mpsc::channel();
        events.into_iter().for_each(|event| sender.send(event).unwrap());
        let (free, _recycled) = mpsc::channel();
        let source = Source { events: receiver, free, ending: Arc::new(ending) };
        let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
        let mut sieve = Sieve::new(filter, Operation::CheckAndInsert, Clock::None, Missing::Pass);
        let mut output = Output::new(Emit::Nothing).unwrap();
        source.run(&mut sieve, &mut output, None, &ProgressBar::hidden())
    }

    #[test]
    fn a_signal_is_reported_even_if_the_input_ends_too() {
        let end = end_of([Event::Stop(15), Event::End], Ending::default());
        assert!(matches!(end, Err(StreamEnd::Stopped(15))));
        assert!(end_of([Event::End, Event::Stop(15)], Ending::default()).is_ok());
    }

    /// Another process has read the bytes for which this read was started.
    #[test]
    fn a_read_that_blocks_unexpectedly_does_not_block_a_signal() {
        let end = end_of([Event::Stop(15)], Ending::in_a_read());
        assert!(matches!(end, Err(StreamEnd::Stopped(15))));
    }
}

//! Writes the kept records to standard output or to files.

use std::path::Path;

use super::beside::Known;
use super::destination::Destination;
use super::repeats::{LineFormat, Moment, Repeats};
use super::sink::Sink;
use crate::deciding::{Decided, Verdict};
use crate::failure::Failure;
use crate::reading::{Batch, Splitter};
use crate::system::standard_streams::tell;

/// `--emit`: which records are written, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Emit {
    /// Records not seen lately
    Unique,
    /// Records seen lately
    Duplicates,
    /// All records, each after a column that says new, seen, missing, late or oversize
    Tagged,
    /// Records not seen lately; and when the repeats of one have ended, a line that says how many there were, and
    /// when the first and the last came
    Summary,
    /// No records
    #[value(skip)]
    Nothing,
}

/// The output goes on where it ended in a run before.
pub(crate) struct Continued<'a> {
    pub(crate) known: &'a Known,
    /// Finds the records in it.
    pub(crate) splitter: Splitter,
}

pub(crate) struct Output {
    emit: Emit,
    main: Destination,
    /// Where the repeats go besides.
    duplicates: Option<Destination>,
    repeats: Option<Repeats>,
    /// What follows a tag.
    tag_delimiter: Vec<u8>,
    /// The time of arrival and the records before the current batch.
    now: Moment,
    /// Headers are not written to files that already have one.
    main_has_header: bool,
    duplicates_have_header: bool,
}

impl Output {
    /// Writes to standard output.
    pub(crate) fn open(emit: Emit, tag_delimiter: &[u8]) -> Result<Self, Failure> {
        Ok(Self {
            emit,
            main: Destination::new(Sink::standard_output()?),
            duplicates: None,
            repeats: None,
            tag_delimiter: tag_delimiter.to_vec(),
            now: Moment { ms: 0, records: 0 },
            main_has_header: false,
            duplicates_have_header: false,
        })
    }

    /// Writes to this file instead. If the output is continued, after what the file has.
    pub(crate) fn write_to(&mut self, path: &Path, continued: Option<&Continued<'_>>) -> Result<(), Failure> {
        let sink = create(path, continued)?;
        self.main_has_header = sink.has_content();
        self.main = Destination::new(sink);
        Ok(())
    }

    /// Writes the repeats to this file; `None`: to standard output.
    pub(crate) fn write_duplicates_to(
        &mut self,
        path: Option<&Path>,
        continued: Option<&Continued<'_>>,
    ) -> Result<(), Failure> {
        let sink = match path {
            Some(path) => create(path, continued)?,
            None => Sink::standard_output()?,
        };
        self.duplicates_have_header = path.is_some() && sink.has_content();
        self.duplicates = Some(Destination::new(sink));
        Ok(())
    }

    /// Returns true if a file that is continued has a header already.
    pub(crate) fn has_header(&self) -> bool {
        self.main_has_header || self.duplicates_have_header
    }

    /// Tells about repeats when they have ended.
    pub(crate) fn summarise(&mut self, repeats: Repeats) {
        self.repeats = Some(repeats);
    }

    /// Starts a batch.
    pub(crate) fn start_batch(&mut self, now: Moment) {
        self.now = now;
    }

    /// Notes the decision on a record. [`write`](Self::write) writes the kept ones, and must be called before
    /// the next batch.
    #[inline]
    pub(crate) fn note(&mut self, batch: &Batch, decided: Decided) {
        let Decided { record, verdict, .. } = decided;
        let is_kept = match self.emit {
            Emit::Unique => verdict != Verdict::Seen && !self.is_known_header(verdict),
            Emit::Duplicates => {
                verdict == Verdict::Seen || (verdict == Verdict::Header && !self.main_has_header)
            }
            Emit::Nothing => false,
            Emit::Tagged => {
                self.keep_tagged(batch, record, verdict);
                false
            }
            Emit::Summary => {
                self.summarise_or_keep(batch, decided);
                false
            }
        };
        if is_kept {
            self.main.keep(batch, record);
        }
        if self.duplicates.is_some() {
            self.keep_duplicate(batch, record, verdict);
        }
    }

    fn is_known_header(&self, verdict: Verdict) -> bool {
        verdict == Verdict::Header && self.main_has_header
    }

    fn keep_duplicate(&mut self, batch: &Batch, record: usize, verdict: Verdict) {
        let is_header = verdict == Verdict::Header && !self.duplicates_have_header;
        if let Some(duplicates) = self.duplicates.as_mut().filter(|_| verdict == Verdict::Seen || is_header) {
            duplicates.keep(batch, record);
        }
    }

    fn keep_tagged(&mut self, batch: &Batch, record: usize, verdict: Verdict) {
        if verdict == Verdict::Rest {
            return self.main.keep(batch, record);
        }
        if !self.is_known_header(verdict) {
            let prefix = [tag(verdict).as_bytes(), &self.tag_delimiter].concat();
            self.main.keep_after(&prefix, batch, record, verdict == Verdict::Header);
        }
    }

    fn summarise_or_keep(&mut self, batch: &Batch, decided: Decided) {
        let Decided { record, verdict, key } = decided;
        self.now.records += u64::from(verdict != Verdict::Rest);
        let Some(repeats) = &mut self.repeats else { return };
        match verdict {
            Verdict::Seen => {
                let ms = batch.times.get(key).copied().unwrap_or(self.now.ms);
                let now = Moment { ms, ..self.now };
                repeats.count(batch.hashes[key], now, &batch.bytes()[batch.range_of(record)]);
                return;
            }
            Verdict::New => {
                if let Some(line) = repeats.take(batch.hashes[key]) {
                    self.main.append(batch, &line);
                }
            }
            _ => {}
        }
        match repeats.format() {
            LineFormat::Csv(delimiter) if verdict != Verdict::Rest => {
                if !self.is_known_header(verdict) {
                    let columns =
                        if verdict == Verdict::Header { ["repeats", "first", "last"] } else { ["0", "", ""] };
                    let prefix: Vec<u8> =
                        columns.iter().flat_map(|column| column.bytes().chain([delimiter])).collect();
                    self.main.keep_after(&prefix, batch, record, verdict == Verdict::Header);
                }
            }
            _ => self.main.keep(batch, record),
        }
    }

    /// Writes the kept records of the batch; afterwards none is held back.
    pub(crate) fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        self.main.write(batch)?;
        self.duplicates.as_mut().map_or(Ok(()), |duplicates| duplicates.write(batch))
    }

    /// Writes the lines about repeats that have ended by now.
    pub(crate) fn tell_ended(&mut self, now: Moment) -> Result<(), Failure> {
        let lines = self.repeats.as_mut().map(|repeats| repeats.take_ended(now)).unwrap_or_default();
        self.main.sink.write(&lines)
    }

    /// Writes the lines about all other repeats, at the end of the run.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let lines = self.repeats.as_mut().map(Repeats::take_all).unwrap_or_default();
        self.main.sink.write(&lines)
    }

    /// Returns the repeats that are in no line.
    pub(crate) fn untold_repeats(&self) -> u64 {
        self.repeats.as_ref().map_or(0, Repeats::others)
    }

    /// Returns how often to call [`tell_ended`](Self::tell_ended) while no records arrive.
    pub(crate) fn sweep_interval_ms(&self) -> Option<u64> {
        self.repeats.as_ref()?.sweep_interval_ms()
    }

    pub(crate) fn writes_records(&self) -> bool {
        self.emit != Emit::Nothing
    }

    pub(crate) fn main(&self) -> &Sink {
        &self.main.sink
    }

    /// Returns other handles of the outputs that are files. Files can be synced; pipes and terminals cannot.
    pub(crate) fn durable(&self) -> Vec<Sink> {
        let duplicates = self.duplicates.as_ref().map(|duplicates| &duplicates.sink);
        [Some(&self.main.sink), duplicates].into_iter().flatten().filter_map(Sink::durable).collect()
    }
}

/// Opens a file. What a run before has written stays, if the output is continued.
fn create(path: &Path, continued: Option<&Continued<'_>>) -> Result<Sink, Failure> {
    let sink = Sink::create(path, continued.is_some())?;
    if let Some(Continued { known, splitter }) = continued
        && let Some(notice) = sink.mend(known.length_of(sink.file()), (*splitter).clone())?
    {
        tell(&notice);
    }
    Ok(sink)
}

fn tag(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
        Verdict::Missing => "missing",
        Verdict::Late => "late",
        Verdict::Oversize => "oversize",
        // It follows its beginning, which has a tag.
        Verdict::Rest => "",
        // The name of the column of tags.
        Verdict::Header => "lately",
    }
}

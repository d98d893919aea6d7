//! Finds the records in the bytes of a batch, and hashes their keys.

use std::path::{Path, PathBuf};

use lately::HashFunction;

use super::batch::{Batch, MAX_RECORDS, Unkeyed, UnkeyedKind};
use super::oversize::{Limit, OnOversize};
use super::splitter::{Splitter, append_ends};
use crate::csv::BYTE_ORDER_MARK;
use crate::failure::Failure;
use crate::keys::{Keys, Missing, OnMissing};
use crate::shown::shown;

/// How many bytes of a header a message shows.
const SHOWN_HEADER: usize = 300;

/// The header of an earlier run with the same state.
pub(crate) struct EarlierHeader {
    pub(crate) text: Vec<u8>,
    /// True if the records follow those of that run in a file.
    pub(crate) must_agree: bool,
}

pub(crate) struct RecordFinder {
    splitter: Splitter,
    keys: Keys,
    on_missing: OnMissing,
    hash_function: HashFunction,
    /// The header of the first file, with which the others must agree.
    header: Option<Vec<u8>>,
    /// The header of an earlier run.
    earlier_header: Option<EarlierHeader>,
    /// The current file's name in messages.
    file: PathBuf,
    /// The current file's records so far.
    records: u64,
    /// The reasons of which a batch has an example.
    explained: Vec<Missing>,
    limit: Limit,
    /// The ends of the records that are being added; its memory is reused.
    ends: Vec<usize>,
    /// True if the beginning of a record that is too long was handed over.
    is_in_oversize: bool,
}

impl RecordFinder {
    pub(crate) fn new(
        splitter: Splitter,
        keys: Keys,
        on_missing: OnMissing,
        hash_function: HashFunction,
        limit: Limit,
    ) -> Self {
        Self {
            splitter,
            keys,
            on_missing,
            hash_function,
            header: None,
            earlier_header: None,
            file: PathBuf::new(),
            records: 0,
            explained: Vec::new(),
            limit,
            ends: Vec::new(),
            is_in_oversize: false,
        }
    }

    /// Compares the header of the first file with this one.
    pub(crate) fn expect_header(&mut self, earlier: EarlierHeader) {
        self.earlier_header = Some(earlier);
    }

    pub(super) fn start_file(&mut self, name: &Path) {
        self.splitter.restart();
        self.keys.start_file();
        self.file = name.to_path_buf();
        self.records = 0;
        self.is_in_oversize = false;
    }

    /// Adds the complete records that follow. If the batch is full afterwards, more may follow in its bytes.
    pub(super) fn add_complete(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        // If all bytes together are short enough, so is each record.
        let may_be_long = self.is_in_oversize || self.limit.is_exceeded(batch.filled - batch.complete());
        if let (Splitter::Terminated(terminator), true, false) =
            (&self.splitter, self.keys.are_whole_records(), may_be_long)
        {
            self.records += add_whole_records(*terminator, self.hash_function, batch);
            return Ok(());
        }
        let most = MAX_RECORDS - batch.ends.len();
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        self.splitter.append_ends(&batch.buffer[..batch.filled], batch.scanned, most, &mut ends);
        let added = ends.iter().try_for_each(|end| self.add(batch, *end));
        self.ends = ends;
        added?;
        if !batch.is_full() {
            batch.scanned = batch.filled;
        }
        Ok(())
    }

    /// Adds the last record of a file, if it lacks its terminator. The terminator is added only if another
    /// file follows.
    pub(super) fn end_file(&mut self, batch: &mut Batch, is_last_file: bool) -> Result<(), Failure> {
        if batch.filled == batch.complete() && !self.is_in_oversize {
            return Ok(());
        }
        if self.splitter.is_in_quotes() {
            batch.notices.push(format!(
                "lately: {}: a quote is opened in it and never closed, so all that follows is a part of this record",
                self.place()
            ));
        }
        if !is_last_file {
            batch.append(&[self.splitter.terminator()]);
        }
        self.add(batch, batch.filled)
    }

    /// Returns true if the first record of a file only names the columns.
    pub(super) fn has_header(&self) -> bool {
        self.keys.has_header()
    }

    /// Returns true if only the beginning of the last record was handed over.
    pub(super) fn is_in_oversize(&self) -> bool {
        self.is_in_oversize
    }

    /// Hands over the beginning of a record that is already too long, and more of one that was. Call it if no
    /// complete record is left.
    pub(super) fn cut_oversize(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let rest = batch.filled - batch.complete();
        if self.is_in_oversize && rest > 0 {
            push_unkeyed(batch, UnkeyedKind::OversizeRest, batch.filled);
        } else if self.limit.is_exceeded(rest) {
            self.add_oversize(batch, batch.filled)?;
            self.is_in_oversize = true;
        }
        Ok(())
    }

    fn add_oversize(&mut self, batch: &mut Batch, end: usize) -> Result<(), Failure> {
        let is_header = self.records == 0 && self.keys.has_header();
        if self.limit.on_oversize == OnOversize::Fail || is_header {
            return Err(self.too_long(is_header));
        }
        push_unkeyed(batch, UnkeyedKind::Oversize, end);
        self.records += 1;
        Ok(())
    }

    #[cold]
    fn too_long(&self, is_header: bool) -> Failure {
        let most = self.limit.max_record;
        let quote =
            if self.splitter.is_in_quotes() { "; a quote is opened in it and not closed so far" } else { "" };
        let remedy = if is_header {
            "it is the header, so it cannot be left out; use a higher --max-record"
        } else {
            "use a higher --max-record, or --oversize pass or --oversize drop to continue with the next record"
        };
        Failure::other(format!("{} is longer than --max-record, {most} bytes{quote}; {remedy}", self.place()))
    }

    /// The memory for the record that is being read cannot be allocated.
    #[cold]
    pub(super) fn no_memory(&self) -> Failure {
        Failure::other(format!(
            "{}: it is so long that there is no memory for it; use --max-record 16MiB with --oversize pass or --oversize \
             drop to continue with the next record",
            self.place()
        ))
    }

    /// Adds the next record, which ends at `end`.
    #[inline]
    fn add(&mut self, batch: &mut Batch, end: usize) -> Result<(), Failure> {
        if self.is_in_oversize {
            self.is_in_oversize = false;
            push_unkeyed(batch, UnkeyedKind::OversizeRest, end);
            return Ok(());
        }
        let record = &batch.buffer[batch.complete()..end];
        if self.limit.is_exceeded(record.len()) {
            let content = record.strip_suffix(&[self.splitter.terminator()]).unwrap_or(record);
            if self.limit.is_exceeded(content.len()) {
                return self.add_oversize(batch, end);
            }
        }
        let mut without_key = None;
        if self.records == 0 && self.keys.has_header() {
            without_key = Some(self.read_header(record, &mut batch.notices)?);
        } else {
            match self.keys.key_of(record) {
                Ok(key) => {
                    batch.hashes.push(self.hash_function.hash(key.bytes));
                    batch.times.extend(key.time_ms);
                }
                Err(missing) => {
                    if missing != Missing::Value && !self.explained.contains(&missing) {
                        self.explained.push(missing);
                        let example = format!("{}: {}", self.place(), self.keys.explain_time(record));
                        batch.examples.push((missing, example));
                    }
                    if self.on_missing == OnMissing::Fail {
                        return Err(self.no_key(missing, &batch.examples));
                    }
                    without_key = Some(UnkeyedKind::Missing(missing));
                }
            }
        }
        self.records += 1;
        if let Some(kind) = without_key {
            push_unkeyed(batch, kind, end);
            return Ok(());
        }
        batch.ends.push(end);
        batch.scanned = end;
        Ok(())
    }

    /// Names the record that is being read. One that is too long has been counted when its beginning was handed over.
    fn place(&self) -> String {
        format!("record {} of {}", self.records + u64::from(!self.is_in_oversize), self.file.display())
    }

    #[cold]
    fn no_key(&self, missing: Missing, examples: &[(Missing, String)]) -> Failure {
        const REMEDY: &str = "use --missing pass or --missing drop to continue with the next record";
        // `Fail` ends the run at the first record, so an example is about this one.
        match examples.iter().find(|(reason, _)| *reason == missing) {
            Some((_, example)) => Failure::other(format!("{example}; {REMEDY}")),
            None => Failure::other(format!(
                "{}: record {} has no key (or no time): the requested field, column or path is missing; {REMEDY}",
                self.file.display(),
                self.records + 1,
            )),
        }
    }

    #[cold]
    fn read_header(&mut self, record: &[u8], notices: &mut Vec<String>) -> Result<UnkeyedKind, Failure> {
        let file = self.file.display();
        let text = header_text(record);
        if self.header.is_none()
            && let Some(EarlierHeader { text: earlier, must_agree }) = self.earlier_header.take()
            && earlier != text
        {
            let differs = format!(
                "{file}: its header is {}, but that of the last run with this state was {}",
                shown(text, SHOWN_HEADER),
                shown(&earlier, SHOWN_HEADER)
            );
            if must_agree {
                return Err(Failure::other(format!(
                    "{differs}, and the output goes on in the same file; name another --output file (and --duplicates-to)"
                )));
            }
            notices.push(format!("lately: {differs}; check that the columns of the key are the same"));
        }
        self.keys.read_header(record).map_err(|problem| Failure::other(format!("{file}: {problem}")))?;
        match &self.header {
            None => {
                self.header = Some(text.to_vec());
                Ok(UnkeyedKind::Header)
            }
            Some(first) if first == text => Ok(UnkeyedKind::RepeatedHeader),
            Some(first) => Err(Failure::other(format!(
                "{file}: its header is {}, but the first file's is {}; process files with other columns in a separate run",
                shown(text, SHOWN_HEADER),
                shown(first, SHOWN_HEADER),
            ))),
        }
    }
}

/// Returns a header without its byte order mark and its line end.
pub(crate) fn header_text(record: &[u8]) -> &[u8] {
    record.strip_prefix(BYTE_ORDER_MARK).unwrap_or(record).trim_ascii_end()
}

/// Adds a record without a key, or a part of one.
fn push_unkeyed(batch: &mut Batch, kind: UnkeyedKind, end: usize) {
    batch.unkeyed.push(Unkeyed { record: batch.ends.len(), kind });
    batch.ends.push(end);
    batch.scanned = end;
}

/// Adds the complete records in one tight loop, for the most common case: whole records are the keys. Returns their
/// number.
fn add_whole_records(terminator: u8, hash_function: HashFunction, batch: &mut Batch) -> u64 {
    let mut start = batch.complete();
    let Batch { buffer, filled, scanned, ends, hashes, .. } = batch;
    let known = ends.len();
    append_ends(terminator, &buffer[..*filled], *scanned, MAX_RECORDS, ends);
    ends.truncate(MAX_RECORDS);
    hashes.extend(ends[known..].iter().map(|&end| {
        let record = &buffer[start..end - 1];
        start = end;
        hash_function.hash(record)
    }));
    let added = (ends.len() - known) as u64;
    batch.scanned = if batch.is_full() { batch.complete() } else { batch.filled };
    added
}

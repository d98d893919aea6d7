//! Makes the key of a record: the whole record, or some values in it. Finds its time, too, if requested.

mod columns;
mod fields;
mod fold;
mod groups;
mod json;
mod missing;
mod on_missing;
mod times;
mod values;
mod wanted;

pub(crate) use columns::Columns;
pub(crate) use fields::{Delimiter, Fields};
pub(crate) use groups::Groups;
pub(crate) use json::{JsonPath, JsonPaths};
pub(crate) use missing::Missing;
pub(crate) use on_missing::OnMissing;
pub(crate) use times::{Pattern, TimeFormat, TimeUnit, Times, Zone};

use std::ops::Range;

use lately::CompositeKey;

use values::Values;

use crate::csv::BYTE_ORDER_MARK;

/// A record's key and time.
pub(crate) struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    /// Milliseconds, if times are requested.
    pub(crate) time_ms: Option<u64>,
}

/// How values are found in a record.
#[derive(Debug)]
pub(crate) enum Format {
    Fields(Fields),
    Csv(Columns),
    Json(JsonPaths),
    Groups(Groups),
}

/// Finds the keys of records, without an allocation per record.
#[derive(Debug)]
pub(crate) struct Keys {
    /// `None`: records are not searched for values.
    format: Option<Format>,
    values: Values,
    /// The number of the key's values, which are in the first slots; if 0, the whole record is the key.
    key_slots: usize,
    time: Option<TimeValues>,
    /// Several values as one key; its memory is reused.
    composite: CompositeKey,
    terminator: u8,
    /// A value in lower case, if case is ignored; its memory is reused.
    folded: Option<Vec<u8>>,
}

/// The values that are the time, in the slots after the key's.
#[derive(Debug)]
struct TimeValues {
    slots: Range<usize>,
    times: Times,
    /// Several values, joined by spaces; its memory is reused.
    joined: Vec<u8>,
}

impl TimeValues {
    fn read(&mut self, record: &[u8], values: &Values) -> Result<u64, Missing> {
        let Self { slots, times, joined } = self;
        times.read(text_of(slots, record, values, joined).ok_or(Missing::Value)?)
    }

    fn explain(&mut self, record: &[u8], values: &Values) -> String {
        let Self { slots, times, joined } = self;
        times.explain(text_of(slots, record, values, joined).unwrap_or_default())
    }
}

/// Returns the value of a slot, or the joined values of several; `None` if one is missing.
#[inline]
fn text_of<'a>(
    slots: &Range<usize>,
    record: &'a [u8],
    values: &'a Values,
    joined: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    if slots.len() == 1 {
        return values.get(record, slots.start);
    }
    joined.clear();
    for slot in slots.clone() {
        joined.extend_from_slice(values.get(record, slot)?);
        joined.push(b' ');
    }
    Some(joined)
}

impl Keys {
    /// `format` fills the slots `0..key_slots`, and `time_slots` more, which `times` reads.
    pub(crate) fn new(
        format: Option<Format>,
        (key_slots, time_slots): (usize, usize),
        times: Option<Times>,
        terminator: u8,
        ignores_case: bool,
    ) -> Self {
        let slots = key_slots..key_slots + time_slots;
        let values = Values::new(slots.end);
        let time = times.map(|times| TimeValues { slots, times, joined: Vec::new() });
        let folded = ignores_case.then(Vec::new);
        Self { format, values, key_slots, time, composite: CompositeKey::new(), terminator, folded }
    }

    /// Returns true if records are not searched for values: each is its own key, without its terminator.
    pub(crate) fn are_whole_records(&self) -> bool {
        self.format.is_none() && self.folded.is_none()
    }

    /// Returns true for CSV, whose first record only names the columns.
    pub(crate) fn has_header(&self) -> bool {
        matches!(&self.format, Some(Format::Csv(columns)) if columns.has_header())
    }

    /// Starts another file, whose times may be spelled in another way.
    pub(crate) fn start_file(&mut self) {
        if let Some(time) = &mut self.time {
            time.times.start_file();
        }
    }

    /// Looks up the columns in the header of a file.
    pub(crate) fn read_header(&mut self, header: &[u8]) -> Result<(), String> {
        match &mut self.format {
            Some(Format::Csv(columns)) => columns.resolve(content(header, self.terminator, true)),
            _ => Ok(()),
        }
    }

    /// Returns the key of a record, which may or may not end with a terminator, and its time if requested.
    #[inline]
    pub(crate) fn key_of<'a>(&'a mut self, record: &'a [u8]) -> Result<Key<'a>, Missing> {
        if self.are_whole_records() {
            return Ok(Key { bytes: content(record, self.terminator, false), time_ms: None });
        }
        self.key_inside(record)
    }

    fn key_inside<'a>(&'a mut self, record: &'a [u8]) -> Result<Key<'a>, Missing> {
        let mut text = content(record, self.terminator, self.format.is_some());
        self.values.clear();
        match &mut self.format {
            None => {}
            Some(Format::Fields(fields)) => fields.find(text, &mut self.values),
            Some(Format::Csv(columns)) => {
                // Only a file's first record has a byte order mark; it is a header, if there is one.
                text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
                columns.find(text, &mut self.values);
            }
            Some(Format::Groups(groups)) => groups.find(text, &mut self.values),
            Some(Format::Json(paths)) => paths.find(text, &mut self.values),
        }
        let time_ms = match &mut self.time {
            None => None,
            Some(time) => Some(time.read(text, &self.values)?),
        };
        let bytes = match self.key_slots {
            0 if text.is_empty() && matches!(self.format, Some(Format::Csv(_))) => {
                return Err(Missing::Value);
            }
            0 => text,
            1 => self.values.get(text, 0).ok_or(Missing::Value)?,
            _ => {
                self.composite.clear();
                for slot in 0..self.key_slots {
                    let value = self.values.get(text, slot).ok_or(Missing::Value)?;
                    self.composite.push(folded(value, &mut self.folded));
                }
                return Ok(Key { bytes: self.composite.as_bytes(), time_ms });
            }
        };
        Ok(Key { bytes: folded(bytes, &mut self.folded), time_ms })
    }

    /// Says why the time of a record was not read. The record must be the last one passed to
    /// [`key_of`](Self::key_of).
    #[cold]
    pub(crate) fn explain_time(&mut self, record: &[u8]) -> String {
        let text = content(record, self.terminator, true);
        let Some(time) = &mut self.time else { return String::new() };
        time.explain(text, &self.values)
    }
}

/// Returns a value in lower case, if case is ignored.
#[inline]
fn folded<'a>(value: &'a [u8], memory: &'a mut Option<Vec<u8>>) -> &'a [u8] {
    match memory {
        None => value,
        Some(memory) => {
            fold::fold(value, memory);
            memory
        }
    }
}

/// Returns a record without its terminator. With `strip_carriage_return`, a line may also end with CRLF, and
/// the last line, whose LF may be missing, with CR alone.
#[inline]
fn content(record: &[u8], terminator: u8, strip_carriage_return: bool) -> &[u8] {
    let text = record.strip_suffix(&[terminator]).unwrap_or(record);
    let is_line = strip_carriage_return && terminator == b'\n';
    if is_line { text.strip_suffix(b"\r").unwrap_or(text) } else { text }
}

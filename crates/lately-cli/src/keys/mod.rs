//! Makes the key of a record: the whole record, or some values in it. Finds its time, too, if requested.

mod columns;
mod fields;
mod json;
mod on_missing;
mod times;
mod values;
mod wanted;

pub(crate) use columns::Columns;
pub(crate) use fields::{Delimiter, Fields};
pub(crate) use json::JsonPaths;
pub(crate) use on_missing::OnMissing;
pub(crate) use times::TimeUnit;

use lately::CompositeKey;

use values::Values;

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
}

/// Finds the keys of records, without an allocation per record.
#[derive(Debug)]
pub(crate) struct Keys {
    /// `None`: records are not searched for values.
    format: Option<Format>,
    values: Values,
    /// The number of the key's values, which are in the first slots; if 0, the whole record is the key.
    key_slots: usize,
    /// The unit of the time, which is in the slot after them.
    time: Option<TimeUnit>,
    /// Several values as one key; its memory is reused.
    composite: CompositeKey,
    terminator: u8,
}

impl Keys {
    pub(crate) fn whole_records(terminator: u8) -> Self {
        Self::new(None, 0, None, terminator)
    }

    /// `format` fills the slots `0..key_slots`, and one more if there is a time.
    pub(crate) fn new(
        format: Option<Format>,
        key_slots: usize,
        time: Option<TimeUnit>,
        terminator: u8,
    ) -> Self {
        let values = Values::new(key_slots + usize::from(time.is_some()));
        Self { format, values, key_slots, time, composite: CompositeKey::new(), terminator }
    }

    /// Returns true if records are not searched for values: each is its own key, without its terminator.
    pub(crate) fn are_whole_records(&self) -> bool {
        self.format.is_none()
    }

    /// Returns true for CSV, whose first record only names the columns.
    pub(crate) fn has_header(&self) -> bool {
        matches!(self.format, Some(Format::Csv(_)))
    }

    /// Looks up the columns in the header of a file.
    pub(crate) fn read_header(&mut self, header: &[u8]) -> Result<(), String> {
        match &mut self.format {
            Some(Format::Csv(columns)) => columns.resolve(content(header, self.terminator, true)),
            _ => Ok(()),
        }
    }

    /// Returns the key of a record, which may or may not end with a terminator. Returns `None` if the record
    /// has no key, or lacks a requested time.
    #[inline]
    pub(crate) fn key_of<'a>(&'a mut self, record: &'a [u8]) -> Option<Key<'a>> {
        if self.format.is_none() {
            return Some(Key { bytes: content(record, self.terminator, false), time_ms: None });
        }
        self.key_inside(record)
    }

    fn key_inside<'a>(&'a mut self, record: &'a [u8]) -> Option<Key<'a>> {
        let text = content(record, self.terminator, true);
        self.values.clear();
        match &mut self.format {
            None => {}
            Some(Format::Fields(fields)) => fields.find(text, &mut self.values),
            Some(Format::Csv(columns)) => columns.find(text, &mut self.values),
            Some(Format::Json(paths)) => paths.find(text, &mut self.values),
        }
        let time_ms = match self.time {
            None => None,
            Some(unit) => Some(times::parse_ms(self.values.get(text, self.key_slots)?, unit)?),
        };
        let bytes = match self.key_slots {
            0 if self.has_header() && text.is_empty() => return None,
            0 => text,
            1 => self.values.get(text, 0)?,
            _ => {
                self.composite.clear();
                for slot in 0..self.key_slots {
                    self.composite.push(self.values.get(text, slot)?);
                }
                self.composite.as_bytes()
            }
        };
        Some(Key { bytes, time_ms })
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

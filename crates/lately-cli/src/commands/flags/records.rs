//! The flags that describe records and their keys.

use clap::Args;
use lately::HashFunction;

use crate::csv;
use crate::failure::Failure;
use crate::keys::{Columns, Delimiter, Fields, Format, JsonPaths, Keys, OnMissing, TimeUnit};
use crate::reading::{RecordFinder, Splitter};

/// How records are delimited, and how their keys are found.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Records and keys")]
pub(crate) struct RecordFlags {
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
    pub(crate) missing: OnMissing,
}

impl RecordFlags {
    /// Returns the byte after a tag, which is also the delimiter of the records' own columns.
    pub(crate) fn tag_delimiter(&self) -> u8 {
        match self.delimiter {
            Some(byte) => byte,
            None if self.csv => b',',
            None => b'\t',
        }
    }

    /// Returns the finder of records with keys. `time` is the field that holds the time, and its format.
    pub(crate) fn finder(
        &self,
        time: Option<(&str, TimeUnit)>,
        hash_function: HashFunction,
    ) -> Result<RecordFinder, Failure> {
        let splitter = self.splitter();
        let keys = self.keys(time, splitter.terminator())?;
        Ok(RecordFinder::new(splitter, keys, self.missing, hash_function))
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

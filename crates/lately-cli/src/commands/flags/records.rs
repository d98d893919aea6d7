//! The flags that describe records and their keys.

use clap::Args;
use lately::HashFunction;

use super::units;
use crate::csv;
use crate::failure::Failure;
use crate::keys::{Columns, Delimiter, Fields, Format, JsonPaths, Keys, OnMissing, Times};
use crate::reading::{Limit, OnOversize, RecordFinder, Splitter};
use crate::writing::LineFormat;

/// How records are delimited, and how their keys are found.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Records and keys")]
pub(crate) struct RecordFlags {
    /// Records end with NUL, not with a newline
    #[arg(short = '0', long)]
    null: bool,
    /// Use these fields of the record (from 1) as the key
    #[arg(long, short, value_name = "NUMBERS", allow_negative_numbers = true, value_delimiter = ',', value_parser = field_number)]
    field: Vec<usize>,
    /// The character between fields, or \t for a tab [default: any number of blanks; with --csv a comma]
    #[arg(long, short, value_name = "CHAR", value_parser = delimiter)]
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
    #[arg(long, short, value_name = "PATHS", value_delimiter = ',', value_parser = json_path, conflicts_with = "field")]
    json: Vec<String>,
    /// What to do with a record without a key (or, with --time-field, without a time)
    #[arg(long, value_name = "WHAT", default_value = "pass")]
    pub(crate) missing: OnMissing,
    /// The longest record; a longer one is not held in memory
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = max_record, default_value = "1GiB")]
    pub(crate) max_record: u64,
    /// What to do with a longer record
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    pub(crate) oversize: OnOversize,
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

    /// Returns how lines about records are written among them.
    pub(crate) fn line_format(&self) -> LineFormat {
        if self.csv {
            LineFormat::Csv(self.tag_delimiter())
        } else if self.json.is_empty() {
            LineFormat::Text(if self.null { 0 } else { b'\n' })
        } else {
            LineFormat::Json
        }
    }

    /// Returns the finder of records with keys. `time` is the fields that hold the time, and their reader.
    pub(crate) fn finder(
        &self,
        time: Option<(&[String], Times)>,
        hash_function: HashFunction,
    ) -> Result<RecordFinder, Failure> {
        let splitter = self.splitter();
        let keys = self.keys(time, splitter.terminator())?;
        let limit = Limit { max_record: self.max_record, on_oversize: self.oversize };
        Ok(RecordFinder::new(splitter, keys, self.missing, hash_function, limit))
    }

    fn splitter(&self) -> Splitter {
        match (self.csv, self.null) {
            (true, _) => Splitter::Csv(csv::RecordEnds::new(self.tag_delimiter())),
            (_, true) => Splitter::Terminated(0),
            _ => Splitter::Terminated(b'\n'),
        }
    }

    /// Builds the key finder. The time is found like a key: by field number, column name or path.
    fn keys(&self, time: Option<(&[String], Times)>, terminator: u8) -> Result<Keys, Failure> {
        let time_names = time.as_ref().map_or(&[][..], |(names, _)| names);
        let check = if self.csv { column_name } else { json_path };
        if self.csv || !self.json.is_empty() {
            let checked: Result<Vec<String>, _> = time_names.iter().map(|name| check(name)).collect();
            checked.map_err(|problem| Failure::Usage(format!("--time-field: {problem}")))?;
        }
        let with_time = |names: &[String]| names.iter().chain(time_names).cloned().collect();
        let (format, key_slots) = if self.csv {
            (Format::Csv(Columns::new(self.tag_delimiter(), with_time(&self.column))), self.column.len())
        } else if !self.json.is_empty() {
            let paths: Vec<String> = with_time(&self.json);
            (Format::Json(JsonPaths::new(paths.iter().map(String::as_str))), self.json.len())
        } else if !self.field.is_empty() || time.is_some() {
            let time_numbers = time_names.iter().map(|name| field_number(name));
            let time_numbers: Vec<usize> = time_numbers.collect::<Result<_, _>>().map_err(|problem| {
                Failure::Usage(format!(
                    "--time-field: {problem} (to name a column or a path, add --csv or --json)"
                ))
            })?;
            let numbers = self.field.iter().copied().chain(time_numbers);
            let delimiter = self.delimiter.map_or(Delimiter::Blanks, Delimiter::Byte);
            (Format::Fields(Fields::new(delimiter, numbers)), self.field.len())
        } else {
            return Ok(Keys::whole_records(terminator));
        };
        let time = time.map(|(names, times)| (names.len(), times));
        Ok(Keys::new(Some(format), key_slots, time, terminator))
    }
}

fn max_record(text: &str) -> Result<u64, String> {
    let bytes = units::bytes(text)?;
    if bytes == 0 {
        return Err("no record would be short enough; write for example 16MiB".into());
    }
    Ok(bytes)
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
    if let Some(rest) = text.strip_prefix(['$', '.', '/']) {
        let names: Vec<&str> = rest.split(['.', '/']).filter(|name| !name.is_empty()).collect();
        let path = if names.is_empty() { "user.id".into() } else { names.join(".") };
        return Err(format!("a path begins with a name; write {path}"));
    }
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

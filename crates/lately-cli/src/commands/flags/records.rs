//! The flags that describe records and their keys.

use clap::Args;
use lately::HashFunction;
use regex::bytes::Regex;

use super::key_syntax::{
    List, column_name, column_names, delimiter, field_number, field_numbers, json_paths,
};
use super::units;
use crate::csv;
use crate::failure::Failure;
use crate::keys::{Columns, Delimiter, Fields, Format, Groups, JsonPath, JsonPaths, Keys, OnMissing, Times};
use crate::reading::{Limit, OnOversize, RecordFinder, Splitter};
use crate::writing::LineFormat;

/// How records are delimited, and how their keys are found.
// Each flag without a value is a `bool`.
#[allow(clippy::struct_excessive_bools)]
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Records and keys")]
pub(crate) struct RecordFlags {
    /// Records end with NUL, not with a newline
    #[arg(short = '0', long)]
    null: bool,
    /// Use these fields of the record (from 1) as the key: 2,5 or 2-5; with --csv, these columns
    #[arg(long, short, value_name = "NUMBERS", allow_hyphen_values = true, value_parser = field_numbers)]
    field: Vec<List<usize>>,
    /// What separates fields: characters, or \t, or \x01 [default: any number of blanks; with --csv a comma]
    #[arg(long, short, value_name = "TEXT", value_parser = delimiter)]
    delimiter: Option<List<u8>>,
    /// Records are CSV: quoted fields may contain delimiters and newlines, and the first record of a file
    /// names the columns
    #[arg(long, conflicts_with_all = ["json", "null"])]
    csv: bool,
    /// The first record of a CSV file does not name the columns; use --field
    #[arg(long, requires = "csv", conflicts_with = "column")]
    no_header: bool,
    /// Use these CSV columns as the key
    #[arg(long, value_name = "NAMES", value_parser = column_names, requires = "csv", conflicts_with = "field")]
    column: Vec<List<String>>,
    /// Records are JSON: use the values at these paths as the key: user.id,items[0]."x.y"; the path . is the whole
    /// record in any spelling
    #[arg(long, short, value_name = "PATHS", value_parser = json_paths, conflicts_with = "field")]
    json: Vec<List<JsonPath>>,
    /// Use the groups of this regular expression as the key, or the whole match if it has none
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["field", "csv", "json"])]
    key_regex: Option<Regex>,
    /// Compare keys without regard to upper and lower case
    #[arg(long)]
    ignore_case: bool,
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
    /// Returns what follows a tag: the delimiter of the records' own columns.
    pub(crate) fn tag_delimiter(&self) -> &[u8] {
        match &self.delimiter {
            Some(List(delimiter)) => delimiter,
            None if self.csv => b",",
            None => b"\t",
        }
    }

    /// Returns a number for how keys are made, which is the same for the same flags. It is never 0.
    pub(crate) fn label(&self, time_names: &[String]) -> u64 {
        HashFunction::default().hash(self.keys_as_flags(time_names).as_bytes()).max(1)
    }

    /// Returns the flags that decide on keys, in one spelling. States keep a fingerprint of it, so it must not change.
    fn keys_as_flags(&self, time_names: &[String]) -> String {
        let mut flags: Vec<String> = Vec::new();
        if self.csv {
            flags.push("--csv".into());
        }
        if !self.field.is_empty() {
            flags.push(format!("--field {:?}", List::joined(&self.field)));
        }
        for name in List::joined(&self.column) {
            flags.push(format!("--column {name}"));
        }
        for path in List::joined(&self.json) {
            flags.push(format!("--json {path}"));
        }
        if let Some(regex) = &self.key_regex {
            flags.push(format!("--key-regex {regex}"));
            // The groups of the time are not part of the key.
            flags.extend(time_names.iter().map(|name| format!("--time-field {name}")));
        }
        let separates = self.csv || !self.field.is_empty();
        if separates && (self.csv || self.delimiter.is_some()) {
            flags.push(format!("--delimiter {:?}", self.tag_delimiter()));
        }
        if self.ignore_case {
            flags.push("--ignore-case".into());
        }
        flags.join("\n")
    }

    /// Returns how lines about records are written among them.
    pub(crate) fn line_format(&self) -> LineFormat {
        if self.csv {
            LineFormat::Csv(self.tag_delimiter()[0])
        } else if self.json.is_empty() {
            LineFormat::Text(if self.null { 0 } else { b'\n' })
        } else {
            LineFormat::Json
        }
    }

    /// Returns the finder of records with keys. `time` is the fields that hold the time, and their reader, or `None` if
    /// they are not read.
    pub(crate) fn finder(
        &self,
        time_names: &[String],
        times: Option<Times>,
        hash_function: HashFunction,
    ) -> Result<RecordFinder, Failure> {
        let splitter = self.splitter();
        let (format, key_slots) = self.format(time_names)?;
        let slots = (key_slots, time_names.len());
        let keys = Keys::new(format, slots, times, splitter.terminator(), self.ignore_case);
        let limit = Limit { max_record: self.max_record, on_oversize: self.oversize };
        Ok(RecordFinder::new(splitter, keys, self.missing, hash_function, limit))
    }

    pub(crate) fn splitter(&self) -> Splitter {
        match (self.csv, self.null) {
            (true, _) => Splitter::Csv(csv::RecordEnds::new(self.tag_delimiter()[0])),
            (_, true) => Splitter::Terminated(0),
            _ => Splitter::Terminated(b'\n'),
        }
    }

    /// Returns how values are found, and how many of them are the key's. The time is found like a key: by field number,
    /// column name, path or group.
    fn format(&self, time_names: &[String]) -> Result<(Option<Format>, usize), Failure> {
        let of_time = |problem: String| Failure::Usage(format!("--time-field: {problem}"));
        let of_name = |name: &str, problem: &str| of_time(format!("`{name}`: {problem}"));
        let numbers = || -> Result<Vec<usize>, String> {
            let of_time: Result<Vec<usize>, String> =
                time_names.iter().map(|name| field_number(name)).collect();
            Ok([List::joined(&self.field), of_time?].concat())
        };
        if self.csv {
            let &[delimiter] = self.tag_delimiter() else {
                return Err(Failure::Usage(
                    "--delimiter: with --csv, it is exactly one ASCII character; leave out --csv if no field is quoted".into(),
                ));
            };
            if self.no_header || !self.field.is_empty() {
                let numbers = numbers().map_err(of_time)?;
                let columns = Columns::numbered(delimiter, numbers, !self.no_header);
                return Ok((Some(Format::Csv(columns)), List::joined(&self.field).len()));
            }
            let of_time: Result<Vec<String>, _> = time_names
                .iter()
                .map(|name| column_name(name).map_err(|problem| of_name(name, &problem)))
                .collect();
            let names = List::joined(&self.column);
            let key_slots = names.len();
            return Ok((Some(Format::Csv(Columns::named(delimiter, [names, of_time?].concat()))), key_slots));
        }
        if !self.json.is_empty() {
            let mut paths = List::joined(&self.json);
            let key_slots = paths.len();
            for name in time_names {
                paths.extend(JsonPath::list(name).map_err(|problem| of_name(name, &problem))?);
            }
            return Ok((Some(Format::Json(JsonPaths::new(&paths))), key_slots));
        }
        if let Some(regex) = &self.key_regex {
            let (groups, key_slots) = Groups::new(regex, time_names).map_err(of_time)?;
            return Ok((Some(Format::Groups(groups)), key_slots));
        }
        if self.field.is_empty() && time_names.is_empty() {
            return Ok((None, 0));
        }
        let numbers = numbers().map_err(|problem| {
            of_time(format!("{problem} (to name a column or a path, add --csv or --json)"))
        })?;
        let delimiter = match &self.delimiter {
            None => Delimiter::Blanks,
            Some(List(delimiter)) => Delimiter::text(delimiter),
        };
        Ok((Some(Format::Fields(Fields::new(delimiter, numbers))), List::joined(&self.field).len()))
    }
}

fn max_record(text: &str) -> Result<u64, String> {
    let bytes = units::bytes(text)?;
    if bytes == 0 {
        return Err("no record would be short enough; write for example 16MiB".into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn flags(line: &str) -> RecordFlags {
        let command = RecordFlags::augment_args(clap::Command::new("test").no_binary_name(true));
        RecordFlags::from_arg_matches(
            &command.get_matches_from(line.split(' ').filter(|word| !word.is_empty())),
        )
        .unwrap()
    }

    #[test]
    fn the_same_keys_have_the_same_label_in_every_version() {
        for (line, spelled) in [
            ("", ""),
            ("-0 --missing drop", ""),
            ("-f 2-4,1", "--field [2, 3, 4, 1]"),
            ("-f 2 -d \\t", "--field [2]\n--delimiter [9]"),
            ("--csv --column a,b", "--csv\n--column a\n--column b\n--delimiter [44]"),
            ("--csv -f 1 --no-header -d ;", "--csv\n--field [1]\n--delimiter [59]"),
            (
                "--json a.b[0],\"x.y\",. --ignore-case",
                "--json \"a\".\"b\"[0]\n--json \"x.y\"\n--json .\n--ignore-case",
            ),
            ("--key-regex a(b)", "--key-regex a(b)"),
        ] {
            assert_eq!(flags(line).keys_as_flags(&[]), spelled, "{line}");
        }
        let label = |line: &str, time_names: &[&str]| {
            flags(line).label(&time_names.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(label("--json id", &[]), label("-j \"id\"", &["at"]));
        assert_eq!(label("--csv", &[]), label("--csv -d ,", &["at"]));
        assert_ne!(label("-f 1", &[]), label("", &[]));
        let regex = "--key-regex (a)(b)(c)";
        assert_ne!(label(regex, &["1"]), label(regex, &["2"]), "other groups are the key");
        assert_eq!(label("", &[]), 0x2d06_8005_38d3_94c2);
    }
}

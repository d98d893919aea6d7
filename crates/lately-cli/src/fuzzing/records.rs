//! Any bytes as records, with every way to make keys: read as one block and as several, the records and keys are the
//! same, and those of an independent parser.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use clap::{Args as _, FromArgMatches as _};
use lately::{CompositeKey, HashFunction};
use regex::bytes::Regex;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Input, NOW_MS, reader_of_times};
use crate::commands::flags::RecordFlags;
use crate::csv::BYTE_ORDER_MARK;
use crate::keys::{TimeFormat, TimeUnit};
use crate::reading::{Batch, OnOversize, UnkeyedKind, ends_in_pieces, read_in_pieces};

/// How keys are made: in flags, and for the oracle.
struct Way {
    flags: RecordFlags,
    /// The fields with the time.
    time: Vec<String>,
    terminator: u8,
    oracle: Oracle,
    ignores_case: bool,
}

#[derive(Clone, Copy)]
enum Oracle {
    Whole,
    /// Fields from 0, and what separates them; nothing stands for blanks.
    Fields(&'static [usize], &'static [u8]),
    /// Columns of CSV by number, with or without a header.
    Columns(&'static [usize], u8, bool),
    Named(&'static [&'static str], u8),
    Json(&'static [&'static [Step]]),
    /// The whole record, in any spelling.
    Canonical,
    Groups(&'static str),
}

#[derive(Clone, Copy)]
enum Step {
    Member(&'static str),
    Element(usize),
}

use Step::{Element, Member};

const GROUPS: &str = r"id=(\w+)|(x*)y";
const MATCH: &str = r"[0-9a-f]+-?(?:\s|$)";

static WAYS: LazyLock<Vec<Way>> = LazyLock::new(|| {
    let ways = [
        ("", "", Oracle::Whole),
        ("-0", "", Oracle::Whole),
        ("--ignore-case", "", Oracle::Whole),
        ("-f 1", "", Oracle::Fields(&[0], b"")),
        ("-f 3,1-2", "", Oracle::Fields(&[2, 0, 1], b"")),
        ("-f 2 -0 -d \\t", "", Oracle::Fields(&[1], b"\t")),
        ("-f 2,2 -d ,", "", Oracle::Fields(&[1, 1], b",")),
        ("-f 2 -d ab --missing fail", "", Oracle::Fields(&[1], b"ab")),
        ("-f 1 -d aa --ignore-case", "", Oracle::Fields(&[0], b"aa")),
        ("--csv --no-header -f 1", "", Oracle::Columns(&[0], b',', false)),
        ("--csv --no-header -f 3,1 -d ;", "", Oracle::Columns(&[2, 0], b';', false)),
        ("--csv -f 2 --ignore-case", "", Oracle::Columns(&[1], b',', true)),
        ("--csv --column a", "", Oracle::Named(&["a"], b',')),
        ("--csv --column b,a -d \\t", "", Oracle::Named(&["b", "a"], b'\t')),
        ("--csv --no-header --missing fail", "", Oracle::Columns(&[], b',', false)),
        ("--json a", "", Oracle::Json(&[&[Member("a")]])),
        ("--json a.b[0],c", "", Oracle::Json(&[&[Member("a"), Member("b"), Element(0)], &[Member("c")]])),
        ("--json [1],[0].a -0", "", Oracle::Json(&[&[Element(1)], &[Element(0), Member("a")]])),
        ("--json a,a.b", "", Oracle::Json(&[&[Member("a")], &[Member("a"), Member("b")]])),
        ("--json .", "", Oracle::Canonical),
        ("--key-regex id=(\\w+)|(x*)y", "", Oracle::Groups(GROUPS)),
        ("--key-regex [0-9a-f]+-?(?:\\s|$) --ignore-case", "", Oracle::Groups(MATCH)),
        ("-f 1", "2", Oracle::Fields(&[0], b"")),
        ("", "1,2", Oracle::Whole),
        ("--csv --no-header -f 2", "1", Oracle::Columns(&[1], b',', false)),
        ("--json a", "b", Oracle::Json(&[&[Member("a")]])),
    ];
    let command = RecordFlags::augment_args(clap::Command::new("fuzz").no_binary_name(true));
    let way = |(line, time, oracle): (&str, &str, Oracle)| {
        let words = line.split(' ').filter(|word| !word.is_empty());
        let matches = command.clone().try_get_matches_from(words).expect("these flags are right");
        Way {
            flags: RecordFlags::from_arg_matches(&matches).expect("these flags are right"),
            time: time.split(',').filter(|name| !name.is_empty()).map(String::from).collect(),
            terminator: if line.split(' ').any(|word| word == "-0") { 0 } else { b'\n' },
            oracle,
            ignores_case: line.contains("--ignore-case"),
        }
    };
    ways.into_iter().map(way).collect()
});

/// A record, and what was made of it.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    bytes: Vec<u8>,
    /// The hash of its key and its time, or why it has none.
    made: Result<(u64, Option<u64>), UnkeyedKind>,
}

/// All that a run tells, apart from the words of its failure, which depend on when a record was found to be too long.
#[derive(Debug, PartialEq, Eq, Default)]
struct Run {
    found: Vec<Found>,
    told: Vec<String>,
    has_failed: bool,
}

/// Records and keys do not depend on how the input arrives.
pub fn records(bytes: &[u8]) {
    let mut input = Input(bytes);
    let way = &WAYS[input.byte() as usize % WAYS.len()];
    let options = input.byte();
    let mut flags = way.flags.clone();
    if options & 1 != 0 {
        flags.max_record = u64::from(options >> 3);
        flags.oversize = [OnOversize::Fail, OnOversize::Pass, OnOversize::Drop][options as usize / 2 % 3];
    }
    let is_last_file = options & 4 == 0;
    let (longest, seed) = (1 + u64::from(input.byte()), input.number(2));
    let text = input.rest();
    let length = |number: u64| {
        1 + (HashFunction::default().hash(&(seed << 32 | number).to_le_bytes()) % longest) as usize
    };
    let lengths: Vec<usize> = (0..text.len() as u64).map(length).collect();

    let whole = run(way, &flags, text, &[], is_last_file);
    let in_pieces = run(way, &flags, text, &lengths, is_last_file);
    assert_eq!(whole, in_pieces, "{:?} in pieces of {lengths:?}", String::from_utf8_lossy(text));
    for most in [1, 3] {
        assert_eq!(
            ends_in_pieces(text, &lengths, most, &mut flags.splitter()),
            ends_in_pieces(text, &[], usize::MAX, &mut flags.splitter()),
            "at most {most} ends at once"
        );
    }
    let mut expected = text.to_vec();
    if !is_last_file && !text.is_empty() && !whole.has_failed {
        let is_open = whole.found.last().is_some_and(|last| last.bytes.len() > text.len())
            || whole.found.iter().map(|found| found.bytes.len()).sum::<usize>() > text.len();
        expected.extend(is_open.then_some(way.terminator));
    }
    let joined: Vec<u8> = whole.found.iter().flat_map(|found| found.bytes.clone()).collect();
    if whole.has_failed {
        assert!(expected.starts_with(&joined));
    } else {
        assert_eq!(joined, expected, "every byte is in a record");
    }
    if options & 1 == 0 {
        compare(way, text, &whole);
    }
}

fn run(way: &Way, flags: &RecordFlags, text: &[u8], lengths: &[usize], is_last_file: bool) -> Run {
    let zone = || "Europe/Berlin".parse().expect("a zone");
    let times =
        (!way.time.is_empty()).then(|| reader_of_times(TimeFormat::Unit(TimeUnit::Auto), zone(), NOW_MS));
    let mut finder = flags
        .finder(&way.time, times, HashFunction::default())
        .unwrap_or_else(|failure| panic!("these flags are right: {failure}"));
    let mut run = Run::default();
    let result = read_in_pieces(text, lengths, is_last_file, &mut finder, |batch| run.add(batch));
    run.has_failed = result.is_err();
    if let Err(failure) = result {
        assert!(!failure.to_string().is_empty());
    }
    run
}

impl Run {
    fn add(&mut self, batch: &Batch) {
        let mut unkeyed = batch.unkeyed.iter().peekable();
        let mut key = 0;
        for record in 0..batch.hashes.len() + batch.unkeyed.len() {
            let bytes = &batch.bytes()[batch.range_of(record)];
            let made = match unkeyed.next_if(|unkeyed| unkeyed.record == record) {
                // How a record that is too long is cut depends on the blocks.
                Some(rest) if rest.kind == UnkeyedKind::OversizeRest => {
                    let beginning = self.found.last_mut().expect("it follows the beginning");
                    assert_eq!(beginning.made, Err(UnkeyedKind::Oversize));
                    beginning.bytes.extend_from_slice(bytes);
                    continue;
                }
                Some(unkeyed) => Err(unkeyed.kind),
                None => {
                    let time = batch.times.get(key).copied();
                    key += 1;
                    Ok((batch.hashes[key - 1], time))
                }
            };
            self.found.push(Found { bytes: bytes.to_vec(), made });
        }
        let examples = batch.examples.iter().map(|(reason, text)| format!("{reason:?}: {text}"));
        self.told.extend(examples.chain(batch.notices.iter().cloned()));
    }
}

/// Compares the records and their keys with those of an independent parser.
fn compare(way: &Way, text: &[u8], run: &Run) {
    let mut found = run.found.as_slice();
    let mut header: Option<Vec<Vec<u8>>> = None;
    match way.oracle {
        Oracle::Columns(_, delimiter, has_header) => {
            compare_csv(text, run, delimiter);
            if has_header {
                found = found.get(1..).unwrap_or_default();
            }
        }
        Oracle::Named(names, delimiter) => {
            compare_csv(text, run, delimiter);
            let Some((first, rest)) = found.split_first() else {
                assert!(!run.has_failed || is_column_missing(names, text, delimiter), "{names:?}");
                return;
            };
            found = rest;
            header = Some(csv_values(content(&first.bytes, b'\n', true), delimiter));
        }
        _ => {
            let mut split: Vec<&[u8]> = text.split_inclusive(|byte| *byte == way.terminator).collect();
            split.truncate(run.found.len());
            for (ours, theirs) in run.found.iter().zip(split) {
                assert_eq!(ours.bytes.strip_suffix(&[way.terminator]), {
                    let theirs = theirs.strip_suffix(&[way.terminator]).unwrap_or(theirs);
                    Some(theirs).filter(|_| ours.bytes.ends_with(&[way.terminator]))
                });
            }
        }
    }
    for found in found {
        let strips = !matches!(way.oracle, Oracle::Whole) || !way.time.is_empty();
        let content = content(&found.bytes, way.terminator, strips);
        match (&found.made, expected(way, content, header.as_deref())) {
            (Ok((hash, _)), Expected::Values(values)) => {
                let folded = values.iter().map(|value| fold(way.ignores_case, value));
                assert_eq!(*hash, hash_of(folded), "{:?}: {values:?}", String::from_utf8_lossy(content));
            }
            (_, Expected::Unknown) | (Err(UnkeyedKind::Missing(_)), Expected::NoKey) => {}
            // It may lack a time.
            (Err(UnkeyedKind::Missing(_)), _) if !way.time.is_empty() => {}
            (made, expected) => {
                panic!("{:?}: {made:?} is not {expected:?}", String::from_utf8_lossy(content))
            }
        }
    }
}

/// What an independent parser says about a record.
#[derive(Debug)]
enum Expected {
    Values(Vec<Vec<u8>>),
    NoKey,
    /// It cannot tell.
    Unknown,
}

impl From<Option<Vec<Vec<u8>>>> for Expected {
    fn from(values: Option<Vec<Vec<u8>>>) -> Self {
        values.map_or(Self::NoKey, Self::Values)
    }
}

fn expected(way: &Way, content: &[u8], header: Option<&[Vec<u8>]>) -> Expected {
    let pick = |values: &[Vec<u8>], numbers: &[usize]| -> Option<Vec<Vec<u8>>> {
        numbers.iter().map(|number| values.get(*number).cloned()).collect()
    };
    match way.oracle {
        Oracle::Whole => Expected::Values(vec![content.to_vec()]),
        Oracle::Fields(numbers, delimiter) => pick(&split_at(content, delimiter), numbers).into(),
        Oracle::Columns(numbers, delimiter, _) => {
            if content.starts_with(BYTE_ORDER_MARK) {
                return Expected::Unknown;
            }
            match (content, numbers) {
                ([], _) => Expected::NoKey,
                (_, []) => Expected::Values(vec![content.to_vec()]),
                _ => pick(&csv_values(content, delimiter), numbers).into(),
            }
        }
        Oracle::Named(names, delimiter) => {
            if content.starts_with(BYTE_ORDER_MARK) {
                return Expected::Unknown;
            }
            let place = |name: &&str| header?.iter().position(|column| column == name.as_bytes());
            let numbers: Vec<usize> = names.iter().filter_map(place).collect();
            assert_eq!(numbers.len(), names.len(), "the run goes on without a column");
            match content {
                [] => Expected::NoKey,
                _ => pick(&csv_values(content, delimiter), &numbers).into(),
            }
        }
        Oracle::Json(paths) => json_values(content, paths),
        Oracle::Canonical => {
            compare_spellings(content);
            Expected::Unknown
        }
        Oracle::Groups(regex) => groups(regex, content).into(),
    }
}

fn content(record: &[u8], terminator: u8, strips_carriage_return: bool) -> &[u8] {
    let text = record.strip_suffix(&[terminator]).unwrap_or(record);
    let may_end_so = strips_carriage_return && terminator == b'\n';
    if may_end_so { text.strip_suffix(b"\r").unwrap_or(text) } else { text }
}

fn split_at(content: &[u8], delimiter: &[u8]) -> Vec<Vec<u8>> {
    if delimiter.is_empty() {
        let words = content.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty());
        return words.map(<[u8]>::to_vec).collect();
    }
    let (mut fields, mut field, mut rest) = (Vec::new(), Vec::new(), content);
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(delimiter) {
            fields.push(std::mem::take(&mut field));
            rest = after;
        } else {
            field.push(*first);
            rest = after;
        }
    }
    fields.push(field);
    fields
}

fn fold(ignores_case: bool, value: &[u8]) -> Vec<u8> {
    match str::from_utf8(value) {
        _ if !ignores_case => value.to_vec(),
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => value.to_ascii_lowercase(),
    }
}

fn hash_of(values: impl ExactSizeIterator<Item = Vec<u8>>) -> u64 {
    let mut values: Vec<Vec<u8>> = values.collect();
    if values.len() == 1 {
        return HashFunction::default().hash(&values.remove(0));
    }
    let mut key = CompositeKey::new();
    values.iter().for_each(|value| key.push(value));
    HashFunction::default().hash(key.as_bytes())
}

fn groups(regex: &str, content: &[u8]) -> Option<Vec<Vec<u8>>> {
    static REGEXES: LazyLock<HashMap<&str, Regex>> =
        LazyLock::new(|| [GROUPS, MATCH].map(|text| (text, Regex::new(text).expect("right"))).into());
    let found = REGEXES[regex].captures(content)?;
    let first = usize::from(found.len() > 1);
    Some(
        (first..found.len())
            .map(|group| found.get(group).map_or(vec![], |at| at.as_bytes().to_vec()))
            .collect(),
    )
}

fn csv_reader(text: &[u8], delimiter: u8) -> csv::ByteRecordsIntoIter<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .terminator(csv::Terminator::Any(b'\n'))
        .from_reader(text)
        .into_byte_records()
}

/// The values of one record, whose line end is cut off. The other reader finds no record in an empty one.
fn csv_values(content: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    match csv_reader(content, delimiter).next() {
        Some(record) => record.expect("no header, no length").iter().map(<[u8]>::to_vec).collect(),
        None => vec![Vec::new()],
    }
}

/// The other reader skips empty lines.
fn compare_csv(text: &[u8], run: &Run, delimiter: u8) {
    let first = run.found.first().map(|first| first.bytes.as_slice()).unwrap_or_default();
    let mark = usize::from(first == BYTE_ORDER_MARK || first == [BYTE_ORDER_MARK, b"\n"].concat());
    let ours = run.found.iter().filter(|found| !matches!(found.bytes[..], [] | [b'\n'])).count() - mark;
    let theirs = csv_reader(text, delimiter).count();
    // A run that has failed has read a part.
    assert!(ours == theirs || (run.has_failed && ours < theirs), "{ours} records, not {theirs}");
}

fn is_column_missing(names: &[&str], text: &[u8], delimiter: u8) -> bool {
    let mut splitter = crate::reading::Splitter::Csv(crate::csv::RecordEnds::new(delimiter));
    let end = ends_in_pieces(text, &[], usize::MAX, &mut splitter).first().copied().unwrap_or(text.len());
    let header = csv_values(content(&text[..end], b'\n', true), delimiter);
    names.iter().any(|name| header.iter().filter(|column| *column == name.as_bytes()).count() != 1)
}

/// Parsers that skip what is not asked for accept more: numbers that do not fit, half of a pair of surrogates, and bytes
/// that are not UTF-8.
fn json_values(content: &[u8], paths: &[&[Step]]) -> Expected {
    let content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
    let Ok(text) = str::from_utf8(content) else { return Expected::Unknown };
    match (serde_json::from_str::<Value>(text), serde_json::from_str::<&RawValue>(text)) {
        (Ok(_), Ok(raw)) => paths.iter().map(|path| value_at(raw, path)).collect::<Option<_>>().into(),
        (_, Err(_)) => Expected::NoKey,
        (Err(_), Ok(_)) => Expected::Unknown,
    }
}

fn value_at(raw: &RawValue, path: &[Step]) -> Option<Vec<u8>> {
    match path.split_first() {
        Some((Member(name), rest)) => {
            // The last of several members with one name counts.
            let members: HashMap<String, &RawValue> = serde_json::from_str(raw.get()).ok()?;
            value_at(members.get(*name)?, rest)
        }
        Some((Element(index), rest)) => {
            let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
            value_at(elements.get(*index)?, rest)
        }
        None if raw.get() == "null" => None,
        None => match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => Some(text.into_bytes()),
            Err(_) => Some(raw.get().into()),
        },
    }
}

/// A JSON text, and the same with other blanks and escapes, have one key.
fn compare_spellings(content: &[u8]) {
    let Ok(text) = str::from_utf8(content) else { return };
    if serde_json::from_str::<Value>(text).is_err() || text.starts_with('\u{feff}') {
        return;
    }
    let mut other = String::new();
    let mut is_in_string = false;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_in_string = !is_in_string,
            '\\' if is_in_string => {
                let name = letters.next();
                other.push('\\');
                other.extend(name);
                if name == Some('u') {
                    other.extend(letters.by_ref().take(4));
                }
                continue;
            }
            _ if is_in_string => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    // Writing to a string does not fail.
                    let _ = write!(other, "\\u{unit:04x}");
                }
                continue;
            }
            // In a record, a newline would end it.
            '\n' | '\r' => continue,
            '{' | '[' | ',' | ':' => other.push(' '),
            _ => {}
        }
        other.push(letter);
    }
    let way = WAYS.iter().find(|way| matches!(way.oracle, Oracle::Canonical)).expect("there is one");
    let made =
        |text: &str| run(way, &way.flags, text.as_bytes(), &[], true).found.pop().map(|found| found.made);
    let (ours, again) = (made(text), made(&other));
    assert!(matches!(ours, Some(Ok(_))), "{text}: {ours:?}");
    assert_eq!(ours, again, "{text} and {other}");
}

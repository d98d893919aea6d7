//! Any text as the value of a flag: it is read as an independent parser reads it, or the error names it.

use std::cell::RefCell;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};
use lately::HashFunction;

use super::{Input, NOW_MS, reader_of_times};
use crate::commands::Lately;
use crate::commands::flags::{RecordFlags, units};
use crate::keys::{JsonPath, TimeFormat, TimeUnit};

/// Flags with a grammar, and what else the command line needs.
const FLAGS: [(&str, &str); 25] = [
    ("--window", ""),
    ("--within", ""),
    ("--capacity", "--within=1h"),
    ("--max-memory", "--within=1h"),
    ("--fp", "--window=9"),
    ("--slack", "--window=9"),
    ("--layout", "--window=9"),
    ("--prefer", "--window=9"),
    ("--field", "--window=9"),
    ("--delimiter", "--window=9 --field=1"),
    ("--delimiter", "--window=9 --csv"),
    ("--column", "--window=9 --csv"),
    ("--json", "--window=9"),
    ("--key-regex", "--window=9"),
    ("--max-record", "--window=9"),
    ("--time-field", "--within=1h"),
    ("--time-field", "--within=1h --csv"),
    ("--time-field", "--within=1h --json=a"),
    ("--time-field", "--within=1h --key-regex=(a)(?<b>c)"),
    ("--time-format", "--within=1h --time-field=1"),
    ("--time-zone", "--within=1h --time-field=1"),
    ("--max-jump", "--within=1h --time-field=1"),
    ("--checkpoint", "--window=9 --state=s"),
    ("--stats-every", "--window=9"),
    ("--top", "--window=9 --emit=summary"),
];

thread_local! {
    static COMMAND: RefCell<clap::Command> = RefCell::new(Lately::command());
}

/// Checks that an accepted value means what it says, and that an error names the value.
pub fn grammar(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (flag, others) = input.one_of(&FLAGS);
    let value = String::from_utf8_lossy(input.rest()).into_owned();
    // Counted repetitions of classes of letters take a second to compile.
    if value.contains('\0') || (flag == "--key-regex" && value.contains(['{', '\\'])) {
        return;
    }
    match read(flag, others, &value) {
        Ok(matches) => {
            let (_, dedup) = matches.subcommand().expect("it was given");
            check(flag, dedup, &value);
        }
        Err(error) => {
            let told = error.to_string();
            // clap writes no sequences for terminals where there is none.
            let is_shown = !value.contains(char::is_control);
            assert!(!is_shown || told.contains(&value), "{flag} `{value}`: {told}");
            assert!(!matches!(error.kind(), ErrorKind::UnknownArgument), "{told}");
        }
    }
}

fn read(flag: &str, others: &str, value: &str) -> Result<ArgMatches, clap::Error> {
    let line = ["lately", "dedup"].map(String::from).into_iter();
    let others = others.split(' ').filter(|other| !other.is_empty()).map(String::from);
    let line = line.chain(others).chain([format!("{flag}={value}")]);
    COMMAND.with_borrow_mut(|command| command.try_get_matches_from_mut(line))
}

/// Compares a value that was accepted with what the text says.
fn check(flag: &str, dedup: &ArgMatches, value: &str) {
    match flag {
        "--window" => check_count(value, units::count(value)),
        "--max-record" | "--max-memory" => check_count(value, units::bytes(value)),
        "--within" | "--max-jump" | "--checkpoint" | "--stats-every" => check_span(value),
        _ => {}
    }
    let records = RecordFlags::from_arg_matches(dedup).expect("the command has these flags");
    let of = |spelled: String| {
        let matches = read(
            flag,
            if flag == "--column" { "--window=9 --csv" } else { "--window=9 --field=1" },
            &spelled,
        );
        let matches = matches.unwrap_or_else(|error| panic!("`{spelled}` for `{value}`: {error}"));
        let (_, dedup) = matches.subcommand().expect("it was given");
        RecordFlags::from_arg_matches(dedup).expect("the command has these flags")
    };
    match flag {
        "--json" => {
            let paths = JsonPath::list(value).unwrap_or_else(|error| panic!("{value}: {error}"));
            let spelled: Vec<String> = paths.iter().map(ToString::to_string).collect();
            assert_eq!(JsonPath::list(&spelled.join(",")), Ok(paths), "{value}");
        }
        "--delimiter" if dedup.get_flag("csv") => {}
        "--delimiter" => {
            let bytes = records.tag_delimiter();
            let spelled: Vec<String> = bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect();
            assert_eq!(of(spelled.concat()).tag_delimiter(), bytes, "{value}");
        }
        _ => {}
    }
    if flag != "--time-field" {
        return;
    }
    let names: Vec<String> = value.split(',').map(String::from).collect();
    let times = reader_of_times(TimeFormat::Unit(TimeUnit::Auto), "UTC".parse().expect("a zone"), NOW_MS);
    if let Err(failure) = records.finder(&names, Some(times), HashFunction::default()) {
        let told = failure.to_string();
        let is_named = names.iter().any(|name| told.contains(&format!("`{name}`")));
        assert!(told.contains("--time-field") && is_named, "`{value}`: {told}");
    }
}

/// The digits and the exponent as a number, unless they are too long for this simple reading.
fn simple(number: &str) -> Option<u64> {
    (number.len() < 18).then(|| number.parse().ok()).flatten()
}

fn check_count(value: &str, read: Result<u64, String>) {
    let read = read.unwrap_or_else(|error| panic!("{value} was accepted: {error}"));
    if let Some(number) = simple(value) {
        assert_eq!(read, number, "{value}");
    }
    let plain: String = value.chars().filter(|letter| *letter != '_').collect();
    if let Ok(number) = plain.parse::<f64>() {
        assert!((number - read as f64).abs() <= number * 1e-9, "{value} is {number}, not {read}");
    }
    assert_eq!(units::count(&read.to_string()), Ok(read));
    assert_eq!(units::bytes(&format!("{read}B")), Ok(read));
}

fn check_span(value: &str) {
    let span = units::span(value).unwrap_or_else(|error| panic!("{value} was accepted: {error}"));
    let mut ms = 0.0;
    for (unit, factor) in
        [("w", 604_800e3), ("d", 86_400e3), ("h", 3_600e3), ("m", 60e3), ("s", 1e3), ("ms", 1.0)]
    {
        // The number before this unit.
        let number = value.match_indices(unit).find_map(|(at, _)| {
            let (before, after) = (&value[..at], &value[at + unit.len()..]);
            let is_unit = !after.starts_with(char::is_alphabetic)
                && before.ends_with(|letter: char| letter.is_ascii_digit() || "._".contains(letter));
            let start = before
                .rfind(|letter: char| !(letter.is_ascii_digit() || "._eE+-".contains(letter)))
                .map_or(0, |at| at + 1);
            let number: String = before[start..].chars().filter(|letter| *letter != '_').collect();
            is_unit.then(|| number.parse::<f64>().ok()).flatten()
        });
        ms += number.map_or(0.0, |number| number * factor);
    }
    let read = span.as_millis() as f64;
    assert!((ms - read).abs() <= read * 1e-9 + 1e-3, "{value} is {ms} ms, not {read}");
    let spelled = format!("{}ms", span.as_millis());
    assert_eq!(units::span(&spelled), Ok(Duration::from_millis(span.as_millis() as u64)));
}

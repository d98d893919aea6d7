//! Times in records: their spellings, and what is told about those that cannot be read.

mod common;

use common::{Directory, answer, complaint, lately, run, text, words};

const DEDUP: &str = "dedup --within 10s --capacity 1000 --fp 1e-9";

/// Runs `dedup` with these options, and returns its standard output and standard error.
#[track_caller]
fn dedup(options: &str, input: &str) -> (String, String) {
    // Quotes keep the spaces of a format together.
    let mut arguments: Vec<String> = Vec::new();
    for (number, part) in format!("{DEDUP} {options}").split('\'').enumerate() {
        match number % 2 {
            0 => arguments.extend(words(part).map(String::from)),
            _ => arguments.push(part.into()),
        }
    }
    let output = run(&mut lately(&arguments), input.as_bytes());
    assert!(output.status.success(), "{options}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// The key `a` comes three times: after 9 seconds it is a repeat, after another 91 it is new.
#[track_caller]
fn check(options: &str, times: [&str; 3]) {
    let [first, repeat, late] = times;
    let (kept, told) = dedup(options, &format!("{first}\ta\n{repeat}\ta\n{late}\ta\n"));
    assert_eq!(kept, format!("{first}\ta\n{late}\ta\n"), "{options}");
    assert_eq!(told, "", "{options}");
}

#[test]
fn every_spelling_is_understood() {
    for times in [
        ["1700000000", "1700000009", "1700000100"],
        ["1700000000.5", "1700000009.5", "1700000100.5"],
        ["1700000000000", "1700000009000", "1700000100000"],
        ["1700000000000000", "1700000009000000", "1700000100000000"],
        ["1700000000000000000", "1700000009000000000", "1700000100000000000"],
        ["2024-05-01T12:30:00Z", "2024-05-01t12:30:09z", "2024-05-01 12:31:40+00:00"],
        ["2024-05-01T12:30:00+0200", "2024-05-01T10:30:09Z", "2024-05-01 12:31:40 +0200"],
        ["2024-05-01 12:30:00", "2024-05-01T12:30:09.5", "2024-05-01 12:31:40"],
        ["[10/Oct/2000:13:55:36 -0700]", "[10/Oct/2000:13:55:45 -0700]", "[10/Oct/2000:13:57:16 -0700]"],
        ["Oct 10 13:55:36", "Oct 10 13:55:45", "Oct 10 13:57:16"],
        ["Dec 31 23:59:56", "Jan  1 00:00:05", "Jan  1 00:01:36"],
    ] {
        check("--time-field 1 --field 2 --delimiter \\t", times);
    }
}

#[test]
fn a_format_describes_any_other_spelling() {
    let field = "--time-field 1 --field 2 --delimiter \\t";
    check(
        &format!("{field} --time-format '%d.%m.%Y %H:%M:%S'"),
        ["01.05.2024 12:30:00", "01.05.2024 12:30:09", "01.05.2024 12:31:40"],
    );
    check(&format!("{field} --time-format %s"), ["1700000000", "1700000009", "1700000100"]);
    // A date alone is its first moment.
    let (kept, told) =
        dedup(&format!("{field} --time-format %Y%m%d"), "20240501\ta\n20240501\ta\n20240502\ta\n");
    assert_eq!((kept.as_str(), told.as_str()), ("20240501\ta\n20240502\ta\n", ""));
}

#[test]
fn times_without_a_zone_are_in_the_zone_of_the_flag() {
    // Clocks went forward: 01:59:55 and 03:00:04 are 9 seconds apart there, and an hour elsewhere.
    let input = "2024-03-31 01:59:55\ta\n2024-03-31 03:00:04\ta\n";
    let field = "--time-field 1 --field 2 --delimiter \\t";
    assert_eq!(dedup(&format!("{field} --time-zone Europe/Berlin"), input).0.lines().count(), 1);
    assert_eq!(dedup(field, input).0.lines().count(), 2);
    assert_eq!(dedup(&format!("{field} --time-zone -05:30"), input).0.lines().count(), 2);
}

#[test]
fn date_time_and_zone_may_be_separate() {
    // The fields of a common log, and of syslog, as blanks separate them.
    let (kept, told) = dedup(
        "--time-field 2,3 --field 1",
        "a [10/Oct/2000:13:55:36 -0700]\na [10/Oct/2000:13:55:45 -0700]\na [10/Oct/2000:13:57:16 -0700]\n",
    );
    assert_eq!((kept.lines().count(), told.as_str()), (2, ""));
    let (kept, told) =
        dedup("--time-field 1,2,3 --field 4", "Oct  1 13:55:36 a\nOct  1 13:55:45 a\nOct  1 13:57:16 a\n");
    assert_eq!((kept.lines().count(), told.as_str()), (2, ""));
    let (kept, told) = dedup(
        "--csv --column k --time-field date,time",
        "date,k,time\n2024-05-01,a,12:30:00\n2024-05-01,a,12:30:09\n2024-05-01,a,12:31:40\n",
    );
    assert_eq!((kept.lines().count(), told.as_str()), (3, ""));
    let (kept, told) = dedup(
        "--json k --time-field t.d,t.h",
        "{\"k\":1,\"t\":{\"d\":\"2024-05-01\",\"h\":\"12:30:00Z\"}}\n{\"k\":1,\"t\":{\"h\":\"12:30:09Z\",\"d\":\"2024-05-01\"}}\n",
    );
    assert_eq!((kept.lines().count(), told.as_str()), (1, ""));
}

#[test]
fn a_spelling_that_changes_in_a_file_is_told_and_not_guessed() {
    let directory = Directory::new("spelling");
    let first = directory.file("first", "1700000000 a\n1700000001 a\n1700000002000 a\n1700000003000 a\n");
    let second = directory.file("second", "1700000004000 a\n");
    let (kept, told) = dedup(&format!("--time-field 1 --field 2 {first} {second}"), "");
    // Another file may have another spelling: its record is a repeat.
    assert_eq!(kept, "1700000000 a\n1700000002000 a\n1700000003000 a\n");
    let expected = format!(
        "lately: 2 of 5 records have a time in another spelling than the first of their file, and passed as records \
         without a time: the first is record 3 of {first}: `1700000002000` is in milliseconds since 1970, but the \
         file's first time is in seconds since 1970; to say which one is right, use --time-unit or --time-format\n"
    );
    assert_eq!(told, expected);
    let line = format!("{DEDUP} --time-field 1 --field 2 --missing fail {first}");
    let refused = complaint(&line, b"", 1);
    assert!(refused.contains("record 3 of") && refused.contains("--missing"), "{refused}");
}

#[test]
fn a_time_that_cannot_be_read_is_explained_once() {
    let cases = [
        (
            "2024-05-01",
            "is a date without a time of day; if its first moment is meant, use --time-format '%Y-%m-%d'",
        ),
        ("20240501", "may be a date or a number"),
        ("-5", "is before 1970"),
        ("-000005-01-01T00:00:00Z", "is before 1970"),
        ("1969-12-31T23:59:59Z", "is before 1970"),
        ("1e300", "is a number, but not a time since 1970 in digits, with or without a decimal point"),
        ("soon", "is not a time that lately knows"),
    ];
    for (wrong, problem) in cases {
        let input = format!("1700000000 a\n{wrong} b\n{wrong} b\n1700000001 a\n");
        let (kept, told) = dedup("--time-field 1 --field 2", &input);
        assert_eq!(kept, format!("1700000000 a\n{wrong} b\n{wrong} b\n"), "nothing is lost");
        let start = "lately: 2 of 4 records have a time that cannot be read, and passed as records without a time: \
                     the first is record 2 of standard input: ";
        assert!(told.starts_with(&format!("{start}`{wrong}` {problem}")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        let (kept, told) = dedup("--time-field 1 --field 2 --missing drop", &input);
        assert_eq!(kept, "1700000000 a\n");
        assert!(told.contains(", and were left out as records without a time: "), "{told}");
    }
    let (_, told) = dedup("--time-field 1 --field 2 --time-format %Y-%m-%d", "soon a\n");
    assert!(told.contains("`soon` does not match --time-format '%Y-%m-%d'"), "{told}");
    let (_, told) = dedup("--time-field 1 --field 2 --time-unit ms", "soon a\n");
    assert!(told.contains("`soon` is not in the format of --time-unit ms"), "{told}");
}

#[test]
fn records_without_a_time_are_counted() {
    let (kept, told) = dedup("--time-field 2 --field 1", "a 1700000000\na\na 1700000001\n");
    assert_eq!(kept, "a 1700000000\na\n");
    assert_eq!(
        told,
        "lately: 1 of 3 records lack a value of their key or time, and passed without a check: the first is record 2 of \
         the run\n"
    );
    let (_, told) = dedup("--time-field 3 --field 1", "a 1700000000\na\n");
    assert!(
        told.starts_with("lately: no record had a key (or a time)") && told.lines().count() == 1,
        "{told}"
    );
}

#[test]
fn leap_seconds_and_gaps_of_centuries() {
    // A leap second counts as the second before it.
    let lines =
        "2016-12-31T23:59:50Z a\n2016-12-31T23:59:60Z a\n2017-01-01T00:00:00Z a\n2017-01-01T00:00:09Z a\n";
    assert_eq!(dedup("--time-field 1 --field 2", lines).0.lines().count(), 1);
    let gap = "2010-01-01T00:00:00Z a\n2510-01-01T00:00:00Z a\n2510-01-01T00:00:09Z a\n";
    let (kept, told) = dedup("--time-field 1 --field 2 --max-jump 30000w", gap);
    assert_eq!((kept.lines().count(), told.as_str()), (2, ""));
}

#[test]
fn wrong_flags_of_time_are_refused() {
    for (flags, named) in [
        ("--late drop", "--time-field"),
        ("--max-jump 1h", "--time-field"),
        ("--time-zone UTC", "--time-field"),
        ("--time-format %s", "--time-field"),
        ("--time-field 1 --time-format %s --time-unit s", "--time-unit"),
        ("--time-field 1 --time-format %H:%M", "it has no date; write for example '%Y-%m-%d %H:%M:%S'"),
        ("--time-field 1 --time-format %i", "`i`"),
        ("--time-field 1 --time-zone Mars/Base", "write for example UTC, Europe/Berlin or +02:00"),
        ("--time-field 1 --max-jump 0", "write for example 1h or 7d"),
        ("--time-field 1 --max-jump -1h", "a span cannot be negative"),
        ("--time-field 1 --late maybe", "pass, drop, fail"),
        ("--time-field 1,when", "`when` is not a field number"),
        ("--csv --time-field a,", "needs a name"),
        ("--json a --time-field a..b", "write for example user.id"),
    ] {
        let refused = complaint(&format!("{DEDUP} {flags}"), b"", 2);
        assert!(refused.contains(named), "{flags}: {refused}");
    }
    for (span, named) in [
        ("0s", "a span of 0ms is not possible; ask for 1ms or more"),
        ("-1h", "a span cannot be negative"),
        ("1e30d", "up to 18446744073709551615"),
        ("1h30", "needs a unit"),
    ] {
        let refused = complaint(&format!("dedup --within {span} --capacity 5"), b"", 2);
        assert!(refused.contains(named) && refused.contains("--within"), "{span}: {refused}");
    }
    // Spans of several units.
    assert_eq!(answer("dedup --within 1w2d12h --capacity 5", b"a\na\n"), b"a\n");
}

#[test]
fn flags_about_time_are_refused_with_a_window_of_records() {
    for flags in ["--time-unit s", "--time-format %s", "--time-zone UTC", "--late drop", "--max-jump 1h"] {
        for line in [format!("dedup --window 10 {flags}"), format!("dedup --within 1h {flags}")] {
            let told = common::complaint(&line, b"a\n", 2);
            assert!(
                told.contains(flags.split(' ').next().unwrap()) || told.contains("--time-field"),
                "{told}"
            );
        }
    }
}

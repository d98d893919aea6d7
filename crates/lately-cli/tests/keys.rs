//! Records, byte for byte, and their keys.

mod common;

use std::fmt::Write as _;

use common::{Directory, answer, complaint, text};
use lately::Filter;

/// A filter in which a mistake is practically impossible.
const DEDUP: &str = "dedup --window 1000 --fp 1e-9 --layout slices";

/// Runs `dedup` on each (options, input, expected output).
#[track_caller]
fn dedup(cases: &[(&str, &[u8], &[u8])]) {
    for (options, input, expected) in cases {
        let found = answer(&format!("{DEDUP} {options}"), input);
        assert_eq!(text(&found), text(expected), "{options}: {}", text(input));
    }
}

#[test]
fn lines_are_kept_byte_for_byte() {
    dedup(&[
        ("", b"", b""),
        ("", b"a\nb\na\nc", b"a\nb\nc"),
        ("", b"a\nb\na", b"a\nb\n"),
        ("", b"\n\nx\n\n", b"\nx\n"),
        ("", b"a\r\nb\r\na\r\nb\n", b"a\r\nb\r\nb\n"),
        ("", b" a\na\n a\n", b" a\na\n"),
        ("", b"a\0b\na\0c\na\0b\n", b"a\0b\na\0c\n"),
    ]);
}

#[test]
fn binary_input_is_kept_byte_for_byte() {
    let mut random = common::exact::Random(8);
    let records: Vec<Vec<u8>> =
        (0..500).map(|_| (0..random.below(60)).map(|_| random.next() as u8).collect()).collect();
    let mut input: Vec<u8> = records.concat();
    input.push(b'\n');
    let once: Vec<u8> = {
        let mut seen = std::collections::HashSet::new();
        input
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|record| seen.insert(*record))
            .flatten()
            .copied()
            .collect()
    };
    let twice = [input.clone(), input].concat();
    dedup(&[("", &twice, &once)]);
}

#[test]
fn records_may_end_with_nul() {
    dedup(&[("-0", b"a\nb\0c\0a\nb\0d", b"a\nb\0c\0d"), ("-0 --field 2", b"a x\0b x\0c y\0", b"a x\0c y\0")]);
}

#[test]
fn fields_by_number() {
    dedup(&[
        ("--field 2 --delimiter ,", b"1,a\n2,b\n3,a,x\n", b"1,a\n2,b\n"),
        ("--field 3,1 --delimiter ,", b"a,x,b\na,y,b\nb,x,a\n", b"a,x,b\nb,x,a\n"),
        ("--field 2", b"1 \t a  x\n2 a\n", b"1 \t a  x\n"),
        ("--field 2 --delimiter \\t", b"1\ta b\n2\ta b\n3\ta\n", b"1\ta b\n3\ta\n"),
        ("--field 2 --delimiter ,", b"1,a\r\n2,a\n3,a", b"1,a\r\n"),
        ("--field 2 --delimiter ,", b"1,a\n2,a\r", b"1,a\n"),
        ("--csv", b"id,v\n1,a\r\n1,a\n1,a\r", b"id,v\n1,a\r\n"),
        // Two values differ from one value with the same bytes.
        ("--field 1,2 --delimiter ,", b"ab,c\na,bc\n,abc\nab,c,\n", b"ab,c\na,bc\n,abc\n"),
        ("--field 2 --delimiter ,", b"1,\n2,\n", b"1,\n"),
    ]);
}

#[test]
fn csv_with_real_quoting() {
    let input = b"id,user,ts\r\n1,\"Lee, Ann\",5\r\n2,\"Lee, Ann\",6\r\n3,\"two\nlines\",5\r\n4,\"say \"\"hi\"\"\",5\r\n5,\"two\nlines\",9\r\n";
    let once = b"id,user,ts\r\n1,\"Lee, Ann\",5\r\n3,\"two\nlines\",5\r\n4,\"say \"\"hi\"\"\",5\r\n";
    dedup(&[
        ("--csv --column user", input, once),
        ("--csv --column user,ts", input, input),
        // A value is the same with and without quotes.
        ("--csv --column b", b"a,b\n1,x\n2,\"x\"\n", b"a,b\n1,x\n"),
        ("--csv --column b --delimiter ;", b"a;b\n1;x\n2;\"x\"\n3;x,y\n", b"a;b\n1;x\n3;x,y\n"),
        ("--csv", b"a,b\n1,x\n1,x\n2,x", b"a,b\n1,x\n2,x"),
        ("--csv --column a", b"\xef\xbb\xbfa,b\n1,x\n1,y\n", b"\xef\xbb\xbfa,b\n1,x\n"),
        ("--csv --column a", b"a,b", b"a,b"),
        ("--csv --column a", b"", b""),
    ]);
}

#[test]
fn csv_headers_pass_once_and_must_agree() {
    let directory = Directory::new("headers");
    let first = directory.file("1.csv", "id,v\n1,a\n2,b");
    let second = directory.file("2.csv", "id,v\n2,c\n3,d\n");
    let other = directory.file("3.csv", "v,id\na,9\n");
    dedup(&[(&format!("--csv --column id {first} {second}"), b"", b"id,v\n1,a\n2,b\n3,d\n")]);
    let refused = complaint(&format!("dedup --window 10 --csv --column id {first} {other}"), b"", 1);
    assert!(refused.contains("3.csv") && refused.contains("v,id") && refused.contains("id,v"), "{refused}");
    let refused = complaint("dedup --window 10 --csv --column nobody", b"id,v\n1,a\n", 1);
    assert!(refused.contains("`nobody`") && refused.contains("id, v"), "{refused}");
}

#[test]
fn json_by_path() {
    let input = br#"{"user":{"id":1},"x":1}
{"x":2,"user":{"id":1}}
{"user":{"id":2}}
 { "user" : { "id" : 2 } }
{"user":{"id":"\u0032"}}
"#;
    dedup(&[("--json user.id", input, b"{\"user\":{\"id\":1},\"x\":1}\n{\"user\":{\"id\":2}}\n")]);
    let two = b"{\"a\":1,\"b\":2}\n{\"b\":2,\"a\":1}\n{\"a\":12,\"b\":\"\"}\n{\"a\":\"1\",\"b\":3}\n";
    let once = b"{\"a\":1,\"b\":2}\n{\"a\":12,\"b\":\"\"}\n{\"a\":\"1\",\"b\":3}\n";
    dedup(&[("--json a --json b", two, once), ("--json a,b", two, once)]);
    // Some programs begin a file with a byte order mark.
    let marked = "\u{feff}\"k\n1\",v\na,1\na,2\n".as_bytes();
    dedup(&[
        ("--csv --column v", marked, marked),
        ("--json a", b"\xef\xbb\xbf{\"a\":1}\n{\"a\":1}\n", b"\xef\xbb\xbf{\"a\":1}\n"),
    ]);
}

#[test]
fn records_without_a_key_pass_are_dropped_or_end_the_run() {
    let cases: [(&str, &[u8], &[u8]); 3] = [
        ("--field 2 --delimiter ,", b"1,a\nnone\n2,a\nnone\n3,b\n", b"none\nnone\n"),
        ("--csv --column b", b"a,b\n1,a\n1\n2,a\n\n3,b\n", b"1\n\n"),
        (
            "--json k.v",
            b"{\"k\":{\"v\":1}}\n{\"k\":1}\n{\"k\":{\"v\":1}}\nno json\n{\"k\":{\"v\":null}}\n",
            b"",
        ),
    ];
    for (options, input, missing) in cases {
        let line = format!("{DEDUP} {options}");
        let passed = answer(&line, input);
        let dropped = answer(&format!("{line} --missing drop"), input);
        assert!(passed.len() > dropped.len(), "{options}");
        if !missing.is_empty() {
            assert_eq!(passed.len() - dropped.len(), missing.len(), "{options}");
        }
        let count = text(&answer(&format!("{line} --count"), input));
        assert!(count.contains("duplicates 1\n") && !count.contains("missing 0"), "{options}: {count}");
        let refused = complaint(&format!("{line} --missing fail"), input, 1);
        assert!(refused.contains("record") && refused.contains("--missing"), "{refused}");
    }
    // Records before the failure have been written.
    let mut command = common::lately(common::words("dedup --window 10 --field 2 --missing fail"));
    let output = common::run(&mut command, b"1 a\n2 b\n3\n4 c\n");
    assert_eq!((output.status.code(), output.stdout), (Some(1), b"1 a\n2 b\n".to_vec()));
    assert!(text(&output.stderr).contains("record 3"));
}

#[test]
fn keys_of_every_kind() {
    dedup(&[
        // Ranges, and delimiters of several characters.
        ("--field 2-3 --delimiter ,", b"1,a,b\n2,a,b\n3,a,c\n", b"1,a,b\n3,a,c\n"),
        ("--field 2 --delimiter ::", b"1::a:b\n2::a:b::c\n3::a\n", b"1::a:b\n3::a\n"),
        ("--field 2 --delimiter \\x01", b"1\x01a\n2\x01a\n3\x01b\n", b"1\x01a\n3\x01b\n"),
        ("--field 2 --delimiter \\x01 --emit tagged", b"1\x01a\n", b"new\x011\x01a\n"),
        // CSV by number, with and without a header.
        ("--csv --field 2", b"id,n\n1,\"a\"\n2,a\n3,id\n", b"id,n\n1,\"a\"\n3,id\n"),
        ("--csv --no-header --field 2", b"1,\"a\"\n2,a\n3,b\n", b"1,\"a\"\n3,b\n"),
        ("--csv --no-header --field 1", b"\xef\xbb\xbfa,1\na,2\n", b"\xef\xbb\xbfa,1\n"),
        ("--csv --no-header", b"a,1\r\na,1\n\n", b"a,1\r\n\n"),
        // Case.
        ("--ignore-case", b"User\nuser\n\xc3\x84\n\xc3\xa4\nx\r\nx\n", b"User\n\xc3\x84\nx\r\nx\n"),
        ("--ignore-case --field 1,2", b"A b\na B\na c\n", b"A b\na c\n"),
        ("--ignore-case --json id", b"{\"id\":\"X\"}\n{\"id\":\"x\"}\n", b"{\"id\":\"X\"}\n"),
        // Regular expressions.
        (
            "--key-regex user=(\\w+).*ip=([0-9.]+)",
            b"user=a t=1 ip=1.2\nuser=a t=2 ip=1.2\nnone\n",
            b"user=a t=1 ip=1.2\nnone\n",
        ),
        ("--key-regex id-[0-9]+", b"x id-1\ny id-1\nz id-2\n", b"x id-1\nz id-2\n"),
        // JSON: names with dots, elements, and whole records.
        (
            "--json a[1].\"x.y\"",
            b"{\"a\":[0,{\"x.y\":5}]}\n{\"a\":[1,{\"x.y\":5}]}\n{\"a\":[1]}\n",
            b"{\"a\":[0,{\"x.y\":5}]}\n{\"a\":[1]}\n",
        ),
        (
            "--json .",
            b"{\"a\":1,\"b\":[2]}\n{ \"b\":[2], \"a\":1 }\n{\"a\":1}\n",
            b"{\"a\":1,\"b\":[2]}\n{\"a\":1}\n",
        ),
    ]);
    let timed = |options: &str, input: &[u8]| {
        let line = format!("dedup --within 1m {options}");
        common::text(&answer(&line, input)).lines().count()
    };
    let log = b"[1700000000] a\n[1700000030] a\n[1700000300] a\n";
    assert_eq!(timed("--key-regex \\[(?<time>\\d+)\\].(.*) --time-field time", log), 2);
    assert_eq!(
        timed("--csv --no-header --field 2 --time-field 1", b"1700000000,a\n1700000030,a\n1700000300,a\n"),
        2
    );
    assert_eq!(
        timed(
            "--json id --time-field t[0]",
            b"{\"id\":1,\"t\":[1700000000]}\n{\"id\":1,\"t\":[1700000001]}\n"
        ),
        1
    );
}

/// Values are found in the same way wherever the record is in a block, and however long it is.
#[test]
fn long_records_and_many_columns_have_the_same_keys() {
    let mut random = common::exact::Random(2);
    let (mut csv, mut json, mut expected) = (String::from("pad,q,key\n"), String::new(), Vec::new());
    for number in 0..20_000 {
        let (pad, key) = ("x,\"\"y\n".repeat(random.below(20) as usize), random.below(3_000));
        writeln!(csv, "\"{pad}\",5\" pipe,key {key}").unwrap();
        let escapes = "\\\"".repeat(random.below(40) as usize);
        writeln!(json, "{{\"pad\":{escapes:?},\"n\":[{number},{{}}],\"key\":\"key {key}\"}}").unwrap();
        expected.push(format!("key {key}"));
    }
    let mut exact = std::collections::HashSet::new();
    let new: Vec<bool> = expected.iter().map(|key| exact.insert(key)).collect();
    for (options, input) in [("--csv --column key", &csv), ("--csv --field 3", &csv), ("--json key", &json)] {
        let line = format!("dedup --window 100k --fp 1e-12 {options} --emit tagged");
        let output = answer(&line, input.as_bytes());
        let found = common::text(&output);
        let tags: Vec<bool> = found
            .lines()
            .filter_map(|line| {
                if line.starts_with("new") { Some(true) } else { line.starts_with("seen").then_some(false) }
            })
            .collect();
        assert!(tags == new, "{options}: {} of {}", tags.len(), new.len());
    }
}

#[test]
fn records_without_a_key_are_told_once() {
    let input: String = (0..100)
        .map(|n| if n % 20 == 7 { format!("{{\"id\":{n}}}\n") } else { "{\"no\":1}\n".into() })
        .collect();
    let told = |options: &str, input: &str| {
        let output = common::run(
            &mut common::lately(common::words(&format!("dedup --window 10 {options}"))),
            input.as_bytes(),
        );
        assert!(output.status.success());
        common::text(&output.stderr)
    };
    assert_eq!(
        told("--json id", &input),
        "lately: 95 of 100 records lack a value of their key, and passed without a check: the first is record 1 of the run\n"
    );
    assert_eq!(
        told("--json id --missing drop", &input),
        "lately: 95 of 100 records lack a value of their key, and were left out: the first is record 1 of the run\n"
    );
    // A header is counted, so that the number is the line's.
    assert!(told("--csv --column b", "a,b\n1,2\n1\n").ends_with(": the first is record 3 of the run\n"));
    assert_eq!(told("--json id", "{\"id\":1}\n"), "");
    for (path, right) in
        [("$.ev.id", "ev.id"), ("$..id", "id"), (".ev.id", "ev.id"), ("/ev/id", "ev.id"), ("$", "user.id")]
    {
        let refused = complaint(&format!("dedup --window 10 --json {path}"), b"", 2);
        assert!(
            refused.contains(&format!("write {right}")) || refused.contains(&format!("for example {right}")),
            "{refused}"
        );
    }
}

#[test]
fn a_huge_header_is_not_repeated_in_full() {
    let directory = common::Directory::new("header");
    let names = "column,".repeat(100_000);
    let first = directory.file("first", format!("{names}\n"));
    let second = directory.file("second", format!("{names}other\n"));
    for flags in [format!("--csv --column none {first}"), format!("--csv {first} {second}")] {
        let refused = complaint(&format!("dedup --window 10 {flags}"), b"", 1);
        assert!(refused.len() < 3_000 && refused.contains("..."), "{} bytes", refused.len());
    }
}

#[test]
fn times_in_fields_columns_and_paths() {
    let expired = "--within 10s --capacity 1000 --fp 1e-9 --slack 0.2";
    let run = |options: &str, input: &[u8]| text(&answer(&format!("dedup {expired} {options}"), input));
    let lines = b"1700000000 a\n1700000009 a\n1700000100 a\n";
    assert_eq!(run("--time-field 1 --field 2", lines), "1700000000 a\n1700000100 a\n");
    let csv = b"t,k\n2024-01-01T00:00:00Z,a\n2024-01-01T00:00:09.5Z,a\n2024-01-01T00:01:40+00:00,a\n";
    let kept = "t,k\n2024-01-01T00:00:00Z,a\n2024-01-01T00:01:40+00:00,a\n";
    assert_eq!(run("--csv --column k --time-field t", csv), kept);
    let json = b"{\"t\":{\"ms\":1700000000000},\"k\":1}\n{\"t\":{\"ms\":1700000009000},\"k\":1}\n{\"t\":{\"ms\":1700000100000},\"k\":1}\n";
    assert_eq!(run("--json k --time-field t.ms", json).lines().count(), 2);
    // The same numbers, read as milliseconds, are a tenth of a second apart.
    assert_eq!(run("--time-field 1 --time-unit ms --field 2", lines), "1700000000 a\n");
    // A record without a time is a record without a key.
    assert_eq!(run("--time-field 1 --field 2 --missing drop", b"soon a\n1700000000 b\n"), "1700000000 b\n");
    // Without key flags, the whole record is the key.
    assert_eq!(
        run("--time-field 1", b"1700000000 a\n1700000000 a\n1700000001 a\n"),
        "1700000000 a\n1700000001 a\n"
    );
}

#[test]
fn several_values_are_the_key_that_tuples_are_in_rust() {
    let directory = Directory::new("several");
    // The last user needs a key on the heap.
    let long = "x".repeat(1_000);
    let csv = format!("user,id,page\nuser-5,1,17\n\"user\"\"5\",2,\n{long},3,18\n");
    let lines = format!("user-5:1:17\nuser\"5:2:\n{long}:3:18\n");
    let json = [
        r#"{"user":"user-5","page":17}"#,
        r#"{"page":"","user":"user\"5"}"#,
        &format!(r#"{{"user":"{long}","page":"18"}}"#),
    ];
    let json = json.join("\n");
    let formats = [
        ("csv", "--csv --column user,page", csv),
        ("fields", "--field 1,3 --delimiter :", lines),
        ("json", "--json user,page", json.clone()),
        ("json-twice", "--json user --json page", json),
    ];
    let states = formats.map(|(name, options, input)| {
        answer(
            &format!("{DEDUP} {options} --missing fail --state {}", directory.name(name)),
            input.as_bytes(),
        );
        let seen = Filter::load(directory.path(name)).unwrap();
        assert!(
            seen.contains(("user-5", 17)) && seen.contains(("user\"5", "")) && seen.contains((&long, 18)),
            "{name}"
        );
        assert!(
            !seen.contains(("user-51", 7)) && !seen.contains((17, "user-5")) && !seen.contains("user-517"),
            "{name}"
        );
        // The flags are in it too.
        let mut seen = seen;
        seen.set_label(0);
        seen.to_bytes()
    });
    assert!(states.iter().all(|state| *state == states[0]));
    // A key written by hand: each value is LENGTH:VALUE, with a comma after it.
    let found =
        answer(&format!("contains --state {}", directory.name("csv")), b"6:user-5,2:17,\n5:user-,2:17,\n");
    assert_eq!(text(&found), "seen\t6:user-5,2:17,\nnew\t5:user-,2:17,\n");
}

#[test]
fn one_value_is_its_own_bytes() {
    let directory = Directory::new("one-value");
    for (name, options, input) in [
        ("csv", "--csv --column user", "user,page\nuser-5,17\n"),
        ("fields", "--field 1", "user-5 17\n"),
        ("json", "--json user", "{\"user\":\"user-5\",\"page\":17}\n"),
    ] {
        answer(&format!("{DEDUP} {options} --state {}", directory.name(name)), input.as_bytes());
        let seen = Filter::load(directory.path(name)).unwrap();
        assert!(seen.contains("user-5") && !seen.contains("6:user-5,"), "{name}");
    }
}

#[test]
fn the_time_among_the_groups_is_not_part_of_the_key() {
    let directory = common::Directory::new("time-group");
    let state = directory.name("state");
    let groups = r"--key-regex (?<at>\d+):(\w+)";
    common::answer(&format!("dedup --within 1h {groups} --time-field at --state {state}"), b"1700000000:a\n");
    let ask =
        |flags: &str| common::text(&common::answer(&format!("contains --state {state} {flags}"), b"5:a\n"));
    assert_eq!(ask(&format!("{groups} --time-field at")), "seen\t5:a\n");
    assert_eq!(ask(&format!("{groups} --time-field 1")), "seen\t5:a\n");
    assert_eq!(ask(groups), "new\t5:a\n", "both groups are the key");
    // Other groups make other keys.
    let line = format!(
        "dedup --within 1h --key-regex (\\d+):(\\d+):(\\w+) --time-field 1 --state {}",
        directory.name("two")
    );
    common::answer(&line, b"1700000000:1700000001:a\n");
    let told =
        common::complaint(&line.replace("--time-field 1", "--time-field 2"), b"1700000000:1700000001:a\n", 1);
    assert!(told.contains("keys that were made in another way"), "{told}");
    let told = common::complaint(&format!("contains --state {state} --time-field 1"), b"", 2);
    assert!(told.contains("--key-regex"), "{told}");
}

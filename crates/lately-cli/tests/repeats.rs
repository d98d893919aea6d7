//! `--emit summary`: how often a record was left out.

mod common;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};

use common::exact::Random;
use common::{
    Directory, answer, complaint, feed, json, json_file, lately, run, spawn, stdin_of, text, words,
};
use serde_json::Value;

#[test]
fn a_line_tells_how_many_repeats_there_were_and_when() {
    let line = "dedup --within 10m --time-field 1 --field 2 --fp 1e-9 --emit summary";
    let at = |minute: u64, key: &str| format!("{} {key}\n", 1_700_000_000 + minute * 60);
    let input =
        [at(0, "a"), at(1, "a"), at(2, "b"), at(3, "a"), at(4, "b"), at(60, "c"), at(61, "a"), at(62, "a")]
            .concat();
    let told_a = "lately: 2 repeats from 2023-11-14T22:14:20Z to 2023-11-14T22:16:20Z: 1700000060 a\n";
    let told_b = "lately: 1 repeat from 2023-11-14T22:17:20Z to 2023-11-14T22:17:20Z: 1700000240 b\n";
    let last = "lately: 1 repeat from 2023-11-14T23:15:20Z to 2023-11-14T23:15:20Z: 1700003720 a\n";
    let kept = [at(0, "a"), at(2, "b"), at(60, "c")].concat();
    let found = text(&answer(line, input.as_bytes()));
    // All comes in one batch: the line about `a` is before the record that passes again.
    let expected = format!("{kept}{told_a}{}{told_b}{last}", at(61, "a"));
    let mut lines = (found.lines().collect::<Vec<_>>(), expected.lines().collect::<Vec<_>>());
    assert_eq!(lines.0.len(), lines.1.len(), "{found}");
    assert!(found.starts_with(&format!("{kept}{told_a}{}", at(61, "a"))), "{found}");
    lines.0.sort_unstable();
    lines.1.sort_unstable();
    assert_eq!(lines.0, lines.1);

    // As JSON and as CSV, the lines are JSON and CSV too.
    let json_line = "dedup --window 10 --json id --emit summary";
    let found = text(&answer(json_line, b"{\"id\":1}\n{\"id\":1,\"n\":2}\n{\"id\":1}\n"));
    let about: Vec<Value> = found.lines().map(json).collect();
    assert_eq!(about.len(), 2, "{found}");
    assert_eq!(about[1]["lately"]["repeats"], 2);
    assert_eq!(about[1]["lately"]["record"]["n"], 2);
    let csv_line = "dedup --window 10 --csv --column id --emit summary";
    let found = text(&answer(csv_line, b"id,n\n1,x\n1,y\n2,z\n"));
    let rows: Vec<&str> = found.lines().collect();
    assert_eq!(rows[..3], ["repeats,first,last,id,n", "0,,,1,x", "0,,,2,z"], "{found}");
    assert!(rows[3].starts_with("1,20") && rows[3].ends_with("Z,1,y") && rows.len() == 4, "{found}");
}

#[test]
fn the_repeats_of_all_lines_and_the_others_are_all_repeats() {
    let directory = Directory::new("repeats-total");
    let stats = directory.name("stats.json");
    let mut random = Random(8);
    let mut input = String::new();
    for _ in 0..60_000 {
        // A few keys are frequent, many are rare.
        let most = random.below(2_000) + 1;
        let key = random.below(most);
        writeln!(input, "key{key}").unwrap();
    }
    for flags in [
        "--window 500",
        "--window 5000 --top 20",
        "--window 100000 --top 5",
        "--within 1h --refresh first --top 1",
    ] {
        let line = format!("dedup {flags} --emit summary --stats-json {stats}");
        let output = run(&mut lately(words(&line)), input.as_bytes());
        let (written, told) = (text(&output.stdout), text(&output.stderr));
        let of = |line: &str| line.strip_prefix("lately: ")?.split_once(" repeat")?.0.parse::<u64>().ok();
        let in_lines: u64 = written.lines().filter_map(of).sum();
        let others =
            told.lines().find(|line| line.contains("repeats are in no line")).and_then(of).unwrap_or(0);
        let stats = json_file(stats.as_ref());
        assert_eq!(in_lines + others, stats["duplicates"].as_u64().unwrap(), "{flags}: {told}");
        assert_eq!(others > 0, flags.contains("top"), "{flags}: {told}");
        let records = written.lines().filter(|line| !line.starts_with("lately: ")).count() as u64;
        assert_eq!(records, stats["unique"].as_u64().unwrap());
    }
    assert!(complaint("dedup --window 10 --top 5", b"", 2).contains("--emit summary"));
}

/// In a stream that pauses, the line comes when the window has passed.
#[test]
fn a_line_does_not_wait_for_the_next_record() {
    let mut child = spawn(&mut lately(words("dedup --within 100ms --emit summary")));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = move || lines.next().unwrap().unwrap();
    feed(&mut child, b"a\na\na\n");
    assert_eq!(next(), "a");
    let told = next();
    assert!(told.starts_with("lately: 2 repeats from ") && told.ends_with(": a"), "{told}");
    // At the end, the repeats that are left are told.
    feed(&mut child, b"b\nb\n");
    assert_eq!(next(), "b");
    drop(stdin_of(&mut child));
    assert!(next().ends_with(": b"));
    assert!(child.wait().unwrap().success());
}

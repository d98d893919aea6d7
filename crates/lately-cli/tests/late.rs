//! A clock that cannot run away: late records, times too far ahead, and states whose clock is wrong.

mod common;

use std::fmt::Write as _;

use common::exact::Random;
use common::{Directory, complaint, json_file, lately, run, text, words};
use lately::Filter;

const DEDUP: &str = "dedup --within 1h --capacity 10000 --fp 1e-9 --time-field 1 --field 2";
/// 2023-11-14T22:13:20Z, in seconds.
const START: u64 = 1_700_000_000;
const HOUR: u64 = 3_600;

#[track_caller]
fn dedup(options: &str, input: &str) -> (String, String) {
    let output = run(&mut lately(words(&format!("{DEDUP} {options}"))), input.as_bytes());
    assert!(output.status.success(), "{options}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn lines(records: &[(u64, &str)]) -> String {
    records.iter().flat_map(|(time, key)| [time.to_string(), format!(" {key}\n")]).collect()
}

#[test]
fn a_late_record_passes_and_is_told() {
    let input = lines(&[
        (START, "a"),
        (START + 2 * HOUR, "b"),
        // An hour behind: still checked.
        (START + HOUR, "b"),
        // More than an hour behind: it is not compared with `b`, which came more than an hour after it.
        (START + HOUR - 1, "b"),
        (START, "a"),
        (START + 2 * HOUR, "a"),
    ]);
    let (kept, told) = dedup("--emit tagged", &input);
    let tags: Vec<_> = common::tags(&kept);
    // The late `a` is not remembered: it would count as of the latest time.
    assert_eq!(tags, ["new", "new", "seen", "late", "late", "new"]);
    let expected = "lately: 3 of 6 records came behind the latest time, by up to 2h; 2 of them by more than --within 1h, \
                    too late to check, and passed without a check: the first is record 4 of the run: its time, \
                    2023-11-14T23:13:19Z, is 1h1s behind the latest one, 2023-11-15T00:13:20Z; sort the records by time, or \
                    leave these out with --late drop; if the latest time is wrong, use --max-jump\n";
    assert_eq!(told, expected);
    let kept = |options: &str| dedup(options, &input).0.lines().count();
    assert_eq!((kept(""), kept("--late pass"), kept("--late drop"), kept("--emit duplicates")), (5, 5, 3, 1));
    let (_, told) = dedup("--late drop", &input);
    assert!(
        told.contains(", too late to check, and were left out: the first is record 4 of the run: "),
        "{told}"
    );
    assert!(
        told.ends_with("; sort the records by time; if the latest time is wrong, use --max-jump\n"),
        "{told}"
    );
    let (counts, _) = dedup("--count", &input);
    assert_eq!(counts, "records 6\nunique 3\nduplicates 1\nmissing 0\nlate 2\n");
}

#[test]
fn a_late_record_can_end_the_run() {
    let directory = Directory::new("late-fail");
    let state = directory.name("state");
    let input = lines(&[(START, "a"), (START + 2 * HOUR, "b"), (START, "c"), (START + 2 * HOUR, "d")]);
    let line = format!("{DEDUP} --late fail --state {state}");
    let output = run(&mut lately(words(&line)), input.as_bytes());
    assert_eq!((output.status.code(), text(&output.stdout).lines().count()), (Some(1), 2));
    let told = text(&output.stderr);
    assert!(
        told.contains("record 3 of the run: its time, 2023-11-14T22:13:20Z, is 2h behind the latest one"),
        "{told}"
    );
    assert!(told.contains("--late pass") && told.lines().count() == 1, "{told}");
    // What was written is remembered, and nothing else.
    let seen = Filter::load(state).unwrap();
    assert_eq!(
        [seen.contains("a"), seen.contains("b"), seen.contains("c"), seen.contains("d")],
        [false, true, false, false]
    );
}

#[test]
fn a_file_that_is_not_sorted_loses_no_record() {
    // Every day's records once, the days out of order: no record is within an hour of its repeat.
    let days = [0, 3, 1, 2, 5, 4];
    let input: String = days
        .iter()
        .flat_map(|day| {
            (0..100).flat_map(move |key| [(START + day * 24 * HOUR).to_string(), format!(" key{key}\n")])
        })
        .collect();
    let (kept, told) = dedup("", &input);
    assert_eq!(kept.lines().count(), 600);
    assert!(
        told.contains("300 of 600 records came behind the latest time, by up to 2d; 300 of them"),
        "{told}"
    );
}

#[test]
fn a_little_disorder_is_told_only_if_it_matters() {
    let input = |behind| lines(&[(START, "a"), (START + HOUR, "b"), (START + HOUR - behind, "c")]);
    assert_eq!(dedup("", &input(5)).1, "");
    let (_, told) = dedup("", &input(HOUR / 2));
    assert!(
        told.contains("1 of 3 records came behind the latest time, by up to 30m, and were checked as if"),
        "{told}"
    );
}

#[test]
fn a_time_far_ahead_is_not_believed() {
    let directory = Directory::new("jump");
    let absurd = 4_200_000_000; // The year 2103.
    for first in [true, false] {
        let mut records =
            vec![(START, "a"), (START + 1, "a"), (START + 2 * HOUR, "a"), (START + 2 * HOUR + 1, "a")];
        records.insert(if first { 0 } else { 2 }, (absurd, "b"));
        let stats = directory.name("stats.json");
        let (kept, told) = dedup(&format!("--stats-json {stats}"), &lines(&records));
        let times: Vec<_> =
            kept.lines().map(|line| line.split(' ').next().unwrap().parse::<u64>().unwrap()).collect();
        assert_eq!(
            times.iter().filter(|time| **time != absurd).copied().collect::<Vec<_>>(),
            [START, START + 2 * HOUR]
        );
        assert_eq!(times.len(), 3, "the record itself passes");
        let number = if first { 1 } else { 3 };
        assert!(told.starts_with(&format!(
            "lately: 1 of 5 records have a time that was not believed, and passed as records without a time: the first is \
             record {number} of the run: its time, 2103-02-04T02:40:00Z, is "
        )), "{told}");
        assert!(told.contains(" ahead of the system's clock, "), "{told}");
        assert!(told.ends_with("; if it is right, believe it with --max-jump SPAN\n"), "{told}");
        let stats = json_file(stats.as_ref());
        assert_eq!(
            (stats["missing"].as_u64(), stats["refused_times"].as_u64(), stats["late"].as_u64()),
            (Some(1), Some(1), Some(0))
        );
        assert_eq!(dedup("--missing drop", &lines(&records)).0.lines().count(), 2);
        let refused = complaint(&format!("{DEDUP} --missing fail"), lines(&records).as_bytes(), 1);
        assert!(refused.contains(&format!("record {number} of the run: its time, 2103-")), "{refused}");
        // Whoever means it can say so.
        let (kept, _) = dedup("--max-jump 10000w", &lines(&[(START, "a"), (absurd, "b"), (absurd, "b")]));
        assert_eq!(kept.lines().count(), 2);
    }
}

/// As an editor counts the lines of the file.
#[test]
fn headers_count_in_the_numbers_of_records() {
    let input = "t k\n1700000000 a\n4200000000 b\n1700007200 a\n1700000000 b\nsoon b\n";
    let line = "dedup --within 1h --capacity 10000 --csv --delimiter ; --time-field t --column k";
    let output = run(&mut lately(words(line)), input.replace(' ', ";").as_bytes());
    let told = text(&output.stderr);
    let numbers: Vec<_> = told.lines().map(|line| line.split(" is record ").nth(1).unwrap()).collect();
    assert!(numbers[0].starts_with("5 of the run: its time, 2023-11-14T22:13:20Z, is 2h behind"), "{told}");
    assert!(numbers[1].starts_with("3 of the run: its time, 2103-"), "{told}");
    assert!(numbers[2].starts_with("6 of standard input: `soon`"), "{told}");
}

#[test]
fn the_longest_jump_is_the_users() {
    let input = lines(&[
        (START, "a"),
        (START + 30, "b"),
        (START + 31 + HOUR, "c"),
        (START + 30 + HOUR, "d"),
        (START + 30 + HOUR, "d"),
    ]);
    let (kept, told) = dedup("--max-jump 1h --emit tagged", &input);
    assert_eq!(common::tags(&kept), ["new", "new", "missing", "new", "seen"]);
    assert!(
        told.contains(
            "record 3 of the run: its time, 2023-11-14T23:13:51Z, is 1h1s ahead of the latest time, 2023-11-14T22:13:50Z"
        ),
        "{told}"
    );
    assert_eq!(dedup("", &input).1, "", "long gaps are usual");
}

/// Late, refused and other records in any order give the same tags and the same filter as one by one.
#[test]
fn every_record_is_judged_by_the_latest_time_before_it() {
    let (span, jump) = (HOUR * 1_000, 5 * HOUR * 1_000);
    let directory = Directory::new("any-order");
    let state = directory.name("state");
    let mut random = Random(11);
    let (mut now, mut latest) = (START * 1_000, None);
    let builder = Filter::builder().time_window(std::time::Duration::from_millis(span)).capacity(10_000);
    let mut filter = builder.false_positive_rate(1e-9).build().unwrap();
    let (mut input, mut expected) = (String::new(), Vec::new());
    for _ in 0..20_000 {
        now += random.below(60_000);
        let time = match random.below(10) {
            0 => now - random.below(2 * span),
            1 => now + random.below(2 * jump),
            2 => latest.unwrap_or(now),
            _ => now,
        };
        let key = format!("order-{}", random.below(200));
        writeln!(input, "{time} {key}").unwrap();
        // Before the first time, the system's clock limits the jump, and it is years ahead.
        if latest.is_some_and(|latest| time > latest + jump) {
            expected.push("missing");
            continue;
        }
        filter.advance_to(time);
        let is_late = latest.is_some_and(|latest| time + span < latest);
        latest = latest.max(Some(time));
        now = now.max(time);
        expected.push(match () {
            () if is_late => "late",
            () if filter.check_and_insert(&key) => "seen",
            () => "new",
        });
    }
    let (tagged, _) = dedup(&format!("--max-jump 5h --emit tagged --state {state}"), &input);
    assert_eq!(common::tags(&tagged), expected);
    for tag in ["new", "seen", "late", "missing"] {
        assert!(expected.iter().filter(|found| **found == tag).count() > 300, "{tag}");
    }
    let found = Filter::load(state).unwrap();
    filter.set_label(found.label());
    filter.set_clock(lately::Clock::Events);
    assert!(found == filter, "bit for bit, counters and clock included");
}

#[test]
fn a_state_whose_clock_is_ahead_is_told() {
    let directory = Directory::new("ahead");
    let (state, now) = (directory.name("state"), 1_700_000_000_000);
    let save = |latest_ms| {
        let builder = Filter::builder().time_window(std::time::Duration::from_secs(HOUR)).capacity(10_000);
        let mut filter = builder.false_positive_rate(1e-9).build().unwrap();
        filter.advance_to(latest_ms);
        filter.save(&state).unwrap();
    };
    save(4_200_000_000_000);
    let with_state = format!("--state {state}");
    let (_, told) = dedup(&with_state, &lines(&[(START, "a")]));
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with(&format!(
            "lately: {state}: its clock, 2103-02-04T02:40:00Z, is ahead of the system's clock, 20"
        )),
        "{told}"
    );
    assert!(first.contains("name another --state file") && told.lines().count() == 2, "{told}");
    assert!(
        first.contains("records of today are late, so they are neither checked nor remembered"),
        "{told}"
    );
    // Without times in the records.
    save(4_200_000_000_000);
    let arrival = format!("dedup --within 1h --capacity 10000 --fp 1e-9 --state {state}");
    let told = text(&run(&mut lately(words(&arrival)), b"a\n").stderr);
    assert!(
        told.contains("is ahead of the system's clock") && told.contains("nothing is forgotten"),
        "{told}"
    );
    // A clock that is ahead of the input only.
    save(now + 7_200_000);
    let (_, told) = dedup(&with_state, &lines(&[(START + 2 * HOUR - 600, "a")]));
    let expected = format!(
        "lately: {state}: its clock, 2023-11-15T00:13:20Z, is ahead of the latest time in the input, 2023-11-15T00:03:20Z"
    );
    assert_eq!(told.lines().next(), Some(expected.as_str()));
    // The usual case: nothing is told.
    assert_eq!(dedup(&with_state, &lines(&[(START + 2 * HOUR + 1, "a")])).1, "");
    // The same file again: its last time is the clock's.
    let again = lines(&[(START + HOUR, "b"), (START + 2 * HOUR + 1, "a")]);
    assert!(!dedup(&with_state, &again).1.contains("ahead"));
    let shown = text(&common::answer(&format!("inspect {state}"), b""));
    assert!(shown.contains("latest time     2023-11-15T00:13:21Z\n"), "{shown}");
}

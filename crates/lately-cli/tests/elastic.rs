//! Time windows without a capacity: memory follows the traffic, and every record of the span is known.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use common::exact::Random;
use common::{Directory, Event, answer, complaint, json, json_file, judge, lately, run, tags, text, words};
use lately::Filter;

const START: u64 = 1_700_000_000_000;
const SPAN_MS: u64 = 600_000;
const DEDUP: &str = "dedup --within 10m --time-field 1 --time-unit ms --field 2";

/// Traffic of a hundred records a minute, with a burst of forty times as many, and repeats at all distances.
fn stream() -> Vec<Event> {
    let mut random = Random(11);
    let mut events: Vec<Event> = Vec::new();
    for minute in 0..120_u64 {
        let records = if (40..45).contains(&minute) { 4_000 } else { 100 };
        for number in 0..records {
            let ms = START + minute * 60_000 + number * 60_000 / records;
            let back = random.below(6_000) + 1;
            let repeats = random.below(3) == 0 && back <= events.len() as u64;
            let key = if repeats {
                events[events.len() - back as usize].key
            } else {
                1_000_000 + events.len() as u64
            };
            events.push(Event { key, ms });
        }
    }
    events
}

fn lines(events: &[Event]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        writeln!(text, "{} order-{}", event.ms, event.key).unwrap();
        text
    })
}

#[test]
fn a_span_alone_keeps_its_promise_at_every_record() {
    let directory = Directory::new("elastic");
    let events = stream();
    for refresh in ["every", "first"] {
        let stats = directory.name("stats.json");
        let line = format!("{DEDUP} --fp 1e-3 --refresh {refresh} --emit tagged --stats-json {stats}");
        let output = text(&answer(&line, lines(&events).as_bytes()));
        judge(&events, &tags(&output), refresh == "every", &|_, ms| ms <= SPAN_MS, 1e-3);
        let stats = json_file(stats.as_ref());
        let bytes = |name: &str| stats[name].as_u64().unwrap();
        // The burst is over, and its memory is free again.
        assert!(bytes("memory_bytes") < 20_000, "{stats}");
        assert!(bytes("peak_memory_bytes") > 40_000 && bytes("peak_memory_bytes") < 200_000, "{stats}");
        assert!(bytes("growths") > 0 && bytes("shrinks") > 0, "{stats}");
        assert!(bytes("max_memory_bytes") > 255 << 20 && bytes("max_memory_bytes") <= 256 << 20, "{stats}");
        assert_eq!(bytes("overloaded_generations"), 0);
    }
}

#[test]
fn a_state_that_grows_continues_where_it_was() {
    let directory = Directory::new("elastic-state");
    let events = stream();
    let line = |state: &str| format!("{DEDUP} --fp 1e-3 --emit tagged --state {}", directory.name(state));
    let whole = answer(&line("whole"), lines(&events).as_bytes());
    let mut random = Random(3);
    let (mut pieces, mut rest) = (Vec::new(), &events[..]);
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.len().min(random.below(4_000) as usize));
        pieces.extend(answer(&line("pieces"), lines(piece).as_bytes()));
        rest = later;
    }
    assert!(text(&pieces) == text(&whole));
    let load = |state: &str| Filter::load(directory.path(state)).unwrap();
    assert!(load("pieces") == load("whole"));

    // The same as record by record.
    let builder = Filter::builder().time_window(Duration::from_millis(SPAN_MS)).false_positive_rate(1e-3);
    let mut filter = builder.build().unwrap();
    filter.set_clock(lately::Clock::Events);
    filter.set_label(load("whole").label());
    for (event, tag) in events.iter().zip(tags(&text(&whole))) {
        filter.advance_to(event.ms);
        assert_eq!(filter.check_and_insert(format!("order-{}", event.key)), tag == "seen");
    }
    assert!(load("whole") == filter);

    let last = events.last().unwrap();
    let ask = format!("order-{}\nnever\n", last.key);
    let contained = answer(&format!("contains --state {}", directory.name("whole")), ask.as_bytes());
    assert_eq!(text(&contained), format!("seen\torder-{}\nnew\tnever\n", last.key));
    let shown = text(&answer(&format!("inspect {}", directory.name("whole")), b""));
    assert!(shown.contains("never forgets the last 10m\n"), "{shown}");
    assert!(shown.contains(&format!("memory          {} bytes", filter.memory_bytes())), "{shown}");
    assert!(shown.contains("follows the traffic up to "), "{shown}");
}

#[test]
fn a_state_with_another_kind_of_memory_is_refused() {
    let directory = Directory::new("elastic-differs");
    let (grows, fixed) = (directory.name("grows"), directory.name("fixed"));
    answer(&format!("dedup --within 10m --max-memory 1MiB --state {grows}"), b"a\n");
    answer(&format!("dedup --within 10m --capacity 1000 --state {fixed}"), b"a\n");
    let stored = Filter::load(&grows).unwrap().plan().memory_bytes;
    for (state, promise, named) in [
        (&grows, "--within 10m --capacity 1000", ["--capacity 1000 was requested", "with no --capacity"]),
        (&fixed, "--within 10m", ["no --capacity was requested", "with --capacity 1000"]),
        (&grows, "--within 1h", ["--within 1h", "--within 10m"]),
        (&grows, "--window 10", ["--window 10", "--within 10m"]),
        (&grows, "--within 10m --fp 1e-7", ["--fp 1e-7", "--fp "]),
    ] {
        let before = fs::read(state).unwrap();
        let refused = complaint(&format!("dedup {promise} --state {state}"), b"b\n", 1);
        assert!(named.iter().all(|name| refused.contains(name)), "{promise}: {refused}");
        assert_eq!(fs::read(state).unwrap(), before);
    }
    // The state's own limit holds if none is given.
    assert_eq!(text(&answer(&format!("dedup --within 10m --state {grows}"), b"a\nb\n")), "b\n");
    assert_eq!(Filter::load(&grows).unwrap().plan().memory_bytes, stored);
}

#[test]
fn the_limit_of_a_state_can_be_changed() {
    let directory = Directory::new("elastic-limit");
    let line = |limit: &str| {
        format!(
            "dedup --within 1h --fp 1e-3 --max-memory {limit} --emit tagged --state {}",
            directory.name("state")
        )
    };
    let many = common::numbers(0..12_000);
    let first = run(&mut lately(words(&line("64KiB"))), &many);
    assert_eq!(text(&first.stderr), "");
    let refused = complaint(&line("32KiB"), b"b\n", 2);
    assert!(
        refused.contains("--max-memory 32768 is too little") && refused.contains("raise it to"),
        "{refused}"
    );
    // Everything is known still, and there is room for more.
    for (limit, from) in [("1MiB", 100_000), ("640KiB", 200_000), ("100MB", 300_000)] {
        let more = [&many[..], &common::numbers(from..from + 20_000)].concat();
        let output = run(&mut lately(words(&line(limit))), &more);
        assert_eq!(text(&output.stderr), "");
        let shown = text(&output.stdout);
        assert!(tags(&shown)[..12_000].iter().all(|tag| *tag == "seen"), "{limit}");
        let new = tags(&shown)[12_000..].iter().filter(|tag| **tag == "new").count();
        assert!(new > 19_900, "{limit}: {new}");
    }
    // What was overloaded is told what to do, and that it does not help at once.
    let overloaded = line("12KiB").replace("/state", "/other");
    let told = text(&run(&mut lately(words(&overloaded)), &many).stderr);
    assert!(told.contains("use a higher --max-memory, also with this state"), "{told}");
    // Every limit is one of which the rate is kept.
    for kibibytes in (700..4_000).step_by(331) {
        answer(&line(&format!("{kibibytes}KiB")), b"x\n");
    }
}

#[test]
fn at_the_limit_every_record_is_known_and_the_overload_is_told_once() {
    let input = common::numbers(0..40_000);
    let output = run(
        &mut lately(words("dedup --within 1h --max-memory 64KiB --fp 1e-3 --emit tagged --stats")),
        &[&input[..], &input].concat(),
    );
    assert!(output.status.success());
    let kept = text(&output.stdout);
    assert!(tags(&kept)[40_000..].iter().all(|tag| *tag == "seen"));
    let told = text(&output.stderr);
    assert_eq!(told.matches("overloaded generations: ").count(), 1, "{told}");
    assert!(
        told.contains("overloaded generations: 1, because more records came than --max-memory "),
        "{told}"
    );
    assert!(
        told.contains("% of new records are left out as repeats now; use a higher --max-memory"),
        "{told}"
    );
    assert!(told.contains("grows to at most ") && told.contains(" at its peak\n"), "{told}");
}

/// A later run on the same state leaves out new records as well, and must say so.
#[test]
fn an_overloaded_state_is_told_in_every_run() {
    let directory = Directory::new("overloaded-state");
    let flags = format!("dedup --within 1h --max-memory 12KiB --state {}", directory.name("state"));
    let runs = [common::numbers(0..6_000), common::numbers(10_000..10_500)];
    let told = runs.map(|input| text(&run(&mut lately(words(&flags)), &input).stderr));
    assert!(told[0].contains("overloaded generations: "), "{}", told[0]);
    assert!(
        told[1].contains("is still overloaded") || told[1].contains("overloaded generations: "),
        "{}",
        told[1]
    );
    assert!(told[1].contains("% of new records are left out as repeats now"), "{}", told[1]);
}

#[test]
fn plans_say_that_memory_follows_the_traffic() {
    let shown = text(&answer("plan --within 10m", b""));
    assert!(shown.starts_with("memory follows the traffic; ") && shown.lines().count() == 4, "{shown}");
    let plans = json(answer("plan --within 10m --max-memory 1MiB --json", b""));
    assert!(plans["plans"][0]["memory_bytes"].as_u64().unwrap() <= 1 << 20);
    for (flags, named) in [
        ("--layout rows", ["--layout", "--capacity"]),
        ("--fp 1e-12", ["--fp 1e-12", "--fp 2."]),
        ("--max-memory 1k", ["--max-memory 1000", "raise it"]),
        ("--shards 4", ["--shards", "--capacity"]),
        ("--plot x.svg", ["--plot", "--capacity"]),
        ("--slack 0.01", ["--slack", "0.0625"]),
    ] {
        let refused = complaint(&format!("plan --within 10m {flags}"), b"", 2);
        assert!(named.iter().all(|name| refused.contains(name)), "{flags}: {refused}");
    }
}

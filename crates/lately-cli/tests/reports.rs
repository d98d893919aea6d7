//! Statistics while a stream runs, and outputs besides standard output.

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use common::{Directory, answer, complaint, expect, feed, json, lately, run, spawn, stdin_of, text, words};
use lately::Filter;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

#[test]
fn a_signal_or_the_clock_asks_for_a_line_of_statistics() {
    let directory = Directory::new("every");
    let state = directory.name("state");
    let mut child = spawn(&mut lately(words(&format!("dedup --within 1h --state {state}"))));
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut next = move || json(told.next().unwrap().unwrap());
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    feed(&mut child, b"a\nb\na\n");
    expect(&mut child, b"a\nb\n");
    for records in [3, 4] {
        kill_process(pid, Signal::USR1).unwrap();
        let line = next();
        let is = |name: &str, value: u64| assert_eq!(line[name].as_u64(), Some(value), "{name}: {line}");
        is("records", records);
        is("unique", records - 1);
        is("late", 0);
        for name in [
            "memory_bytes",
            "estimated_false_positive_rate",
            "checkpoint_age_seconds",
            "recent_records_per_second",
        ] {
            assert!(line[name].is_number(), "{name}: {line}");
        }
        feed(&mut child, b"c\n");
        if records == 3 {
            expect(&mut child, b"c\n");
        }
    }
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());

    let mut child = spawn(&mut lately(words("dedup --window 100 --stats-every 20ms")));
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..3 {
        assert_eq!(json(told.next().unwrap().unwrap())["records"].as_u64(), Some(0));
    }
    feed(&mut child, b"a\n");
    expect(&mut child, b"a\n");
    while json(told.next().unwrap().unwrap())["records"] != 1 {}
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());
}

#[test]
fn metrics_are_a_file_that_is_never_half_written() {
    let directory = Directory::new("metrics");
    let (metrics, state) = (directory.name("lately.prom"), directory.name("state"));
    let line = format!("dedup --within 1h --stats-every 1ms --metrics-file {metrics} --state {state}");
    let mut child = spawn(&mut lately(words(&line)));
    feed(&mut child, b"a\nb\na\n");
    expect(&mut child, b"a\nb\n");
    let started = Instant::now();
    let mut reads = 0;
    while reads < 500 {
        assert!(started.elapsed() < Duration::from_secs(60));
        let Ok(found) = fs::read_to_string(&metrics) else { continue };
        assert!(found.ends_with('\n') && found.contains("\nlately_checkpoint_age_seconds "), "{found}");
        reads += 1;
    }
    drop(stdin_of(&mut child));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stderr), "");
    let found = fs::read_to_string(&metrics).unwrap();
    for line in [
        "# TYPE lately_records_total counter\nlately_records_total 3\n",
        "\nlately_duplicates_total 1\n",
        "\nlately_late_total 0\n",
        "# TYPE lately_memory_bytes gauge\nlately_memory_bytes ",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
    // Every line is a comment, or a name and a number.
    for line in found.lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.split_once(' ').unwrap();
        assert!(name.starts_with("lately_") && value.parse::<f64>().is_ok(), "{line}");
    }
    assert_eq!(directory.entries(), ["lately.prom", "state", "state.lock"]);
    // If it cannot be written any more, the stream goes on.
    let (gone, file) = (directory.path("gone"), directory.name("gone/x"));
    fs::create_dir(&gone).unwrap();
    let mut child = spawn(&mut lately(words(&format!("dedup --window 10 --metrics-file {file}"))));
    feed(&mut child, b"a\n");
    common::expect(&mut child, b"a\n");
    fs::remove_dir_all(&gone).unwrap();
    feed(&mut child, b"b\n");
    common::expect(&mut child, b"b\n");
    drop(common::stdin_of(&mut child));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gone/x: No such file"));
}

#[test]
fn unique_records_and_repeats_go_to_files() {
    let directory = Directory::new("outputs");
    let (unique, repeats, state) =
        (directory.name("unique"), directory.name("repeats"), directory.name("state"));
    let read = |path: &str| fs::read_to_string(path).unwrap();
    let line = format!("dedup --csv -w 10 --column id -o {unique} --duplicates-to {repeats}");
    for _ in 0..2 {
        assert_eq!(text(&answer(&line, b"id,n\n1,a\n1,b\n2,c\n")), "");
        assert_eq!((read(&unique), read(&repeats)), ("id,n\n1,a\n2,c\n".into(), "id,n\n1,b\n".into()));
    }
    // With a state, the runs are one stream.
    fs::remove_file(&unique).unwrap();
    fs::remove_file(&repeats).unwrap();
    let line = format!("{line} -s {state}");
    answer(&line, b"id,n\n1,a\n1,b\n2,c\n");
    answer(&line, b"id,n\n1,d\n3,e\n");
    assert_eq!((read(&unique), read(&repeats)), ("id,n\n1,a\n2,c\n3,e\n".into(), "id,n\n1,b\n1,d\n".into()));
    // Standard output and a file.
    let line = format!("dedup --window 10 --duplicates-to {repeats}");
    assert_eq!(text(&answer(&line, b"a\na\nb\nb")), "a\nb\n");
    assert_eq!(read(&repeats), "a\nb");
    let refused = complaint(&format!("dedup --window 10 -o {unique} --duplicates-to {unique}"), b"", 2);
    assert!(refused.contains("--output and --duplicates-to are the same file"), "{refused}");
    let refused = complaint(&format!("dedup --window 10 --output {unique} {unique}"), b"", 2);
    assert!(refused.contains("an input and --output") && !read(&unique).is_empty(), "{refused}");
    let output = run(&mut lately(words(&format!("dedup --window 10 -s {state}2 -o /dev/full"))), b"a\n");
    assert!(text(&output.stderr).contains("/dev/full: No space left"), "{}", text(&output.stderr));
    assert!(!directory.path("state2").exists());
}

#[test]
fn repeats_can_be_the_exit_code() {
    let directory = Directory::new("exit");
    let line = format!("dedup --window 10 --fail-on-duplicates --state {}", directory.name("state"));
    let output = run(&mut lately(words(&line)), b"a\nb\n");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let output = run(&mut lately(words(&line)), b"b\nc\n");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), "c\n"));
    assert_eq!(text(&output.stderr), "");
    assert!(Filter::load(directory.path("state")).unwrap().contains("c"), "the state is saved");
}

#[test]
fn a_process_can_wait_for_the_state() {
    let directory = Directory::new("wait");
    let line = format!("dedup --window 10 --state {}", directory.name("state"));
    let mut first = spawn(&mut lately(words(&line)));
    feed(&mut first, b"a\n");
    expect(&mut first, b"a\n");
    let mut second = lately(words(&format!("{line} --wait")));
    let mut second = second.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    feed(&mut second, b"a\nb\n");
    drop(stdin_of(&mut second));
    std::thread::sleep(Duration::from_millis(30));
    assert!(second.try_wait().unwrap().is_none(), "it waits");
    drop(stdin_of(&mut first));
    assert!(first.wait().unwrap().success());
    let output = second.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "b\n"));
    assert!(complaint("dedup --window 10 --wait", b"", 2).contains("--state"));
}

#[test]
fn the_commonest_flags_have_short_names() {
    assert_eq!(text(&answer("dedup -w 10 -f 2 -d ,", b"1,a\n2,a\n")), "1,a\n");
    assert_eq!(text(&answer("dedup -t 1h -j id", b"{\"id\":1}\n{\"id\":1}\n")), "{\"id\":1}\n");
    let Value::Object(_) = json(answer("plan -w 10 --json", b"")) else { panic!("no plans") };
}

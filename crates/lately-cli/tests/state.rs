//! States: restarts, signals, crashes and other processes.

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::exact::Random;
use common::{Directory, answer, complaint, expect, feed, lately, numbers, spawn, stdin_of, text, words};
use lately::{Filter, HashFunction};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn several_runs_on_one_state_equal_one_run() {
    let directory = Directory::new("pieces");
    let mut random = Random(5);
    let records: Vec<String> = (0..5_000).map(|_| format!("{}\n", random.below(3_000))).collect();
    let line = |state: &str| format!("dedup --window 700 --fp 1e-2 --state {}", directory.name(state));
    let whole = answer(&line("whole"), records.concat().as_bytes());
    let mut pieces = Vec::new();
    let mut rest = records.as_slice();
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.len().min(random.below(900) as usize));
        pieces.extend(answer(&line("pieces"), piece.concat().as_bytes()));
        rest = later;
    }
    assert_eq!(text(&pieces), text(&whole));
    let load = |state: &str| Filter::load(directory.path(state)).unwrap();
    assert!(load("pieces") == load("whole"));
    assert_eq!(directory.entries(), ["pieces", "pieces.lock", "whole", "whole.lock"]);
}

#[test]
fn a_state_with_another_promise_is_refused_and_the_error_names_the_difference() {
    let directory = Directory::new("differs");
    let count = directory.name("count");
    let time = directory.name("time");
    answer(&format!("dedup --window 1000 --fp 1e-3 --slack 0.3 --state {count}"), b"a\n");
    answer(&format!("dedup --within 10m --capacity 1000 --fp 1e-3 --state {time}"), b"a\n");
    for (state, promise, named) in [
        (&count, "--window 2000", ["--window 2000", "--window 1000"]),
        (&count, "--within 1m --capacity 1000", ["--within 1m", "--window 1000"]),
        (&count, "--window 1000 --fp 1e-6", ["--fp 1e-6", "--fp 7."]),
        (&count, "--window 1000 --fp 1e-3 --slack 0.01", ["--slack 0.01", "--slack 0."]),
        (&count, "--window 1000 --fp 1e-3 --layout slices", ["--layout slices", "--layout bins"]),
        (&count, "--window 1000 --fp 1e-3 --max-memory 1kB", ["--max-memory 1000", "bytes"]),
        (&time, "--window 1000", ["--window 1000", "--within 10m"]),
        (&time, "--within 11m --capacity 1000", ["--within 11m", "--within 10m"]),
        (&time, "--within 10m --capacity 999", ["--capacity 999", "--capacity 1000"]),
    ] {
        let before = fs::read(state).unwrap();
        let refused = complaint(&format!("dedup {promise} --state {state}"), b"b\n", 1);
        assert!(named.iter().all(|name| refused.contains(name)), "{promise}: {refused}");
        assert!(refused.contains(state.as_str()) && refused.contains("another --state"), "{refused}");
        assert_eq!(fs::read(state).unwrap(), before);
    }
    // A better promise than requested is accepted.
    answer(&format!("dedup --window 1000 --fp 1e-2 --slack 0.5 --max-memory 1MB --state {count}"), b"b\n");
}

/// The printed number is one that is accepted.
#[test]
fn numbers_that_differ_are_printed_so_that_they_differ() {
    let directory = Directory::new("digits");
    let state = directory.name("state");
    answer(&format!("dedup --window 1000 --fp 1e-3 --state {state}"), b"a\n");
    let plan = Filter::load(&state).unwrap().plan();
    for (flag, found) in [("--fp", plan.false_positive_rate), ("--slack", plan.slack())] {
        let asked = found * 0.99999;
        let fp = if flag == "--fp" { "" } else { "--fp 1e-3" };
        let line = |value: &str| format!("dedup --window 1000 {fp} {flag} {value} --state {state}");
        let told = complaint(&line(&asked.to_string()), b"b\n", 1);
        let printed = told.split(&format!("saved with {flag} ")).nth(1).unwrap().split(';').next().unwrap();
        assert!(printed.parse::<f64>().unwrap() > asked, "{told}");
        answer(&line(printed), b"");
    }
}

#[test]
fn a_state_whose_keys_were_made_in_another_way_is_refused() {
    let directory = Directory::new("keys");
    let state = directory.name("state");
    let line = |flags: &str| format!("dedup --window 1000 --state {state} {flags}");
    let record = b"{\"id\":1,\"Id\":2}\n";
    answer(&line("--json id"), record);
    let before = fs::read(&state).unwrap();
    for flags in [
        "",
        "--json Id",
        "--json id,Id",
        "--field 1",
        "--csv",
        "--json id --ignore-case",
        "--key-regex [0-9]",
    ] {
        let refused = complaint(&line(flags), record, 1);
        assert!(
            refused.contains("keys that were made in another way") && refused.contains("--other-keys"),
            "{flags}: {refused}"
        );
        assert_eq!(fs::read(&state).unwrap(), before);
    }
    // The same keys in another spelling, and other flags that do not matter.
    assert_eq!(text(&answer(&line("-j \"id\" --missing drop --max-record 1k"), record)), "");
    // `contains` looks up what it is given.
    assert_eq!(text(&answer(&format!("contains --state {state}"), b"1\n")), "seen\t1\n");
    // The user knows that the keys are the same.
    assert_eq!(text(&answer(&line("--other-keys"), b"1\n2\n")), "2\n");
    assert_eq!(text(&answer(&line(""), b"1\n2\n3\n")), "3\n");
    assert!(complaint(&line("--json id"), record, 1).contains("another way"));
    // A state that another program made does not tell.
    let mut filter = Filter::builder().window(1000).false_positive_rate(1e-4).build().unwrap();
    filter.insert("1");
    filter.save(&state).unwrap();
    assert_eq!(text(&answer(&line("--json id"), record)), "");
    assert!(complaint(&line(""), record, 1).contains("another way"));
}

#[test]
fn a_state_whose_times_come_from_elsewhere_is_refused() {
    let directory = Directory::new("clocks");
    let (arrival, events) = (directory.name("arrival"), directory.name("events"));
    for capacity in ["", "--capacity 1000"] {
        let line = |state: &str, flags: &str| {
            format!("dedup --within 1h {capacity} --field 2 --state {state} {flags}")
        };
        let record = b"1700000000 a\n";
        answer(&line(&arrival, ""), record);
        answer(&line(&events, "--time-field 1"), record);
        let refused = complaint(&line(&arrival, "--time-field 1"), record, 1);
        assert!(
            refused.contains("times of arrival") && refused.contains("leave out --time-field"),
            "{refused}"
        );
        let refused = complaint(&line(&events, ""), record, 1);
        assert!(refused.contains("times of records") && refused.contains("give --time-field"), "{refused}");
        let shown = text(&answer(&format!("inspect {events}"), b""));
        assert!(shown.contains("clock           the times of records\n"), "{shown}");
        assert_eq!(common::json(answer(&format!("inspect --json {arrival}"), b""))["clock"], "system");
        // A state that does not tell takes the clock of the run.
        let mut filter = Filter::load(&events).unwrap();
        filter.set_clock(lately::Clock::Unset);
        filter.save(&events).unwrap();
        assert_eq!(text(&answer(&line(&events, "--time-field 1"), record)), "");
        assert!(Filter::load(&events).unwrap().clock() == lately::Clock::Events);
        fs::remove_file(&arrival).unwrap();
        fs::remove_file(&events).unwrap();
    }
}

#[test]
fn a_file_that_is_not_a_state_is_refused_and_not_changed() {
    let directory = Directory::new("nostate");
    let other = directory.file("notes.txt", "not a filter");
    let refused = complaint(&format!("dedup --window 10 --state {other}"), b"a\n", 1);
    assert!(refused.contains("notes.txt") && refused.contains("not a lately snapshot"), "{refused}");
    let state = directory.name("state");
    answer(&format!("dedup --window 10 --state {state}"), b"a\n");
    let bytes = fs::read(&state).unwrap();
    fs::write(&state, &bytes[..bytes.len() - 1]).unwrap();
    for line in ["dedup --window 10 --state", "contains --state", "inspect"] {
        let refused = complaint(&format!("{line} {state}"), b"a\n", 1);
        assert!(refused.contains("cut off") && refused.contains("state"), "{line}: {refused}");
    }
    // This file never ends, but its start shows that it is not a state.
    assert!(complaint("inspect /dev/zero", b"", 1).contains("not a lately snapshot"));
    let refused = complaint("dedup --window 10 --state /dev/null", b"a\n", 1);
    assert!(refused.contains("is not a file"), "{refused}");
    let refused = complaint(&format!("dedup --window 10 --state {}", directory.name("no/where")), b"a\n", 1);
    assert!(
        refused.contains("no/where: the state cannot be saved there") && !refused.contains("lock"),
        "{refused}"
    );
}

#[test]
fn only_one_process_at_a_time_can_use_a_state() {
    let directory = Directory::new("lock");
    let line = format!("dedup --window 10 --checkpoint 1ms --state {}", directory.name("state"));
    let mut first = spawn(&mut lately(words(&line)));
    feed(&mut first, b"a\n");
    expect(&mut first, b"a\n");
    // The lock also holds after a checkpoint has replaced the file.
    wait_until("a checkpoint", || directory.path("state").exists());
    let refused = complaint(&line, b"b\n", 1);
    assert!(refused.contains("another process") && refused.contains("--state"), "{refused}");
    // Reading needs no lock.
    let state = directory.name("state");
    assert_eq!(text(&answer(&format!("contains --state {state}"), b"a\nb\n")), "seen\ta\nnew\tb\n");
    drop(stdin_of(&mut first));
    assert!(first.wait().unwrap().success());
    assert_eq!(answer(&line, b"a\nb\n"), b"b\n");
}

#[test]
fn the_hash_function_of_a_stored_state_is_used() {
    let directory = Directory::new("hash");
    let state = directory.name("state");
    let hash = HashFunction::SipHash13 { key: *b"sixteen secret b" };
    let mut filter =
        Filter::builder().window(1000).false_positive_rate(1e-4).hash_function(hash).build().unwrap();
    filter.insert("a");
    filter.save(&state).unwrap();
    assert_eq!(answer(&format!("dedup --window 1000 --state {state}"), b"a\nb\na\n"), b"b\n");
    let shown = text(&answer(&format!("inspect --json {state}"), b""));
    assert!(shown.contains("siphash13") && !shown.contains("115,"), "the key is secret: {shown}");
}

#[test]
fn a_signal_ends_the_run_in_order_and_saves() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let directory = Directory::new(&format!("signal{code}"));
        let state = directory.name("state");
        let line = format!("dedup --window 1000 --checkpoint 0 --stats --state {state}");
        let mut child = spawn(&mut lately(words(&line)));
        feed(&mut child, b"a\nb\nhalf a record");
        expect(&mut child, b"a\nb\n");
        let held_open = stdin_of(&mut child);
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        drop(held_open);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "half a record is not written");
        assert!(text(&output.stderr).contains("records             2\n"));
        assert_eq!(Filter::load(&state).unwrap().statistics().inserts, 2);
        assert_eq!(answer(&line, b"b\nhalf a record\n"), b"half a record\n");
    }
}

/// `nohup` relies on it, and so do shells that start a job in the background.
#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let line = format!("trap '' HUP INT; exec {} dedup --window 10", env!("CARGO_BIN_EXE_lately"));
    let mut child = spawn(common::program("/bin/sh").args(["-c", &line]));
    feed(&mut child, b"a\n");
    expect(&mut child, b"a\n");
    for signal in [Signal::HUP, Signal::INT] {
        kill(&child, signal);
    }
    std::thread::sleep(Duration::from_millis(50));
    feed(&mut child, b"b\n");
    expect(&mut child, b"b\n");
    let _held_open = stdin_of(&mut child);
    kill(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn after_a_signal_exactly_the_records_that_were_read_are_decided() {
    let directory = Directory::new("flow");
    let records = numbers(0..500_000);
    let input = directory.file("input", &records);
    // A pipe without a writer follows the input, so that the stream does not end before the signal.
    let pipe = fifo(&directory);
    for round in 0..10_u64 {
        let state = directory.name(&format!("state{round}"));
        let line = format!("dedup --window 100k --emit tagged --checkpoint 0 --state {state} - {pipe}");
        // Both processes share the position of the open file: it tells afterwards how far the child has read.
        let mut file = fs::File::open(&input).unwrap();
        let mut child =
            lately(words(&line)).stdin(file.try_clone().unwrap()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let collector = std::thread::spawn(move || 1 + stdout.lines().map_while(Result::ok).count());
        std::thread::sleep(Duration::from_millis(3 * round));
        kill(&child, Signal::TERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        let written = collector.join().unwrap();
        let read = file.stream_position().unwrap() as usize;
        let complete = memchr::memchr_iter(b'\n', &records[..read]).count();
        assert_eq!(written, complete, "round {round}: every record that was read has been written");
        let known = Filter::load(&state).unwrap().statistics().inserts;
        assert_eq!(known, written as u64, "round {round}: every written record is in the state");
    }
}

#[test]
fn a_signal_ends_a_run_that_waits_for_a_pipe_to_be_opened() {
    let directory = Directory::new("fifo");
    let state = directory.name("state");
    let line = format!("dedup --window 100 --state {state} - {}", fifo(&directory));
    let mut child = spawn(&mut lately(words(&line)));
    feed(&mut child, b"a\n");
    drop(stdin_of(&mut child));
    expect(&mut child, b"a\n");
    kill(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(Filter::load(state).unwrap().contains("a"));
}

#[test]
fn a_signal_after_the_end_of_the_input_does_not_interrupt_the_summary() {
    let directory = Directory::new("late");
    let (state, pipe) = (directory.name("state"), fifo(&directory));
    let mut child =
        spawn(&mut lately(words(&format!("dedup --window 100 --state {state} --stats-json {pipe}"))));
    feed(&mut child, b"a\n");
    drop(stdin_of(&mut child));
    // The child waits until the summary is read.
    wait_until("the save", || directory.path("state").exists());
    kill(&child, Signal::TERM);
    for _ in 0..50 {
        assert!(child.try_wait().unwrap().is_none(), "one signal has ended it");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(fs::read_to_string(pipe).unwrap().contains("\"records\": 1"));
    assert!(child.wait().unwrap().success());
    assert!(Filter::load(state).unwrap().contains("a"));
}

#[test]
fn a_symbolic_link_does_not_bypass_the_lock() {
    let directory = Directory::new("link");
    let (state, link) = (directory.name("state"), directory.name("link"));
    let line = format!("dedup --window 100 --state {state}");
    answer(&line, b"a\n");
    std::os::unix::fs::symlink(&state, &link).unwrap();
    let mut child = spawn(&mut lately(words(&line)));
    feed(&mut child, b"b\n");
    expect(&mut child, b"b\n");
    let refused = complaint(&format!("dedup --window 100 --state {link}"), b"c\n", 1);
    assert!(refused.contains("another process"), "{refused}");
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());
    answer(&format!("dedup --window 100 --state {link}"), b"c\n");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(inserts_of(&state), 3);
}

fn fifo(directory: &Directory) -> String {
    let path = directory.name("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    path
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let mut child = spawn(&mut lately(words("dedup --window 1000 --fp 1e-3")));
    // The input is larger than a pipe holds, and the output is not read: the child is stuck in a write.
    let mut stdin = stdin_of(&mut child);
    let feeder = std::thread::spawn(move || {
        let lines = numbers(0..100_000);
        while stdin.write_all(&lines).is_ok() {}
    });
    let mut stuck_for = 0;
    wait_until("the writer to be stuck", || {
        stuck_for = if is_sleeping(&child) { stuck_for + 1 } else { 0 };
        stuck_for >= 50
    });
    kill(&child, Signal::TERM);
    while child.try_wait().unwrap().is_none() {
        kill(&child, Signal::TERM);
        std::thread::sleep(Duration::from_millis(1));
    }
    let status = child.wait().unwrap();
    // If a busy machine delayed the child and it was not stuck yet, the first signal ended it in order.
    assert!(status.signal() == Some(15) || status.code() == Some(143), "{status}");
    drop(child.stdout.take());
    feeder.join().unwrap();
}

#[test]
fn checkpoints_are_made_while_the_stream_pauses() {
    let directory = Directory::new("checkpoint");
    let state = directory.path("state");
    let mut child = spawn(&mut lately(words(&format!(
        "dedup --window 1000 --checkpoint 1ms --state {}",
        directory.name("state")
    ))));
    for number in 1..=5 {
        let record = format!("{number}\n");
        feed(&mut child, record.as_bytes());
        expect(&mut child, record.as_bytes());
        wait_until("a checkpoint", || {
            Filter::load(&state).is_ok_and(|filter| filter.statistics().inserts == number)
        });
    }
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());
}

/// After a kill at any moment, the state can be loaded, it is never older than before, and every record in it
/// has been written.
#[test]
fn kill_9_at_any_moment_neither_damages_the_state_nor_loses_records() {
    kill_at_any_moment("kill", "--window 20000 --fp 1e-12 --layout slices", 60);
}

/// The memory grows meanwhile.
#[test]
fn kill_9_neither_damages_an_elastic_state_nor_loses_records() {
    kill_at_any_moment("kill-elastic", "--within 1h --fp 1e-9", 40);
}

fn kill_at_any_moment(name: &str, promise: &str, rounds: u64) {
    let directory = Directory::new(name);
    let state = directory.name("state");
    let line = format!("dedup {promise} --checkpoint 1ms --state {state}");
    answer(&line, b"");
    let mut random = Random(6);
    let mut known = 0;
    for round in 0..rounds {
        let mut child = spawn(&mut lately(words(&line)));
        let mut stdin = stdin_of(&mut child);
        // The stream continues after the last record in the state.
        let feeder = std::thread::spawn(move || {
            for number in known.. {
                if stdin.write_all(format!("{number}\n").as_bytes()).is_err() {
                    return;
                }
            }
        });
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let collector = std::thread::spawn(move || {
            let whole = stdout.split(b'\n').map_while(Result::ok);
            whole.filter_map(|line| text(&line).parse::<u64>().ok()).collect::<Vec<u64>>()
        });
        // Most rounds kill at any moment, the start included; some only after a checkpoint, however busy the
        // machine is.
        if round % 4 == 0 {
            wait_until("a checkpoint", || inserts_of(&state) > known);
        }
        std::thread::sleep(Duration::from_micros(random.below(40_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        feeder.join().unwrap();
        let mut written = collector.join().unwrap();

        let saved = inserts_of(&state);
        assert!(saved >= known, "round {round}: the state went back from {known} to {saved}");
        written.sort_unstable();
        for number in known..saved {
            assert!(
                written.binary_search(&number).is_ok(),
                "round {round}: {number} is in the state but was not written"
            );
        }
        known = saved;
    }
    // The next run removes the temporary files of the killed processes.
    answer(&line, b"");
    assert_eq!(directory.entries(), ["state", "state.lock"]);
}

#[test]
fn contains_does_not_change_the_state() {
    let directory = Directory::new("contains");
    let state = directory.name("state");
    answer(&format!("dedup --window 1000 --csv --column k --state {state}"), b"k,v\na,1\nb,2\n");
    let before = fs::read(&state).unwrap();
    let ask =
        |options: &str, input: &[u8]| text(&answer(&format!("contains --state {state} {options}"), input));
    assert_eq!(ask("", b"a\nc\nb"), "seen\ta\nnew\tc\nseen\tb");
    assert_eq!(ask("--json k", b"{\"k\":\"a\"}\n{}\n"), "seen\t{\"k\":\"a\"}\nmissing\t{}\n");
    assert_eq!(ask("--csv --column k", b"v,k\n1,b\n1,x\n"), "lately,v,k\nseen,1,b\nnew,1,x\n");
    assert_eq!(ask("-0", b"a\0z\0"), "seen\ta\0new\tz\0");
    assert_eq!(ask("", b"c\nc\n"), "new\tc\nnew\tc\n", "contains does not insert");
    assert_eq!(fs::read(&state).unwrap(), before);
    let refused = complaint(&format!("contains --state {}", directory.name("none")), b"a\n", 1);
    assert!(refused.contains("none: No such file"), "{refused}");
}

fn inserts_of(state: &str) -> u64 {
    Filter::load(state).unwrap().statistics().inserts
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Returns true if all threads of the child are blocked.
fn is_sleeping(child: &Child) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    let states: Vec<String> =
        tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")).unwrap_or_default()).collect();
    states.len() > 2 && states.iter().all(|state| state.contains(") S "))
}

/// Waits for a condition that must become true, up to a minute on a busy machine.
#[track_caller]
fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < Duration::from_secs(60), "waited more than a minute for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

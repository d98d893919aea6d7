//! Every system call of a save and of a checkpoint fails, is cut in half, or is the last one before a kill or a power cut,
//! one after the other. Afterwards the state is the old one or the new one, and the output has every record of the state.
#![cfg(target_os = "linux")]

mod common;
#[path = "faults/shim.rs"]
mod shim;

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::process::Stdio;
use std::time::Duration;

use common::{Directory, lately, numbers, stdin_of, text, words};
use lately::Filter;
use shim::{FAULTS, Fault, Shim};

/// No item of these tests is mistaken for a repeat.
const PROMISE: &str = "--window 5000 --fp 1e-12 --layout slices";
/// The records of the state that is there before the fault, and of the run with the fault.
const OLD: u64 = 100;
const NEW: u64 = 300;

/// A directory with a state and its output, and beside it what the shim needs.
struct Place {
    files: Directory,
    shim: Shim,
    old: Filter,
}

impl Place {
    fn new(name: &str, old: Filter) -> Self {
        Self { files: Directory::new(&format!("{name}-files")), shim: Shim::new(name), old }
    }

    /// A state of `OLD` records, and the output that has them.
    fn reset(&self) {
        for entry in self.files.entries() {
            fs::remove_file(self.files.path(&entry)).unwrap();
        }
        self.files.file("out", numbers(0..OLD));
        self.old.save(self.files.path("state")).unwrap();
        self.shim.reset(&[&self.files.path("")]);
    }

    /// Runs `dedup` with a fault at this call, in pieces so that checkpoints fall between them; returns its exit code,
    /// `None` if it was killed.
    fn run(&self, options: &str, pieces: u64, fault: Option<(Fault, u64)>) -> (Option<i32>, String) {
        let line = format!("dedup {PROMISE} --state {} {options}", self.files.name("state"));
        let mut command = lately(words(&line));
        self.shim.watch(&mut command, &self.files.path(""), false, fault);
        let out = OpenOptions::new().append(true).create(true).open(self.files.path("out")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(out).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = stdin_of(&mut child);
        let per_piece = (NEW - OLD) / pieces;
        for piece in 0..pieces {
            let first = OLD + piece * per_piece;
            // A run that has failed reads no more.
            let _ = std::io::Write::write_all(&mut stdin, &numbers(first..first + per_piece));
            if pieces > 1 {
                std::thread::sleep(Duration::from_millis(4));
            }
        }
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    }

    fn after_power_cut(&self, has_present_names: bool) -> HashMap<String, Vec<u8>> {
        self.shim.after_power_cut(&self.files.path(""), has_present_names)
    }
}

/// The number of records in the state, all of which must be in the output.
#[track_caller]
fn check(state: &[u8], output: &[u8], context: &str) -> u64 {
    let filter = Filter::from_bytes(state).unwrap_or_else(|error| panic!("{context}: the state: {error}"));
    let inserts = filter.counters().inserts;
    assert!((OLD..=NEW).contains(&inserts), "{context}: {inserts} records in the state");
    let output = text(output);
    let written: HashSet<&str> = output.lines().collect();
    for number in 0..inserts {
        assert!(
            written.contains(number.to_string().as_str()),
            "{context}: {number} is in the state of {inserts}, but not in the output"
        );
    }
    inserts
}

/// Returns how many faults were made. With a `step`, each fault is made at one of `step` calls, each at others.
fn break_every_call(name: &str, options: &str, pieces: u64, step: usize) -> u64 {
    let mut old = lately::Filter::builder()
        .window(5000)
        .false_positive_rate(1e-12)
        .layout(lately::Layout::Slices)
        .build()
        .unwrap();
    (0..OLD).for_each(|number| old.insert(number));
    let place = Place::new(name, old);
    place.reset();
    let (code, complaint) = place.run(options, pieces, None);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "without a fault");
    let calls = place.shim.calls();
    for needed in ["open", "write", "fsync", "fdatasync", "rename", "close"] {
        assert!(calls.iter().any(|call| call.contains(needed)), "no {needed} among {calls:?}");
    }
    let mut faults = 0;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        // With checkpoints, runs differ in their number of calls.
        for at in (1..=calls.len() as u64).skip(number % step).step_by(step) {
            place.reset();
            let (code, complaint) = place.run(options, pieces, Some((fault, at)));
            let call = place.shim.calls().get(at as usize - 1).cloned().unwrap_or_default();
            let context = format!("{name}: {fault:?} at {call}");
            let is_killed = matches!(fault, Fault::Kill | Fault::CutAndKill);
            assert!(code.is_some() || is_killed, "{context}: killed; {complaint}");
            assert!(!complaint.contains("panicked"), "{context}: {complaint}");
            faults += u64::from(place.shim.calls().len() as u64 >= at);
            let read = |name: &str| fs::read(place.files.path(name)).unwrap();
            let kept = check(&read("state"), &read("out"), &context);
            if code == Some(0) {
                assert_eq!(kept, NEW, "{context}: success, but the state is old; {complaint}");
            } else if !is_killed {
                assert!(!complaint.is_empty(), "{context}: fails with {code:?} and does not say why");
            }
            for has_present_names in [false, true] {
                let files = place.after_power_cut(has_present_names);
                let context = format!("{context}, then a power cut (present names: {has_present_names})");
                let durable = check(&files["state"], &files["out"], &context);
                assert!(
                    code != Some(0) || durable == NEW,
                    "{context}: success, but only {durable} records are durable"
                );
            }
            // The next run completes what is missing, and removes what was left.
            let (code, complaint) = place.run("", 1, None);
            assert_eq!((code, complaint.as_str()), (Some(0), ""), "{context}: the next run");
            let (filter, out) = (Filter::from_bytes(&read("state")).unwrap(), text(&read("out")));
            let written: HashSet<&str> = out.lines().collect();
            let all = (0..NEW).map(|number| number.to_string());
            for number in all {
                assert!(
                    filter.contains(&number) && written.contains(number.as_str()),
                    "{context}: {number} is lost"
                );
            }
            assert_eq!(place.files.entries(), ["out", "state", "state.lock"], "{context}");
        }
    }
    faults
}

#[test]
fn every_call_of_a_save_fails_once() {
    let faults = break_every_call("fault-save", "", 1, 1);
    println!("{faults} faults");
    assert!(faults > 70, "{faults} faults prove little");
}

#[test]
fn calls_of_checkpoints_fail() {
    let faults = break_every_call("fault-checkpoint", "--checkpoint 1ms", 4, 5);
    assert!(faults > 40, "{faults} faults prove little");
}

#[test]
#[ignore = "slow: ./test --full"]
fn every_call_of_checkpoints_fails_once() {
    let faults = break_every_call("fault-checkpoints", "--checkpoint 1ms", 8, 1);
    println!("{faults} faults");
    assert!(faults > 300, "{faults} faults prove little");
}

//! Every system call of a save and of a checkpoint fails, is cut in half, or is the last one before a kill or a power cut,
//! one after the other. Afterwards the state is the old one or the new one, and the output has every record of the state.
#![cfg(target_os = "linux")]

mod common;

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Directory, lately, numbers, stdin_of, text, words};
use lately::Filter;

/// No item of these tests is mistaken for a repeat.
const PROMISE: &str = "--window 5000 --fp 1e-12 --layout slices";
/// The records of the state that is there before the fault, and of the run with the fault.
const OLD: u64 = 100;
const NEW: u64 = 300;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// This call fails.
    Once(&'static str),
    /// This call fails, and all after it: a full disk, a directory that became read-only, a permission that was lost.
    From(&'static str),
    /// Half of the bytes are written.
    Cut,
    /// The process is killed before the call, or in the middle of it.
    Kill,
    CutAndKill,
}

const FAULTS: [Fault; 7] = [
    Fault::Once("EIO"),
    Fault::From("ENOSPC"),
    Fault::From("EROFS"),
    Fault::From("EACCES"),
    Fault::Cut,
    Fault::Kill,
    Fault::CutAndKill,
];

/// A directory with a state and its output, and beside it what the shim needs.
struct Place {
    files: Directory,
    beside: Directory,
    shim: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let (files, beside) =
            (Directory::new(&format!("{name}-files")), Directory::new(&format!("{name}-beside")));
        let shim = beside.path("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([shim.as_path(), Path::new(source)])
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "cc, which Rust needs too, cannot build {source}"
        );
        Self { files, beside, shim }
    }

    /// A state of `OLD` records, and the output that has them.
    fn reset(&self) {
        for entry in self.files.entries() {
            fs::remove_file(self.files.path(&entry)).unwrap();
        }
        let _ = fs::remove_dir_all(self.beside.path("durable"));
        fs::create_dir(self.beside.path("durable")).unwrap();
        let _ = fs::remove_file(self.beside.path("log"));
        self.files.file("out", numbers(0..OLD));
        fs::copy(self.beside.path("old"), self.files.path("state")).unwrap();
        // What was there before is on the disk.
        let mut names = Vec::new();
        for name in self.files.entries() {
            let path = self.files.path(&name);
            let inode = fs::metadata(&path).unwrap().ino();
            fs::copy(path, self.beside.path(&format!("durable/{inode}"))).unwrap();
            names.push(format!("{inode} {name}"));
        }
        fs::write(self.beside.path("durable/names"), names.join("\n")).unwrap();
    }

    /// Runs `dedup` with a fault at this call, in pieces so that checkpoints fall between them; returns its exit code,
    /// `None` if it was killed.
    fn run(&self, options: &str, pieces: u64, fault: Option<(Fault, u64)>) -> (Option<i32>, String) {
        let line = format!("dedup {PROMISE} --state {} {options}", self.files.name("state"));
        let mut command = lately(words(&line));
        command.env("LD_PRELOAD", &self.shim).env("FAULT_DIR", self.files.name("").trim_end_matches('/'));
        command.env("FAULT_LOG", self.beside.path("log")).env("FAULT_DURABLE", self.beside.path("durable"));
        if let Some((fault, at)) = fault {
            let (kind, lasts) = match fault {
                Fault::Once(error) => (error, false),
                Fault::From(error) => (error, true),
                Fault::Cut => ("cut", false),
                Fault::Kill => ("kill", false),
                Fault::CutAndKill => ("cut-kill", false),
            };
            command.env("FAULT_KIND", kind).env("FAULT_AT", at.to_string());
            if lasts {
                command.env("FAULT_FROM", "1");
            }
        }
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

    fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.beside.path("log")).unwrap_or_default();
        log.lines().map(str::to_string).collect()
    }

    /// What a power cut leaves: of each file what was synced, under the names at the last sync of the directory, or
    /// under the present ones.
    fn after_power_cut(&self, has_present_names: bool) -> HashMap<String, Vec<u8>> {
        let names = if has_present_names {
            let inode = |name: &String| fs::metadata(self.files.path(name)).unwrap().ino();
            let lines: Vec<_> =
                self.files.entries().iter().map(|name| format!("{} {name}", inode(name))).collect();
            lines.join("\n")
        } else {
            fs::read_to_string(self.beside.path("durable/names")).unwrap()
        };
        let file = |line: &str| {
            let (inode, name) = line.split_once(' ').unwrap();
            let bytes = fs::read(self.beside.path(&format!("durable/{inode}"))).unwrap_or_default();
            (name.to_string(), bytes)
        };
        names.lines().map(file).collect()
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
    let place = Place::new(name);
    let mut old = lately::Filter::builder()
        .window(5000)
        .false_positive_rate(1e-12)
        .layout(lately::Layout::Slices)
        .build()
        .unwrap();
    (0..OLD).for_each(|number| old.insert(number));
    old.save(place.beside.path("old")).unwrap();
    place.reset();
    let (code, complaint) = place.run(options, pieces, None);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "without a fault");
    let calls = place.calls();
    for needed in ["open", "write", "fsync", "fdatasync", "rename", "close"] {
        assert!(calls.iter().any(|call| call.contains(needed)), "no {needed} among {calls:?}");
    }
    let mut faults = 0;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        // With checkpoints, runs differ in their number of calls.
        for at in (1..=calls.len() as u64).skip(number % step).step_by(step) {
            place.reset();
            let (code, complaint) = place.run(options, pieces, Some((fault, at)));
            let call = place.calls().get(at as usize - 1).cloned().unwrap_or_default();
            let context = format!("{name}: {fault:?} at {call}");
            let is_killed = matches!(fault, Fault::Kill | Fault::CutAndKill);
            assert!(code.is_some() || is_killed, "{context}: killed; {complaint}");
            assert!(!complaint.contains("panicked"), "{context}: {complaint}");
            faults += u64::from(place.calls().len() as u64 >= at);
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

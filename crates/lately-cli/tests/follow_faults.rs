//! A log that grows and is rotated is followed, with checkpoints, while every system call on the state, the output and
//! the position fails, is cut in half, or is the last one before a kill or a power cut; and while the log cannot be read.
//! Each record of the log is decided once, and is in the output, whatever happens and wherever the next run begins.
#![cfg(target_os = "linux")]

mod common;
#[path = "faults/shim.rs"]
mod shim;

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Directory, lately, words};
use lately::Filter;
use rustix::process::{Pid, Signal, kill_process};
use shim::{FAULTS, Fault, Shim};

/// No record of these tests is mistaken for a repeat.
const PROMISE: &str = "--window 5000 --fp 1e-12 --layout slices";
/// How many times faster than usual the command sleeps between two looks at the log.
const HASTE: &str = "100";

const READ_FAULTS: [Fault; 5] =
    [Fault::Once("EIO"), Fault::Once("EACCES"), Fault::Once("ENOENT"), Fault::From("EIO"), Fault::Kill];

/// What happens to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Append,
    /// It gets another name, and a new one is created. Its last line has no end.
    Rename,
    /// It is copied and emptied. What nobody has read yet is lost then, with every program.
    CopyAndTruncate,
}

const STEPS: [Step; 6] =
    [Step::Append, Step::Append, Step::Rename, Step::Append, Step::CopyAndTruncate, Step::Append];

/// The state, the output and the log, each in its own directory, and how many records the log has had.
struct Scene {
    root: Directory,
    /// What runs tell, beside the files that are watched.
    told: Directory,
    shim: Shim,
    records: u64,
    rotations: u64,
    is_truncated: bool,
}

/// The bytes of the files of the state and of the output.
type Files = HashMap<(&'static str, String), Vec<u8>>;

const DIRECTORIES: [&str; 2] = ["state", "out"];

impl Scene {
    fn new(name: &str) -> Self {
        let (root, told) = (Directory::new(name), Directory::new(&format!("{name}-told")));
        Self { root, told, shim: Shim::new(name), records: 0, rotations: 0, is_truncated: false }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path(name)
    }

    /// A log that was followed, and was rotated since then.
    fn reset(&mut self) {
        for directory in ["state", "out", "log"] {
            let _ = fs::remove_dir_all(self.path(directory));
            fs::create_dir(self.path(directory)).unwrap();
        }
        (self.records, self.rotations, self.is_truncated) = (0, 0, false);
        self.shim.reset(&[]);
        let told = self.run_to_end("the first run");
        assert_eq!(told, "", "the first run");
        self.append("\n");
        self.rotate();
        // What the first run has synced is durable, and nothing else.
        self.shim.forget_calls();
    }

    fn append(&mut self, last_end: &str) {
        let mut lines: Vec<String> =
            (1..=20).map(|number| format!("record {}", self.records + number)).collect();
        self.records += 20;
        lines.last_mut().unwrap().push_str(last_end);
        let mut log = OpenOptions::new().append(true).create(true).open(self.path("log/app.log")).unwrap();
        log.write_all(lines.join("\n").as_bytes()).unwrap();
    }

    fn rotate(&mut self) {
        self.append("");
        self.rotations += 1;
        fs::rename(self.path("log/app.log"), self.path(&format!("log/app.log.{}", self.rotations))).unwrap();
        self.append("\n");
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Append => self.append("\n"),
            Step::Rename => self.rotate(),
            Step::CopyAndTruncate => {
                self.is_truncated = true;
                self.rotations += 1;
                let copy = self.path(&format!("log/app.log.{}", self.rotations));
                fs::copy(self.path("log/app.log"), copy).unwrap();
                OpenOptions::new().write(true).open(self.path("log/app.log")).unwrap().set_len(0).unwrap();
                self.append("\n");
            }
        }
    }

    /// Starts a run. Its messages go to a file, so that it never waits for somebody who reads them.
    fn start(&self, reads: bool, fault: Option<(Fault, u64)>) -> Child {
        let line = format!(
            "dedup {PROMISE} --emit tagged --follow {} --state {} --output {} --checkpoint 1ms",
            self.root.name("log/app.log"),
            self.root.name("state/seen"),
            self.root.name("out/once.log"),
        );
        let mut command = lately(words(&line));
        let watched = if reads { self.path("log") } else { self.path("") };
        self.shim.watch(&mut command, &watched, reads, fault);
        let messages = File::create(self.told.path("messages")).unwrap();
        command
            .env("FAULT_HASTE", HASTE)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(messages)
            .spawn()
            .unwrap()
    }

    fn messages(&self) -> String {
        fs::read_to_string(self.told.path("messages")).unwrap()
    }

    /// Waits until the output has all records, or the run has ended. Returns the run if it goes on.
    fn wait(&self, mut child: Child, context: &str) -> Result<Child, Option<i32>> {
        let last = format!("\trecord {}\n", self.records);
        let started = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return Err(status.code());
            }
            if fs::read_to_string(self.path("out/once.log")).is_ok_and(|output| output.contains(&last)) {
                return Ok(child);
            }
            if started.elapsed() > Duration::from_secs(120) {
                child.kill().unwrap();
                panic!("{context}: waited two minutes for{last}{}", self.messages());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends a run by a signal. Returns its exit code.
    fn end(mut child: Child) -> Option<i32> {
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        child.wait().unwrap().code()
    }

    /// A run without a fault, until the output has all records and some more, so that the run has begun. Returns its
    /// messages.
    #[track_caller]
    fn run_to_end(&mut self, context: &str) -> String {
        self.append("\n");
        let child = self.wait(self.start(false, None), context);
        let child = child.unwrap_or_else(|code| panic!("{context}: ends with {code:?}: {}", self.messages()));
        let code = Self::end(child);
        assert_eq!(code, Some(143), "{context}: {}", self.messages());
        self.messages()
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        for directory in DIRECTORIES {
            for entry in fs::read_dir(self.path(directory)).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                files.insert((directory, name), fs::read(entry.path()).unwrap());
            }
        }
        files
    }

    /// Files that stay keep their number, by which the output is recognised.
    fn restore(&self, files: &Files) {
        for ((directory, name), _) in self.files() {
            if !files.contains_key(&(directory, name.clone())) {
                fs::remove_file(self.path(directory).join(name)).unwrap();
            }
        }
        for ((directory, name), bytes) in files {
            fs::write(self.path(directory).join(name), bytes).unwrap();
        }
    }

    fn after_power_cut(&self, has_present_names: bool) -> Files {
        let mut files = Files::new();
        for directory in DIRECTORIES {
            let left = self.shim.after_power_cut(&self.path(directory), has_present_names);
            files.extend(left.into_iter().map(|(name, bytes)| ((directory, name), bytes)));
        }
        files
    }

    /// Checks that the output has every record of the state. Returns how many the state has.
    #[track_caller]
    fn check_state(&self, context: &str) -> u64 {
        let output = fs::read_to_string(self.path("out/once.log")).unwrap_or_default();
        let Ok(state) = fs::read(self.path("state/seen")) else { return 0 };
        let filter =
            Filter::from_bytes(&state).unwrap_or_else(|error| panic!("{context}: the state: {error}"));
        let decided = filter.counters().inserts;
        for number in 1..=decided {
            assert!(
                filter.contains(format!("record {number}")),
                "{context}: {number} is not in the state of {decided}"
            );
            let line = format!("new\trecord {number}\n");
            assert!(
                output.contains(&line),
                "{context}: {number} is in the state of {decided}, but not in the output"
            );
        }
        decided
    }

    /// The next run goes on where the state ends: each record that it decides is new, and no other is lost.
    #[track_caller]
    fn check_next_run(&mut self, context: &str) {
        let decided = self.check_state(context);
        let before = fs::read(self.path("out/once.log")).unwrap_or_default();
        let told = self.run_to_end(context);
        // Nobody knows what was in a file that was emptied.
        assert!(self.is_truncated || !told.contains("lost"), "{context}: {told}");
        assert!(!told.contains("damaged"), "{context}: {told}");
        let is_torn = !matches!(before.last(), None | Some(b'\n'));
        assert!(!is_torn || told.contains("cut off"), "{context}: a torn record is not told: {told}");
        let whole = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let output = fs::read_to_string(self.path("out/once.log")).unwrap();
        let number_of =
            |line: &str| line.strip_prefix("new\trecord ").and_then(|number| number.parse::<u64>().ok());
        let mut is_written = vec![false; self.records as usize + 1];
        let mut at = 0;
        for line in output.lines() {
            let number =
                number_of(line).unwrap_or_else(|| panic!("{context}: `{line}` in the output; {told}"));
            assert!(at < whole || number > decided, "{context}: {number} is in the state, and written again");
            is_written[number as usize] = true;
            at += line.len() + 1;
        }
        let lost: Vec<usize> = (1..is_written.len()).filter(|number| !is_written[*number]).collect();
        assert!(lost.is_empty(), "{context}: {lost:?} are not in the output; {told}");
        assert_eq!(self.check_state(context), self.records, "{context}: the state");
        let names = fs::read_dir(self.path("state")).unwrap().count();
        assert_eq!(names, 3, "{context}: something is left beside the state, its position and its lock");
    }

    /// Waits until the state has all records, also after a power cut. Returns false if it is never saved.
    fn is_saved(&self, reads: bool, child: &mut Child, fault: Option<(Fault, u64)>) -> bool {
        let started = Instant::now();
        loop {
            let has_ended = child.try_wait().unwrap().is_some();
            let saved = if reads {
                fs::read(self.path("state/seen")).ok()
            } else {
                self.after_power_cut(false).remove(&("state", "seen".into()))
            };
            // It may be written right now.
            let saved = saved.and_then(|saved| Filter::from_bytes(&saved).ok());
            if saved.is_some_and(|filter| filter.counters().inserts == self.records) {
                return true;
            }
            assert!(started.elapsed() < Duration::from_secs(120), "{fault:?}: not saved in two minutes");
            let lasts = fault.is_some_and(|(fault, _)| matches!(fault, Fault::From(_)));
            if has_ended || (lasts && self.messages().contains("a checkpoint failed")) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// All steps, with a fault. Returns the call at which it was, if it was reached.
    fn play(&mut self, reads: bool, fault: Option<(Fault, u64)>) -> Option<String> {
        self.reset();
        let call_of = |calls: Vec<String>| {
            fault.and_then(|(_, at)| calls.get(at as usize - 1)).cloned().unwrap_or_default()
        };
        let context =
            |call: &str, step: &str| format!("{:?} at {call}, {step}", fault.map(|(fault, _)| fault));
        let mut running = Ok(self.start(reads, fault));
        let mut reached = None;
        for step in STEPS.map(Some).into_iter().chain([None]) {
            let name = step.map_or("the end".into(), |step| format!("{step:?}"));
            if let Ok(child) = running {
                running = self.wait(child, &context("", &name));
                if step.is_none() {
                    running = running.and_then(|child| Err(Self::end(child)));
                }
                if let Err(code) = running {
                    let call = call_of(self.shim.calls());
                    self.check_after(reads, code, fault, &context(&call, &name));
                    reached = Some(call);
                }
            }
            // A file that is emptied before the state has all of it, and the second of three files, cannot be read again.
            let is_rotation = matches!(step, Some(Step::Rename | Step::CopyAndTruncate));
            let is_safe = !is_rotation
                || match &mut running {
                    Ok(child) => self.is_saved(reads, child, fault),
                    Err(_) => {
                        self.run_to_end(&context("", &name));
                        true
                    }
                };
            // While nobody reads, a file that is emptied cannot be told from one that has lost something.
            let is_safe = is_safe && (running.is_ok() || step != Some(Step::CopyAndTruncate));
            if let Some(step) = step {
                self.step(if is_safe { step } else { Step::Append });
            }
        }
        let reached = reached.unwrap_or_default();
        self.check_next_run(&context(&reached, "the last run"));
        Some(reached).filter(|call| !call.is_empty())
    }

    /// Checks what a run with a fault has left, as it is and after a power cut, and leaves it so.
    fn check_after(&mut self, reads: bool, code: Option<i32>, fault: Option<(Fault, u64)>, context: &str) {
        let told = self.messages();
        assert!(!told.contains("panicked"), "{context}: {told}");
        assert!(code.is_some() || fault.is_some_and(|(fault, _)| fault.kills()), "{context}: killed; {told}");
        if code.is_some_and(|code| code != 143) {
            let names = ["seen", "once.log", "app.log", "state"];
            assert!(
                names.iter().any(|name| told.contains(name)),
                "{context}: {code:?}, and no file is named: {told}"
            );
        }
        let (left, records) = (self.files(), self.records);
        let decided = self.check_state(context);
        if code == Some(143) {
            assert_eq!(decided, records, "{context}: success, but the state is old; {told}");
        }
        if !reads {
            let cuts = [false, true]
                .map(|has_present_names| (has_present_names, self.after_power_cut(has_present_names)));
            for (has_present_names, cut) in cuts {
                let context = format!("{context}, then a power cut (present names: {has_present_names})");
                self.restore(&cut);
                let durable = self.check_state(&context);
                assert!(
                    code != Some(143) || durable == records,
                    "{context}: success, but {durable} are durable"
                );
                self.check_next_run(&context);
                self.restore(&left);
            }
        }
    }
}

/// Returns how many faults were made. With a `step`, each fault is made at one of `step` calls, each at others.
fn break_calls(name: &str, reads: bool, faults: &[Fault], step: usize) -> u64 {
    let mut scene = Scene::new(name);
    scene.play(reads, None);
    scene.reset();
    let mut running = Ok(scene.start(reads, None));
    for step in STEPS {
        running = running.and_then(|child| scene.wait(child, "without a fault"));
        scene.step(step);
    }
    let child = running.and_then(|child| scene.wait(child, "without a fault")).unwrap();
    assert_eq!(Scene::end(child), Some(143));
    let calls = scene.shim.calls();
    let needed: &[&str] = if reads {
        &["open", "read", "pread", "statx", "opendir"]
    } else {
        &["open", "write", "fsync", "fdatasync", "rename", "close"]
    };
    for needed in needed {
        assert!(calls.iter().any(|call| call.contains(needed)), "no {needed} among {calls:?}");
    }
    let mut made = 0;
    for (number, fault) in faults.iter().enumerate() {
        // Runs differ in their number of calls.
        for at in (1..=calls.len() as u64).skip(number * 3 % step).step_by(step) {
            made += u64::from(scene.play(reads, Some((*fault, at))).is_some());
        }
    }
    // Among the first calls that read is the search for the rotated file, and among the syncs of the directory the last step
    // of a save.
    let (fault, last) = if reads { (Fault::Once("ENOENT"), 12) } else { (Fault::BetweenSaves, 9) };
    for at in 1..=last {
        made += u64::from(scene.play(reads, Some((fault, at))).is_some());
    }
    println!("{made} faults, {} calls", calls.len());
    made
}

#[test]
fn a_followed_log_survives_faults_of_state_output_and_position() {
    let faults = break_calls("follow-write", false, &FAULTS, 40);
    assert!(faults > 15, "{faults} faults prove little");
}

#[test]
fn a_followed_log_that_cannot_be_read_is_told_and_read_on() {
    let faults = break_calls("follow-read", true, &READ_FAULTS, 45);
    assert!(faults > 5, "{faults} faults prove little");
}

#[test]
#[ignore = "slow: ./test --full"]
fn a_followed_log_survives_every_fault_of_state_output_and_position() {
    let faults = break_calls("follow-writes", false, &FAULTS, 1);
    assert!(faults > 400, "{faults} faults prove little");
}

#[test]
#[ignore = "slow: ./test --full"]
fn a_followed_log_survives_every_fault_of_reading_it() {
    let faults = break_calls("follow-reads", true, &READ_FAULTS, 1);
    assert!(faults > 300, "{faults} faults prove little");
}

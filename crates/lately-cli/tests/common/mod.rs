//! Runs the real binary. Each test file uses a part of this module.
#![allow(dead_code, unreachable_pub)]

/// The library's exact window, random number generator and bounds.
#[path = "../../../lately/tests/common/mod.rs"]
pub mod exact;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};

use exact::{ExactWindow, IMPOSSIBLE, chance_of};
use serde_json::Value;

pub fn lately<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_lately"));
    command.args(arguments);
    command
}

/// A program with an empty environment. The caller's `TERM`, `NO_COLOR` or `COLUMNS` would change the output,
/// so a test sets the variables that it needs.
pub fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    command.env_clear();
    command
}

/// Splits at spaces.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

/// Runs a command with this input, and waits for its end.
pub fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = spawn(command);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A thread feeds the input, because the child may write before it has read everything. It may also not
    // read at all.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

pub fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs `lately`, which must succeed, and returns its standard output.
#[track_caller]
pub fn answer(line: &str, input: &[u8]) -> Vec<u8> {
    let output = run(&mut lately(words(line)), input);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    output.stdout
}

/// Runs `lately`, which must fail with this code, and returns its standard error.
#[track_caller]
pub fn complaint(line: &str, input: &[u8], code: i32) -> String {
    let output = run(&mut lately(words(line)), input);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{line}: {complaint}");
    assert!(!complaint.contains("panicked"), "{complaint}");
    complaint
}

/// Returns the numbers, one per line.
pub fn numbers(range: std::ops::Range<u64>) -> Vec<u8> {
    range.flat_map(|number| format!("{number}\n").into_bytes()).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads exactly the expected number of bytes; hangs if they are held back.
#[track_caller]
pub fn expect(child: &mut Child, expected: &[u8]) {
    let mut found = vec![0; expected.len()];
    child.stdout.as_mut().unwrap().read_exact(&mut found).unwrap();
    assert_eq!(text(&found), text(expected));
}

pub fn feed(child: &mut Child, bytes: &[u8]) {
    child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
}

pub fn stdin_of(child: &mut Child) -> ChildStdin {
    child.stdin.take().unwrap()
}

/// A temporary directory that is removed on drop.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lately-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path for a command line. Temporary directories must not have spaces in their names.
    pub fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), content).unwrap();
        self.name(name)
    }

    pub fn entries(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn json(bytes: impl AsRef<[u8]>) -> Value {
    serde_json::from_slice(bytes.as_ref()).unwrap()
}

pub fn json_file(path: &Path) -> Value {
    json(fs::read(path).unwrap())
}

/// A record of a stream for the exact model: the number of its key, and its time.
#[derive(Clone, Copy)]
pub struct Event {
    pub key: u64,
    pub ms: u64,
}

/// Returns true if a key that was last inserted (inserts, milliseconds) ago must be reported.
pub type Certain = dyn Fn(u64, u64) -> bool;

/// Compares the tags (`new`, `seen`) of a stream with an exact window, record by record. Every certain key
/// must be tagged `seen`. Of the keys that were never inserted, no more may be tagged `seen` than `rate`
/// explains.
#[track_caller]
pub fn judge(events: &[Event], tags: &[&str], refresh_every: bool, certain: &Certain, rate: f64) {
    assert_eq!(events.len(), tags.len());
    let mut exact = ExactWindow::default();
    let mut last_ms = std::collections::HashMap::new();
    let mut now = 0;
    let (mut strangers, mut mistaken, mut repeats) = (0, 0, 0);
    for (number, (event, tag)) in events.iter().zip(tags).enumerate() {
        now = now.max(event.ms);
        let is_seen = match *tag {
            "seen" => true,
            "new" => false,
            other => panic!("record {number} is tagged {other}"),
        };
        match exact.inserts_since(event.key) {
            None => {
                strangers += 1;
                mistaken += u64::from(is_seen);
            }
            Some(since) => {
                let is_certain = certain(since, now - last_ms[&event.key]);
                repeats += u64::from(is_certain);
                assert!(
                    is_seen || !is_certain,
                    "record {number} was seen {since} inserts before, and is tagged new"
                );
            }
        }
        if refresh_every || !is_seen {
            exact.insert(event.key, now);
            last_ms.insert(event.key, now);
        }
    }
    assert!(repeats > 100, "a test with {repeats} repeats proves nothing");
    let is_possible =
        (mistaken as f64) <= rate * strangers as f64 || chance_of(mistaken, strangers, rate) > IMPOSSIBLE;
    assert!(is_possible, "{mistaken} of {strangers} strangers were mistaken at {rate:e}");
}

/// Returns the first column of each line.
pub fn tags(output: &str) -> Vec<&str> {
    output.lines().map(|line| line.split(['\t', ',']).next().unwrap()).collect()
}

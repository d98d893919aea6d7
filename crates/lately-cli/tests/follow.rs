//! `--follow`: files that grow and are rotated, across restarts.

mod common;

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::process::Child;
use std::time::{Duration, Instant};

use common::exact::Random;
use common::{Directory, complaint, expect, lately, run, spawn, text, words};
use rustix::process::{Pid, Signal, kill_process};

struct Log {
    directory: Directory,
}

impl Log {
    fn new(name: &str) -> Self {
        let log = Self { directory: Directory::new(name) };
        log.append("a\nb\n");
        log
    }

    fn path(&self) -> String {
        self.directory.name("app.log")
    }

    fn append(&self, text: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn rename(&self, to: &str) {
        fs::rename(self.path(), self.directory.path(to)).unwrap();
    }

    fn line(&self, flags: &str) -> String {
        format!(
            "dedup --window 1M --fp 1e-12 --follow {} --state {} --checkpoint 5ms {flags}",
            self.path(),
            self.directory.name("state")
        )
    }

    fn start(&self, flags: &str) -> Child {
        spawn(&mut lately(words(&self.line(flags))))
    }

    /// Starts a run, expects this output, and ends it in order. Returns its messages.
    #[track_caller]
    fn run(&self, flags: &str, expected: &str) -> String {
        let mut child = self.start(flags);
        expect(&mut child, expected.as_bytes());
        end(child)
    }
}

/// Ends a run by a signal, which saves its state. Returns its messages. It must not have written more.
#[track_caller]
fn end(child: Child) -> String {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "");
    text(&output.stderr)
}

#[test]
fn a_file_is_followed_while_it_grows_and_is_renamed_truncated_and_removed() {
    let log = Log::new("follow-live");
    let mut child = log.start("");
    expect(&mut child, b"a\nb\n");
    log.append("c\nhalf");
    expect(&mut child, b"c\n");
    log.append(" a record\n");
    expect(&mut child, b"half a record\n");
    log.rename("app.log.1");
    // A program goes on writing until it opens the new file.
    let mut old = OpenOptions::new().append(true).open(log.directory.path("app.log.1")).unwrap();
    old.write_all(b"late\n").unwrap();
    expect(&mut child, b"late\n");
    log.append("a\nnew\n");
    expect(&mut child, b"new\n");
    // Copied and truncated; then written again, to more than it had.
    let long = format!("{}\nd\n", "x".repeat(500));
    fs::write(log.path(), &long).unwrap();
    expect(&mut child, long.as_bytes());
    fs::write(log.path(), "e\n").unwrap();
    expect(&mut child, b"e\n");
    fs::remove_file(log.path()).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    log.append("a\nf\n");
    expect(&mut child, b"f\n");
    let messages = end(child);
    assert_eq!(messages.matches("was truncated").count(), 2, "{messages}");
}

#[test]
fn a_later_run_goes_on_where_the_last_one_ended() {
    let log = Log::new("follow-again");
    assert_eq!(log.run("--emit tagged", "new\ta\nnew\tb\n"), "");
    // What was read is not read again: with `tagged`, repeats would show.
    log.append("a\nc\nunfinished");
    assert_eq!(log.run("--emit tagged", "seen\ta\nnew\tc\n"), "");
    log.append(" record\n");
    assert_eq!(log.run("--emit tagged", "new\tunfinished record\n"), "");
    // Rotated while no run was there: the old file is read to its end.
    log.append("d\n");
    log.rename("app.log.1");
    log.append("a\ne\n");
    assert_eq!(log.run("--emit tagged", "new\td\nseen\ta\nnew\te\n"), "");
    // Renamed, and no new file yet.
    log.append("f\n");
    log.rename("app.log.2");
    let mut child = log.start("--emit tagged");
    expect(&mut child, b"new\tf\n");
    log.append("g\n");
    expect(&mut child, b"new\tg\n");
    assert_eq!(end(child), "");
    // Its old file is at its end: nothing is lost if it is removed later.
    fs::remove_file(log.directory.path("app.log.2")).unwrap();
    log.append("h\n");
    assert_eq!(log.run("--emit tagged", "new\th\n"), "");
}

/// The position is in one file. Other runs with the state leave it.
#[test]
fn another_file_is_read_from_its_beginning() {
    let log = Log::new("follow-other");
    log.run("", "a\nb\n");
    log.append("c\n");
    let other = log.directory.file("other.log", "b\nd\n");
    let state = log.directory.name("state");
    let not_followed = format!("dedup --window 1M --fp 1e-12 --state {state} {other} --emit tagged");
    assert_eq!(text(&common::answer(&not_followed, b"")), "seen\tb\nnew\td\n");
    assert_eq!(log.run("--emit tagged", "new\tc\n"), "");
    let line = log.line("--emit tagged").replace(&log.path(), &other);
    let mut child = spawn(&mut lately(words(&line)));
    expect(&mut child, b"seen\tb\nseen\td\n");
    let told = end(child);
    assert!(told.contains("the position in another file") && told.contains("app.log"), "{told}");
}

#[test]
fn what_was_lost_between_two_runs_is_told() {
    let log = Log::new("follow-lost");
    log.run("", "a\nb\n");
    // Copied and truncated.
    fs::write(log.path(), "c\n").unwrap();
    let told = log.run("", "c\n");
    assert!(told.contains("4 bytes") && told.contains("truncated or replaced"), "{told}");
    // Rotated and compressed.
    log.append("d\n");
    log.rename("app.log.1");
    fs::remove_file(log.directory.path("app.log.1")).unwrap();
    fs::write(log.directory.path("other"), "so that the number of the file is taken").unwrap();
    log.append("e\n");
    let told = log.run("", "e\n");
    assert!(told.contains("is lost") && told.matches('\n').count() == 1, "{told}");
    // Rotated twice.
    log.append("f\n");
    log.rename("app.log.2");
    std::thread::sleep(Duration::from_millis(20));
    log.append("between\n");
    log.rename("app.log.1");
    log.append("g\n");
    let told = log.run("", "f\ng\n");
    assert!(told.contains("app.log.1 is not read") && !told.contains("app.log.2"), "{told}");
    assert_eq!(told.matches("app.log.1").count(), 1, "{told}");
}

#[test]
fn the_header_of_a_csv_file_is_known_in_its_middle() {
    let log = Log::new("follow-csv");
    fs::write(log.path(), "id,\"k\"\n1,x\n2,x\n").unwrap();
    assert_eq!(log.run("--csv --column k", "id,\"k\"\n1,x\n"), "");
    log.append("3,x\n4,y\n");
    log.rename("app.log.1");
    log.append("id,\"k\"\n5,y\n6,z\n");
    assert_eq!(log.run("--csv --column k", "id,\"k\"\n4,y\n6,z\n"), "");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let log = Log::new("follow-refused");
    let (file, directory) = (log.path(), log.directory.name(""));
    for (arguments, says) in [
        (String::new(), "name the file"),
        ("-".into(), "standard input cannot be followed"),
        (format!("{file} {file}"), "only one file"),
    ] {
        let told = complaint(&format!("dedup --window 10 --follow {arguments}"), b"", 2);
        assert!(told.contains(says), "{told}");
    }
    let told = complaint(&format!("dedup --window 10 --follow {directory}"), b"", 1);
    assert!(told.contains("not a regular file"), "{told}");
    fs::write(log.path(), b"\x1f\x8b\x08 compressed").unwrap();
    let told = complaint(&format!("dedup --window 10 --follow {file}"), b"", 1);
    assert!(told.contains("is compressed"), "{told}");
    let output = log.directory.name("link");
    std::os::unix::fs::symlink(&file, &output).unwrap();
    let told = complaint(&format!("dedup --window 10 --follow {file} --output {output}"), b"", 2);
    assert!(told.contains("same file"), "{told}");
    // The file of another program.
    fs::write(log.path(), "a\n").unwrap();
    fs::write(log.directory.path("state.stream"), "nonsense").unwrap();
    let told = complaint(&log.line(""), b"", 1);
    assert!(told.contains("state.stream: is damaged"), "{told}");
}

#[test]
fn a_link_is_followed_to_another_file() {
    let log = Log::new("follow-link");
    let link = log.directory.name("current");
    std::os::unix::fs::symlink(log.path(), &link).unwrap();
    let line = format!("dedup --window 100 --follow {link} --state {}", log.directory.name("state"));
    let mut child = spawn(&mut lately(words(&line)));
    expect(&mut child, b"a\nb\n");
    log.append("c\n");
    expect(&mut child, b"c\n");
    let other = log.directory.file("other.log", "a\nd\n");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(other, &link).unwrap();
    expect(&mut child, b"d\n");
    end(child);
}

/// The directory of a log also has what others put there.
#[test]
fn a_link_that_leads_nowhere_does_not_stop_the_search_for_the_rotated_file() {
    let log = Log::new("follow-links");
    log.run("", "a\nb\n");
    for (link, target) in [("loop", "loop"), ("dangling", "nowhere"), ("through", "state/nothing")] {
        std::os::unix::fs::symlink(target, log.directory.path(link)).unwrap();
    }
    log.append("c\n");
    log.rename("app.log.1");
    log.append("d\n");
    assert_eq!(log.run("", "c\nd\n"), "");
    log.rename("app.log.2");
    log.append("e\n");
    fs::remove_file(log.directory.path("app.log.2")).unwrap();
    let told = log.run("", "e\n");
    assert!(told.contains("is lost"), "{told}");
}

#[test]
fn a_run_that_fails_has_the_position_of_the_record_that_it_could_not_decide() {
    let log = Log::new("follow-failed");
    fs::write(log.path(), "{\"id\":1}\n{\"id\":2}\nno key\n{\"id\":3}\n").unwrap();
    let failed = run(&mut lately(words(&log.line("--json id --missing fail"))), b"");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    assert_eq!(text(&failed.stdout), "{\"id\":1}\n{\"id\":2}\n");
    log.run("--json id --emit tagged", "missing\tno key\nnew\t{\"id\":3}\n");
    // The last record of a file that was rotated has no end.
    log.append("{\"id\":4}\nno end");
    log.rename("app.log.1");
    log.append("{\"id\":5}\n");
    let failed = run(&mut lately(words(&log.line("--json id --missing fail"))), b"");
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed.stderr));
    log.run("--json id --emit tagged", "missing\tno end\nnew\t{\"id\":5}\n");
}

/// The output, which each run continues in the same file, has every record, and nothing is torn or glued.
#[test]
fn kill_9_and_rotation_at_any_moment_lose_no_record() {
    let log = Log::new("follow-kill");
    let (output, mut random) = (log.directory.name("out"), Random(7));
    let (mut next, rounds) = (0_u64, 16);
    // Nobody knows of a file that was rotated before the first run has begun.
    next += 1;
    log.append("record 1\n");
    let child = log.start(&format!("--output {output}"));
    wait_for(&output, next);
    end(child);
    for round in 0..rounds {
        let mut child = log.start(&format!("--output {output}"));
        for _ in 0..random.below(6) {
            let mut lines = String::new();
            for _ in 0..random.below(3_000) {
                next += 1;
                writeln!(lines, "record {next}").unwrap();
            }
            log.append(&lines);
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
        }
        if round + 1 == rounds {
            wait_for(&output, next);
            end(child);
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if round % 5 == 1 {
            // While no run is there. The next run must have begun with the new file before it is rotated again.
            wait_for_new_file(&log, &output, &mut next, round);
        }
    }
    let written = fs::read_to_string(&output).unwrap();
    let mut lines: Vec<&str> = written.lines().filter(|line| !matches!(*line, "a" | "b")).collect();
    let number_of = |line: &&str| line.strip_prefix("record ").and_then(|number| number.parse::<u64>().ok());
    assert!(lines.iter().all(|line| number_of(line).is_some()), "a record is torn or glued");
    lines.sort_by_key(number_of);
    lines.dedup();
    let all: Vec<String> = (1..=next).map(|number| format!("record {number}")).collect();
    assert!(lines == all, "{} of {next}", lines.len());
}

/// Rotates, and runs until the first record of the new file was written.
fn wait_for_new_file(log: &Log, output: &str, next: &mut u64, round: u64) {
    log.rename(&format!("app.log.{round}"));
    *next += 1;
    log.append(&format!("record {next}\n"));
    let child = log.start(&format!("--output {output}"));
    wait_for(output, *next);
    // The kill may have torn a record of the output.
    let told = end(child);
    assert!(told.is_empty() || told.contains("its last record was cut off"), "{told}");
}

/// Waits until this record is in the file.
#[track_caller]
fn wait_for(output: &str, record: u64) {
    let started = Instant::now();
    let last = format!("record {record}\n");
    while record > 0 && !fs::read_to_string(output).unwrap_or_default().contains(&last) {
        assert!(started.elapsed() < Duration::from_secs(60), "waited a minute for {last}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_that_does_not_exist_yet_is_waited_for() {
    let log = Log::new("follow-wait");
    fs::remove_file(log.path()).unwrap();
    let mut child = log.start("");
    std::thread::sleep(Duration::from_millis(200));
    log.append("x\n");
    expect(&mut child, b"x\n");
    assert!(end(child).contains("waiting for it"));
    // Only with --follow.
    let output = run(&mut lately(["dedup", "--window", "10", &log.directory.name("none")]), b"");
    assert_eq!(output.status.code(), Some(1));
}

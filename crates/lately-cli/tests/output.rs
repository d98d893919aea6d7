//! Output, and output that fails.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use common::{Directory, answer, feed, json_file, lately, numbers, run, spawn, text, words};

const INPUT: &[u8] = b"a,1\nb,1\na,1\nc,1\na,1";

#[test]
fn emit_writes_unique_duplicate_or_tagged_records() {
    let emit = |what: &str| text(&answer(&format!("dedup --window 10 --emit {what}"), INPUT));
    assert_eq!(emit("unique"), "a,1\nb,1\nc,1\n");
    assert_eq!(emit("duplicates"), "a,1\na,1");
    assert_eq!(emit("tagged"), "new\ta,1\nnew\tb,1\nseen\ta,1\nnew\tc,1\nseen\ta,1");
    assert_eq!(emit("tagged --field 1 --delimiter ,"), "new,a,1\nnew,b,1\nseen,a,1\nnew,c,1\nseen,a,1");
    let csv = b"k,v\na,1\na,2\n\n";
    let tagged = answer("dedup --window 10 --csv --column k --emit tagged", csv);
    assert_eq!(text(&tagged), "lately,k,v\nnew,a,1\nseen,a,2\nmissing,\n");
    let duplicates = answer("dedup --window 10 --csv --column k --emit duplicates", csv);
    assert_eq!(text(&duplicates), "k,v\na,2\n");
}

#[test]
fn the_summary_is_printed_as_text_and_written_as_json() {
    let directory = Directory::new("summary");
    let path = directory.name("stats.json");
    let line = format!("dedup --window 10 --field 2 --delimiter , --count --stats --stats-json {path}");
    let output = run(&mut lately(words(&line)), b"1,a\n2,a\n3,b\nnone\n");
    assert_eq!(text(&output.stdout), "records 4\nunique 2\nduplicates 1\nmissing 1\n");
    let stats = text(&output.stderr);
    for line in ["records             4\n", "duplicates          1\n", "guaranteed window   10 records\n"] {
        assert!(stats.contains(line), "{stats}");
    }
    let json = json_file(path.as_ref());
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "records",
            "unique",
            "duplicates",
            "missing",
            "bytes",
            "seconds",
            "records_per_second",
            "guaranteed_window",
            "predicted_false_positive_rate",
            "estimated_false_positive_rate",
            "memory_bytes"
        ]
    );
    assert_eq!((json["records"].as_u64(), json["bytes"].as_u64()), (Some(4), Some(17)));
    answer(&format!("dedup --within 10m --capacity 1k --stats-json {path}"), b"a\n");
    assert_eq!(json_file(path.as_ref())["guaranteed_span_ms"].as_u64(), Some(600_000));
}

#[test]
fn a_closed_pipe_ends_the_run_quietly_and_does_not_save_unwritten_records() {
    let directory = Directory::new("closed");
    let state = directory.name("state");
    let mut child = spawn(&mut lately(words(&format!("dedup --window 1000 --checkpoint 0 --state {state}"))));
    feed(&mut child, b"first\n");
    common::expect(&mut child, b"first\n");
    drop(child.stdout.take());
    let mut stdin = common::stdin_of(&mut child);
    // Until the child notices the closed pipe and exits. All lines are new: the child writes only those, and
    // a first write can succeed while another test starts a process, which has the pipe open for a moment.
    let mut number = 0;
    while writeln!(stdin, "more {number}").is_ok() {
        number += 1;
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert!(!directory.path("state").exists());
}

/// Saves a state with one record. Returns its directory, the command line with `--state`, and the saved
/// bytes.
fn saved_state(name: &str, command: &str) -> (Directory, String, Vec<u8>) {
    let directory = Directory::new(name);
    let line = format!("{command} --state {}", directory.name("state"));
    answer(&line, b"saved\n");
    let bytes = fs::read(directory.path("state")).unwrap();
    (directory, line, bytes)
}

#[test]
fn a_full_disk_is_reported_and_the_saved_state_stays() {
    let (directory, line, before) = saved_state("full", "dedup --window 1000");
    let state = directory.path("state");
    let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
    let input = directory.file("input", "saved\nlost\n");
    let output = lately(words(&format!("{line} {input}"))).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("standard output: No space left"), "{}", text(&output.stderr));
    assert_eq!(fs::read(&state).unwrap(), before, "records that were not written are not saved as seen");
    let counted = lately(words(&format!("{line} --count {input}"))).stdout(full()).output().unwrap();
    assert_eq!(counted.status.code(), Some(1));
    assert_eq!(fs::read(&state).unwrap(), before, "records with unwritten counts are not saved as seen");
    assert_eq!(answer(&line, b"saved\nlost\n"), b"lost\n");
    for command in ["plan --window 1000", "metrics --k 3 --l 5", "dedup --window 1000 --count /dev/null"] {
        let output = lately(words(command)).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    let stats = format!("dedup --window 1000 --stats-json /dev/full {input}");
    let refused = common::complaint(&stats, b"", 1);
    assert!(refused.contains("/dev/full"), "{refused}");
}

/// A program that shares its output with this one may leave it nonblocking.
#[test]
fn a_nonblocking_output_is_waited_for() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    let directory = Directory::new("nonblocking");
    let records = numbers(0..200_000);
    let input = directory.file("input", &records);
    let mut child = lately(words(&format!("dedup --window 1M --fp 1e-9 {input}")))
        .stdout(Stdio::from(writer))
        .spawn()
        .unwrap();
    let mut first = [0];
    reader.read_exact(&mut first).unwrap();
    // Meanwhile the child fills the pipe.
    std::thread::sleep(Duration::from_millis(100));
    let mut written = first.to_vec();
    reader.read_to_end(&mut written).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(written == records, "{} bytes of {}", written.len(), records.len());
}

#[test]
fn an_input_that_is_the_output_is_refused() {
    let directory = Directory::new("circle");
    let input = directory.file("input", "a\na\n");
    let append = || Stdio::from(OpenOptions::new().append(true).open(&input).unwrap());
    let given_by_name = lately(words(&format!("dedup --window 10 {input}"))).stdout(append()).output();
    let given = Stdio::from(fs::File::open(&input).unwrap());
    let given_as_input = lately(words("dedup --window 10")).stdin(given).stdout(append()).output();
    for output in [given_by_name.unwrap(), given_as_input.unwrap()] {
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("is where the output goes"), "{}", text(&output.stderr));
    }
    assert_eq!(fs::read(&input).unwrap(), b"a\na\n");
}

#[test]
fn no_file_is_written_that_is_read_or_written_for_another_purpose() {
    let directory = Directory::new("clash");
    let input = directory.file("input", "a\na\n");
    let (link, hard) = (directory.name("link"), directory.name("hard"));
    std::os::unix::fs::symlink(&input, &link).unwrap();
    fs::hard_link(&input, &hard).unwrap();
    let state = directory.name("state");
    answer(&format!("dedup --window 10 --state {state}"), b"a\n");
    let before = fs::read(&state).unwrap();
    for (flags, named) in [
        (format!("--stats-json {input} {input}"), "an input and --stats-json"),
        (format!("--stats-json {link} {input}"), "an input and --stats-json"),
        (format!("--stats-json {input} {link}"), "an input and --stats-json"),
        (format!("--stats-json {hard} - {input}"), "an input and --stats-json"),
        (format!("--state {link} {input}"), "an input and --state"),
        (format!("--state {state} --stats-json {state}"), "--state and --stats-json"),
        (format!("--state {link}2 --stats-json {link}2"), "--state and --stats-json"),
    ] {
        let refused = common::complaint(&format!("dedup --window 10 {flags}"), b"", 2);
        assert!(refused.contains(named) && refused.contains("the same file"), "{flags}: {refused}");
    }
    let append = |path: &str| Stdio::from(OpenOptions::new().append(true).open(path).unwrap());
    for (line, output) in [
        (format!("dedup --window 10 --state {state}"), &state),
        (format!("dedup --window 10 --stats-json {hard}"), &input),
        (format!("contains --state {state}"), &state),
    ] {
        let refused = lately(words(&line)).stdin(Stdio::null()).stdout(append(output)).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{line}");
        assert!(text(&refused.stderr).contains("is where the output goes"), "{}", text(&refused.stderr));
    }
    assert_eq!((fs::read(&input).unwrap(), fs::read(&state).unwrap()), (b"a\na\n".to_vec(), before));
    // What is not a regular file may have several uses.
    answer(&format!("dedup --window 10 --stats-json /dev/null {input} /dev/null"), b"");
}

#[test]
fn the_summary_may_go_to_standard_output() {
    let written = text(&answer("dedup --window 10 --stats-json -", b"a\na\n"));
    let (records, summary) = written.split_once('\n').unwrap();
    assert_eq!((records, common::json(summary)["duplicates"].as_u64()), ("a", Some(1)));
}

#[test]
fn a_state_that_does_not_fit_on_disk_is_reported_and_the_saved_one_stays() {
    let (directory, line, before) = saved_state("limit", "dedup --window 100k");
    // A limit on the file size, with its signal ignored, acts like a disk that is full after 4 KiB.
    let script =
        format!("trap '' XFSZ; ulimit -f 8; exec {} {line} --checkpoint 1ms", env!("CARGO_BIN_EXE_lately"));
    let mut child = spawn(common::program("/bin/sh").args(["-c", &script]));
    feed(&mut child, b"more\n");
    common::expect(&mut child, b"more\n");
    // A failed checkpoint is reported, and the stream continues.
    let mut told = [0; 30];
    child.stderr.as_mut().unwrap().read_exact(&mut told).unwrap();
    assert_eq!(text(&told), "lately: a checkpoint failed, t");
    feed(&mut child, b"and more\n");
    common::expect(&mut child, b"and more\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("state: File too large"), "{}", text(&output.stderr));
    assert_eq!(fs::read(directory.path("state")).unwrap(), before);
    assert_eq!(directory.entries(), ["state", "state.lock"], "nothing is left beside it");
}

/// The runtime replaces a closed stream by `/dev/null`, where records would be lost without a word.
#[test]
fn a_closed_standard_stream_is_refused_before_anything_is_read() {
    let directory = Directory::new("descriptors");
    let state = directory.name("state");
    for (closed, named) in [("<&-", "standard input"), (">&-", "standard output"), ("2>&-", "")] {
        let script =
            format!("exec {} dedup --window 10 --state {state} {closed}", env!("CARGO_BIN_EXE_lately"));
        let output = run(common::program("/bin/sh").args(["-c", &script]), b"a\n");
        assert_eq!(output.status.code(), Some(1), "{closed}");
        let told = text(&output.stderr);
        assert!(
            told.contains(named) && (named.is_empty() || told.contains("is closed; redirect it")),
            "{told}"
        );
        assert!(directory.entries().is_empty());
    }
}

#[test]
fn a_progress_bar_is_for_a_terminal_and_a_known_end() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let directory = Directory::new("progress");
    let input = directory.file("input", "line\n".repeat(200_000));
    let on_terminal = |arguments: &str, stdin: Stdio| {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        // Without TERM, the terminal counts as one that cannot draw a bar.
        let mut child = lately(words(arguments))
            .env("TERM", "xterm")
            .stdin(stdin)
            .stdout(Stdio::null())
            .stderr(terminal)
            .spawn()
            .unwrap();
        // Reading fails when the last process has closed the terminal.
        let reader = std::thread::spawn(move || {
            let (mut shown, mut piece) = (Vec::new(), [0; 4096]);
            let mut control = File::from(control);
            while let Ok(read) = control.read(&mut piece) {
                shown.extend_from_slice(&piece[..read]);
            }
            text(&shown)
        });
        assert!(child.wait().unwrap().success());
        reader.join().unwrap()
    };
    let shown = on_terminal(&format!("dedup --window 1000 {input}"), Stdio::null());
    assert!(shown.contains("ETA") && shown.contains("/s") && shown.contains('%'), "{shown}");
    let shown = on_terminal("dedup --window 1000", File::open(&input).unwrap().into());
    assert!(shown.contains("ETA"), "standard input is a file: {shown}");
    assert_eq!(on_terminal("dedup --window 1000 /dev/null", Stdio::null()), "");
    let output = run(&mut lately(words(&format!("dedup --window 1000 {input}"))), b"");
    assert_eq!(text(&output.stderr), "", "no terminal, no bar");
}

#[test]
fn an_unwritable_standard_error_does_not_change_the_exit_code() {
    let full = || Stdio::from(OpenOptions::new().write(true).open("/dev/full").unwrap());
    for (line, code) in [
        ("dedup --window 10 --stats /dev/null", 0),
        ("dedup --window 10 /no/where", 1),
        ("dedup --window 0 /dev/null", 2),
        ("inspect /no/where", 1),
    ] {
        let output = lately(words(line)).stderr(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_failed_summary_does_not_hide_another_failure() {
    // The reader of the counts is gone; a closed pipe alone would not be a failure.
    let directory = Directory::new("hidden");
    let input = directory.file("input", "a\n");
    let (_, closed) = std::io::pipe().unwrap();
    let output = lately(words(&format!("dedup --window 10 --count --field 2 --missing fail {input}")))
        .stdout(Stdio::from(closed))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("record 1 has no key"), "{}", text(&output.stderr));
    let both = format!("dedup --window 10 --stats-json /dev/full --field 2 --missing fail {input}");
    let told = common::complaint(&both, b"", 1);
    assert!(told.contains("/dev/full") && told.contains("record 1 has no key"), "{told}");
}

#[test]
fn an_overloaded_window_is_reported() {
    let directory = Directory::new("overload");
    let path = directory.name("stats.json");
    let run_with = |capacity: u64| {
        let line = format!("dedup --within 1h --capacity {capacity} --count --stats-json {path}");
        let output = run(&mut lately(words(&line)), &common::numbers(0..5_000));
        assert!(output.status.success());
        (text(&output.stderr), json_file(path.as_ref()))
    };
    let (told, stats) = run_with(100);
    assert!(
        told.lines().count() == 1 && told.contains("more records came than --capacity 100 has room for;"),
        "{told}"
    );
    assert!(stats["overloaded_generations"].as_u64() > Some(0), "{stats}");
    // A whole file at once is a burst; it may be as long as the capacity.
    let (told, stats) = run_with(5_000);
    assert_eq!((told.as_str(), stats["overloaded_generations"].as_u64()), ("", Some(0)));
    assert_eq!(stats["backward_steps"].as_u64(), Some(0));
}

#[test]
fn a_byte_order_mark_stays_first_and_is_not_part_of_a_column() {
    let directory = Directory::new("mark");
    let (first, second) = (directory.file("1", "\u{feff}k,v\na,1\n"), directory.file("2", "k,v\na,1\n"));
    let line = format!("dedup --window 10 --csv --column k --emit tagged {first} {second}");
    assert_eq!(text(&answer(&line, b"")), "\u{feff}lately,k,v\nnew,a,1\nseen,a,1\n");
}

#[test]
fn a_run_without_any_keys_is_reported() {
    let told = |options: &str| {
        let output = run(&mut lately(words(&format!("dedup --window 10 {options}"))), b"a b\nc\n");
        assert!(output.status.success());
        text(&output.stderr)
    };
    assert!(told("--field 3").contains("no record had a key"));
    assert_eq!(told("--field 1"), "");
}

#[test]
fn a_hyphen_is_standard_output() {
    let directory = Directory::new("hyphen");
    let in_directory = |line: &str| {
        let output = run(lately(words(line)).current_dir(directory.path("")), INPUT);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(in_directory("dedup --window 10 --output -").1, "a,1\nb,1\nc,1\n");
    assert_eq!(in_directory("dedup --window 10 --output once --duplicates-to -").1, "a,1\na,1");
    assert_eq!(directory.entries(), ["once"]);
    for (flags, says) in [
        ("--duplicates-to -", "standard output has the other records"),
        ("--output - --duplicates-to -", "standard output has the other records"),
        ("--metrics-file -", "name a file"),
        ("--state -", "name a file"),
        ("--state s --output s.stream", "belongs to --state"),
        ("--state s --stats-json s.lock", "belongs to --state"),
        ("--count --output once", "--count"),
    ] {
        let (code, _, told) = in_directory(&format!("dedup --window 10 {flags}"));
        assert!(code == Some(2) && told.contains(says), "{flags}: {told}");
    }
    assert_eq!(fs::read_to_string(directory.path("once")).unwrap(), "a,1\nb,1\nc,1\n", "it is not emptied");
}

#[test]
fn output_that_cannot_be_written_is_told_before_anything_is_read_or_replaced() {
    let directory = Directory::new("early");
    let kept = directory.file("kept", "of an earlier run\n");
    let none = directory.name("no/where");
    for flags in [
        format!("--stats-json {none} --output {kept}"),
        format!("--metrics-file {none} --output {kept}"),
        format!("--output {kept} --csv --delimiter ab"),
        format!("--output {kept} --field 1 --within 1h --time-field x"),
    ] {
        let window = if flags.contains("--within") { "" } else { "--window 10" };
        // The input does not end.
        let mut child = spawn(&mut lately(words(&format!("dedup {window} {flags}"))));
        assert!(!child.wait().unwrap().success(), "{flags}");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "of an earlier run\n", "{flags}");
    }
    let stats = directory.name("stats");
    answer(&format!("dedup --window 10 --stats-json {stats} --metrics-file {stats}.prom"), INPUT);
    assert_eq!(directory.entries(), ["kept", "stats", "stats.prom"]);
}

#[test]
fn a_record_that_was_cut_off_is_removed_before_the_output_goes_on() {
    let directory = Directory::new("torn");
    let (output, state) = (directory.name("out"), directory.name("state"));
    for (flags, header) in [("", ""), ("--csv --column k", "k,v\n"), ("-0", "")] {
        let end = if flags == "-0" { "\0" } else { "\n" };
        let line = format!("dedup --window 100 {flags} --state {state} --output {output} --checkpoint 1ms");
        let record = |text: &str| format!("{text}{end}");
        // A run is killed while it writes its second record after a save.
        answer(&line, (header.to_string() + &record("1,a")).as_bytes());
        let append = |text: &str| {
            OpenOptions::new().append(true).open(&output).unwrap().write_all(text.as_bytes()).unwrap();
        };
        append(&(record("2,b") + if flags.is_empty() || flags == "-0" { "3,t" } else { "3,\"t\norn" }));
        let next = header.to_string() + &record("4,d");
        let told = run(&mut lately(words(&line)), next.as_bytes());
        assert!(text(&told.stderr).contains("bytes are removed"), "{}", text(&told.stderr));
        assert_eq!(text(&told.stderr).matches('\n').count(), 1);
        let expected = header.to_string() + &record("1,a") + &record("2,b") + &record("4,d");
        assert_eq!(fs::read_to_string(&output).unwrap(), expected);
        // A last record without an end is not cut: it is whole.
        let told = run(&mut lately(words(&line)), (header.to_string() + "5,e").as_bytes());
        assert_eq!(text(&told.stderr), "");
        let told = run(&mut lately(words(&line)), (header.to_string() + &record("6,f")).as_bytes());
        assert_eq!(text(&told.stderr), "");
        let expected = expected + &record("5,e") + &record("6,f");
        assert_eq!(fs::read_to_string(&output).unwrap(), expected);
        for file in [&output, &state] {
            fs::remove_file(file).unwrap();
        }
    }
    // A killed run that has saved nothing.
    let line = format!("dedup --window 100 --state {state} --output {output} --checkpoint 0");
    let mut child = spawn(&mut lately(words(&line)));
    feed(&mut child, b"1\n2\n");
    while fs::read_to_string(&output).unwrap_or_default() != "1\n2\n" {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    OpenOptions::new().append(true).open(&output).unwrap().write_all(b"tor").unwrap();
    let told = run(&mut lately(words(&line)), b"3\n");
    assert!(text(&told.stderr).contains("these 3 bytes are removed"), "{}", text(&told.stderr));
    assert_eq!(fs::read_to_string(&output).unwrap(), "1\n2\n3\n");
    // Another program has written the file: nothing is known, so nothing is cut.
    fs::write(&output, "4").unwrap();
    let told = run(&mut lately(words(&line)), b"5\n");
    assert!(text(&told.stderr).contains("an end was added"), "{}", text(&told.stderr));
    assert_eq!(fs::read_to_string(&output).unwrap(), "4\n5\n");
}

#[test]
fn another_header_than_that_of_the_last_run_is_told() {
    let directory = Directory::new("headers");
    let state = directory.name("state");
    let line = |flags: &str| format!("dedup --window 100 --csv {flags} --state {state}");
    let output = |line: String, input: &[u8]| run(&mut lately(words(&line)), input);
    answer(&line("--column k"), b"k,v\n1,a\n");
    assert_eq!(text(&output(line("--column k"), b"\xef\xbb\xbfk,v\r\n1,a\r\n").stderr), "");
    // Found by name, although it moved.
    let moved = output(line("--column k"), b"v,k\nb,1\nb,2\n");
    assert_eq!(text(&moved.stdout), "v,k\nb,2\n");
    let told = text(&moved.stderr);
    assert!(told.contains("its header is v,k") && told.contains("was k,v"), "{told}");
    let missing = output(line("--column k"), b"id,v\n1,a\n");
    assert_eq!(missing.status.code(), Some(1));
    let told = text(&missing.stderr);
    assert!(told.contains("no column `k`") && told.contains("was v,k"), "{told}");
    // A file cannot go on with other columns.
    let file = directory.name("out");
    let into_file = |input: &[u8]| output(line(&format!("--column k --output {file}")), input);
    into_file(b"k,v\n7,a\n");
    let refused = into_file(b"v,k\na,8\n");
    assert!(refused.status.code() == Some(1) && text(&refused.stderr).contains("name another --output"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "k,v\n7,a\n");
}

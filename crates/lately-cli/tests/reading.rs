//! Input of all sizes: byte by byte, in one enormous line, from many files, from missing files.

mod common;

use std::io::Write as _;

use common::{
    Directory, answer, complaint, expect, feed, lately, numbers, run, spawn, stdin_of, text, words,
};

#[test]
fn input_may_come_one_byte_at_a_time() {
    let input = b"a,x\nb,\"y\nz\"\na,x\n\nb,\"y\nz\"\nlast";
    let byte_by_byte = |line: &str| {
        let mut child = spawn(&mut lately(words(line)));
        let mut stdin = stdin_of(&mut child);
        let feeder =
            std::thread::spawn(move || input.iter().for_each(|byte| stdin.write_all(&[*byte]).unwrap()));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output.stdout
    };
    for options in ["", "--csv", "--field 1 --delimiter ,", "-0"] {
        let line = format!("dedup --window 100 --emit tagged {options}");
        assert_eq!(text(&byte_by_byte(&line)), text(&answer(&line, input)), "{options}");
    }
}

#[test]
fn each_decision_is_written_at_once() {
    // Each answer is read before the next record is sent: the test hangs if a record is held back.
    for options in ["", "--csv", "--json id --missing drop"] {
        let mut child = spawn(&mut lately(words(&format!("dedup --window 100 {options}"))));
        if options == "--csv" {
            feed(&mut child, b"id\n");
            expect(&mut child, b"id\n");
        }
        for number in 0..50 {
            let record = format!("{{\"id\":{number}}}\n");
            feed(&mut child, record.as_bytes());
            expect(&mut child, record.as_bytes());
            // A repeat: nothing is written.
            feed(&mut child, record.as_bytes());
        }
        assert!(child.wait_with_output().unwrap().stdout.is_empty());
    }
}

#[test]
fn a_line_may_have_100_megabytes() {
    let mut line = vec![b'x'; 100_000_000];
    line.extend_from_slice(b"\nshort\n");
    let input = [&line[..], &line[..], b"short"].concat();
    assert!(answer("dedup --window 100", &input) == line);
    let tagged = answer("dedup --window 100 --emit tagged", &input);
    assert_eq!(tagged.len(), input.len() + 3 * "seen\t".len() + 2 * "new\t".len());
}

#[test]
fn lines_of_every_length_around_a_block() {
    let mut input = Vec::new();
    for length in (0..600).chain((262_144 - 40..262_144 + 40).step_by(3)).chain([524_287, 524_288, 1_000_000])
    {
        input.extend(std::iter::repeat_n(b'y', length));
        input.push(b'\n');
    }
    // The second round repeats all of the first.
    assert!(
        answer("dedup --window 10k --fp 1e-9 --layout slices", &[&input[..], &input[..]].concat()) == input
    );
}

#[test]
fn more_records_than_a_batch_holds() {
    let empty = vec![b'\n'; 300_000];
    assert_eq!(answer("dedup --window 10", &empty), b"\n");
    let count = "records 300000\nunique 1\nduplicates 299999\nmissing 0\n";
    assert_eq!(text(&answer("dedup --window 10 --count", &empty)), count);
    let missing = text(&answer("dedup --window 10 --field 1 --count", &empty));
    assert_eq!(missing, "records 300000\nunique 0\nduplicates 0\nmissing 300000\n");
    let numbers = numbers(0..100_000);
    for options in ["", "--csv", "--field 1", "--json x"] {
        let output = answer(&format!("dedup --window 200k --fp 1e-7 --layout blocks {options}"), &numbers);
        assert!(output == numbers, "{options}");
    }
}

#[test]
fn files_are_read_one_after_the_other() {
    let directory = Directory::new("files");
    let (one, two) = (directory.file("1", "a\nb"), directory.file("2", "b\nc"));
    let empty = directory.file("3", "");
    assert_eq!(text(&answer(&format!("dedup --window 10 {one} {empty} {two}"), b"")), "a\nb\nc");
    assert_eq!(text(&answer(&format!("dedup --window 10 {one} - {two}"), b"d\na")), "a\nb\nd\nc");
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let directory = Directory::new("unreadable");
    let one = directory.file("1", "a\n");
    let missing = directory.name("missing");
    let refused = run(&mut lately(words(&format!("dedup --window 10 {one} {missing}"))), b"");
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(1), String::new()));
    assert!(text(&refused.stderr).contains("missing: No such file"), "{}", text(&refused.stderr));
    let refused = complaint(&format!("dedup --window 10 {}", directory.name("")), b"", 1);
    assert!(refused.contains("is a directory"), "{refused}");

    // A file vanishes while another is being read: the records read before are written and saved.
    let (state, vanishing) = (directory.name("state"), directory.file("vanishing", "z\n"));
    let mut child = spawn(&mut lately(words(&format!("dedup --window 10 --state {state} - {vanishing}"))));
    feed(&mut child, b"b\n");
    expect(&mut child, b"b\n");
    std::fs::remove_file(&vanishing).unwrap();
    drop(stdin_of(&mut child));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("vanishing: No such file"), "{}", text(&output.stderr));
    assert!(lately::Filter::load(state).unwrap().contains("b"));
}

/// The process needs at most the plan's bytes and 16 MiB, whatever the input, with checkpoints too.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_input() {
    let directory = Directory::new("memory");
    let state = directory.name("state");
    let line = format!("dedup --window 3M --fp 1e-4 --state {state} --checkpoint 300ms");
    let numbers = |from: u64| -> Vec<u8> {
        (from..from + 100_000).flat_map(|n| format!("{n:040}\n").into_bytes()).collect()
    };
    for round in 0..2 {
        let mut child = spawn(&mut lately(words(&line)));
        let mut stdout = child.stdout.take().unwrap();
        let drain = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        for piece in 0..20 {
            feed(&mut child, &numbers(piece * 100_000));
            feed(&mut child, &vec![b'\n'; 500_000]);
        }
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        drop(stdin_of(&mut child));
        drain.join().unwrap().unwrap();
        assert!(child.wait().unwrap().success());
        let plan = lately::Filter::load(&state).unwrap().plan().memory_bytes;
        assert!(peak * 1024 <= plan + (16 << 20), "round {round}: {peak} kB for a plan of {plan} bytes");
    }
}

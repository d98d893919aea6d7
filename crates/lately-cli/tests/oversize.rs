//! Records that are too long to be held in memory, and quotes that are never closed.

mod common;

use common::{
    Directory, answer, complaint, expect, feed, json_file, lately, numbers, run, spawn, stdin_of, text, words,
};

fn told(line: &str, input: &[u8]) -> (String, String) {
    let output = run(&mut lately(words(line)), input);
    assert!(output.status.success(), "{line}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_record_that_is_too_long_ends_the_run_passes_or_is_left_out() {
    let long = "x".repeat(11);
    let exact = "y".repeat(10);
    for (flags, first) in
        [("", "a"), ("--field 1", "a"), ("--json id", "{\"id\":1}"), ("--csv --column id", "id")]
    {
        let input = format!("{first}\n{long}\n{exact}\n{exact}\n{long}\n{first}\n{long}");
        let line = format!("dedup --window 10 --max-record 10 {flags}");
        let refused = complaint(&line, input.as_bytes(), 1);
        let expected = "lately: record 2 of standard input is longer than --max-record, 10 bytes; use a higher --max-record, or \
                        --oversize pass or --oversize drop to continue with the next record\n";
        assert_eq!(refused, expected, "{flags}");
        let (kept, said) = told(&format!("{line} --oversize pass"), input.as_bytes());
        assert_eq!(kept.matches(&long).count(), 3, "{flags}: {kept}");
        assert!(kept.ends_with(&long), "{kept}");
        assert!(said.contains("longer than --max-record, 10 bytes, and passed without a check: the first is record 2 of the run\n"), "{said}");
        let (kept, said) = told(&format!("{line} --oversize drop"), input.as_bytes());
        assert!(kept.starts_with(&format!("{first}\n{exact}\n")) && !kept.contains('x'), "{flags}: {kept}");
        assert!(
            said.contains(
                "longer than --max-record, 10 bytes, and were left out: the first is record 2 of the run\n"
            ),
            "{said}"
        );
    }
    let directory = Directory::new("oversize-stats");
    let stats = directory.name("stats.json");
    let input = format!("a\n{long}\na\n{long}\n");
    let line = format!("dedup --window 10 --max-record 10 --oversize pass --count --stats-json {stats}");
    let counted = answer(&line, input.as_bytes());
    assert_eq!(text(&counted), "records 4\nunique 1\nduplicates 1\nmissing 0\noversize 2\n");
    assert_eq!(json_file(stats.as_ref())["oversize"].as_u64(), Some(2));
    let tagged = answer("dedup --window 10 --max-record 10 --oversize pass --emit tagged", input.as_bytes());
    assert_eq!(text(&tagged), format!("new\ta\noversize\t{long}\nseen\ta\noversize\t{long}\n"));
    let refused =
        complaint("dedup --window 10 --max-record 10 --oversize drop --csv", b"a,b,c,d,e,f\n1\n", 1);
    assert!(refused.contains("it is the header"), "{refused}");
}

/// Long records come in several pieces, which end anywhere.
#[test]
fn a_long_record_is_written_byte_for_byte_whatever_its_pieces() {
    let directory = Directory::new("oversize-pieces");
    for long in [262_143, 262_144, 262_145, 700_000] {
        let mut input = numbers(0..1_000);
        for tail in ["\n", "\nagain\n", ""] {
            input.extend(b"z".repeat(long));
            input.extend_from_slice(tail.as_bytes());
        }
        let file = directory.file("input", &input);
        for limit in ["1000", "256KiB", "400k"] {
            let limited = format!("dedup --window 10k --max-record {limit} --oversize pass");
            let is_long = long as u64
                > if limit == "256KiB" { 262_144 } else { limit.replace('k', "000").parse().unwrap() };
            for flags in ["", "--field 1", "--csv"] {
                let kept = answer(&format!("{limited} {flags} {file} -"), b"");
                // Records that can be compared pass once.
                let expected = if is_long { input.len() + 1 } else { input.len() - 2 * long - 1 };
                let line = format!("{limit}, {flags}, {long}");
                assert_eq!(kept.len(), expected, "{line}");
                let is_csv = flags == "--csv";
                let end = directory.file("end", if is_csv { "0\nlast\n" } else { "last\n" });
                let both = answer(&format!("{limited} {flags} --emit tagged {file} {end}"), b"");
                assert_eq!(both.split(|byte| *byte == b'\n').count(), 1_000 + 5 + 1, "{line}");
                assert!(both.ends_with(if is_csv { b"\nnew,last\n" } else { b"\nnew\tlast\n" }), "{line}");
            }
        }
    }
}

/// The beginning is not held back, so an endless line takes no memory.
#[test]
fn a_line_without_an_end_passes_as_it_comes() {
    let mut child = spawn(&mut lately(words("dedup --window 10 --max-record 4 --oversize pass")));
    feed(&mut child, b"one\nlonger");
    expect(&mut child, b"one\nlonger");
    feed(&mut child, b" and longer");
    expect(&mut child, b" and longer");
    feed(&mut child, b"\none\ntwo\n");
    expect(&mut child, b"\ntwo\n");
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_quote_that_is_never_closed_is_told() {
    let input = "id,text\n1,a\n2,\"open\n3,b\n1,c\n";
    let (kept, said) = told("dedup --window 10 --csv --column id", input.as_bytes());
    assert_eq!(kept, input);
    let expected = "lately: record 3 of standard input: a quote is opened in it and never closed, so all that follows is a part of \
                    this record\n";
    assert_eq!(said, expected);
    let line = "dedup --window 10 --csv --column id --max-record 7";
    let refused = complaint(line, input.as_bytes(), 1);
    assert!(refused.contains("record 3 of standard input is longer than --max-record, 7 bytes; a quote is opened in it and not closed so far"), "{refused}");
    for (oversize, kept) in [("pass", input), ("drop", "id,text\n1,a\n")] {
        let (found, said) = told(&format!("{line} --oversize {oversize}"), input.as_bytes());
        assert_eq!(found, kept);
        assert!(
            said.contains("the first is record 3 of the run\n") && said.contains("never closed"),
            "{said}"
        );
    }
    // A quote that is closed at the end of the file is closed.
    assert_eq!(told("dedup --window 10 --csv", b"a\n\"b\nc\"").1, "");
}

/// Under a limit of memory, a line that does not fit ends the run with an error, not with an abort.
#[cfg(target_os = "linux")]
#[test]
fn a_line_that_does_not_fit_into_memory_is_an_error() {
    let directory = Directory::new("oversize-memory");
    let input = directory.file("input", [numbers(0..10), vec![b'x'; 300 << 20]].concat());
    let script = |kilobytes: u32, flags: &str| {
        format!(
            "ulimit -v {kilobytes}; exec {} dedup --window 100 {flags} {input}",
            env!("CARGO_BIN_EXE_lately")
        )
    };
    let output = run(common::program("/bin/sh").args(["-c", &script(300_000, "")]), b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 20), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("record 11 of ") && text(&output.stderr).contains("--max-record 16MiB")
    );
    // It fits once, but not twice.
    let tagged = [input.clone(), directory.file("more", "1\nmore\n")].join(" ");
    let line = script(600_000, "--emit tagged").replace(&input, &tagged);
    let output = run(common::program("/bin/sh").args(["-c", &line]), b"");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stdout.len() > 300 << 20 && output.stdout.ends_with(b"xx\nseen\t1\nnew\tmore\n"));
    let flags = "--max-record 16MiB --oversize drop";
    let output = run(common::program("/bin/sh").args(["-c", &script(300_000, flags)]), b"");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 20), "{}", text(&output.stderr));
}

#[test]
fn an_open_quote_in_a_record_that_is_left_out_names_that_record() {
    let input = b"k,v\n1,a\n2,\"open and longer than all others\n3,c\n";
    for oversize in ["drop", "pass"] {
        let line = format!("dedup --window 10 --csv --max-record 12 --oversize {oversize}");
        let output = common::run(&mut common::lately(common::words(&line)), input);
        let told = common::text(&output.stderr);
        assert!(told.contains("record 3 of standard input: a quote is opened in it"), "{told}");
        assert!(told.contains("the first is record 3 of the run"), "{told}");
    }
}

//! Compressed input, recognised by its first bytes.

mod common;

use std::io::Write as _;

use common::{Directory, answer, complaint, expect, feed, lately, numbers, spawn, stdin_of, text, words};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn compressed_files_are_read_like_plain_ones() {
    let directory = Directory::new("compressed");
    let plain = numbers(0..200_000);
    let (first, second) = plain.split_at(700_001);
    // A frame without content, as some programs write.
    let skipped = [&[0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let files = [
        ("gzip", gzip(&plain)),
        ("gzip in members", [gzip(first), gzip(b""), gzip(second)].concat()),
        ("zstd", zstd(&plain)),
        ("zstd in frames", [zstd(first), skipped.clone(), zstd(second), skipped].concat()),
    ];
    for (what, bytes) in files {
        // The name tells nothing.
        let file = directory.file("data.txt", &bytes);
        assert!(answer(&format!("dedup --window 1M --fp 1e-9 {file}"), b"") == plain, "{what}");
        assert!(answer("dedup --window 1M --fp 1e-9", &bytes) == plain, "{what}, from a pipe");
        let both = answer(&format!("dedup --window 1M --fp 1e-9 --count {file} - {file}"), b"x\n0\n");
        assert_eq!(text(&both), "records 400002\nunique 200001\nduplicates 200001\nmissing 0\n", "{what}");
    }
    for (name, bytes) in
        [("empty.gz", &b""[..]), ("short", b"\x1f"), ("paren", b"("), ("text.zst", b"(\xb5/x\n")]
    {
        let file = directory.file(name, bytes);
        assert_eq!(answer(&format!("dedup --window 10 {file}"), b""), bytes, "{name}");
    }
    assert_eq!(
        answer(
            &format!(
                "dedup --window 10 {} {}",
                directory.file("a", gzip(b"a")),
                directory.file("b", zstd(b"b"))
            ),
            b""
        ),
        b"a\nb"
    );
}

#[test]
fn damaged_files_are_errors_and_the_records_before_count() {
    let directory = Directory::new("damaged");
    let plain = numbers(0..200_000);
    for (name, whole) in [("a.gz", gzip(&plain)), ("a.zst", zstd(&plain))] {
        let (state, output) = (directory.name(&format!("{name}.state")), directory.name("output"));
        let cut = directory.file(name, &whole[..whole.len() / 2]);
        let line = format!("dedup --window 1M --state {state} --output {output}");
        let refused = complaint(&format!("{line} {cut}"), b"", 1);
        assert!(refused.contains(name), "{refused}");
        let written = std::fs::read(&output).unwrap();
        let known = lately::Filter::load(&state).unwrap().statistics().inserts as usize;
        assert!(
            plain.starts_with(&written) && written.split_inclusive(|byte| *byte == b'\n').count() == known,
            "{name}"
        );
        std::fs::remove_file(&output).unwrap();
        let mut wrong = whole;
        // In the checksum; gzip has the length after it.
        let at = wrong.len() - if name == "a.gz" { 6 } else { 2 };
        wrong[at] ^= 1;
        let refused =
            complaint(&format!("dedup --window 1M --count {}", directory.file(name, &wrong)), b"", 1);
        assert!(refused.contains(name), "{refused}");
    }
}

/// A stream of members that are flushed is not held back.
#[test]
fn a_compressed_stream_passes_as_it_comes() {
    let mut child = spawn(&mut lately(words("dedup --window 10")));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for record in [&b"a\n"[..], b"b\n", b"a\nc\n"] {
        encoder.write_all(record).unwrap();
        encoder.flush().unwrap();
        feed(&mut child, &std::mem::take(encoder.get_mut()));
        expect(&mut child, record.strip_prefix(b"a\n").filter(|rest| !rest.is_empty()).unwrap_or(record));
    }
    feed(&mut child, &encoder.finish().unwrap());
    drop(stdin_of(&mut child));
    assert!(child.wait().unwrap().success());
}

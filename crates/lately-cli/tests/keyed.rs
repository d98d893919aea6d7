//! `--keyed`: a secret key that the state keeps, what it protects, and who sees it.
#![cfg(unix)]

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use common::exact::{IMPOSSIBLE, chance_of, chosen};
use common::{Directory, answer, complaint, expect, json, lately, numbers, program, run, spawn, text, words};
use lately::{Filter, HashFunction};

#[track_caller]
fn key_of(state: &str) -> [u8; 16] {
    match Filter::load(state).unwrap().hash_function() {
        HashFunction::SipHash13 { key } => key,
        other => panic!("{state} has no key: {other:?}"),
    }
}

#[test]
fn a_state_keeps_its_key_whether_or_not_it_is_asked_for_again() {
    let directory = Directory::new("keyed");
    let [one, other] = ["one", "other"].map(|name| directory.name(name));
    let dedup = |flags: &str, input: &[u8]| text(&answer(&format!("dedup --window 1000 {flags}"), input));
    assert_eq!(dedup(&format!("--keyed --state {one}"), b"a\nb\na\n"), "a\nb\n");
    let key = key_of(&one);
    assert_eq!(dedup(&format!("--state {one}"), b"a\nc\n"), "c\n");
    assert_eq!(dedup(&format!("--state {one} --keyed"), b"a\nc\nd\n"), "d\n");
    assert_eq!(text(&answer(&format!("contains --state {one}"), b"a\ne\n")), "seen\ta\nnew\te\n");
    assert_eq!(key_of(&one), key);
    dedup(&format!("--keyed --state {other}"), b"a\n");
    assert_ne!(key_of(&other), key, "every state has a key of its own");
}

/// At this rate, some records are mistaken for repeats, and the key decides which.
#[test]
fn without_a_state_every_run_makes_a_key() {
    let mistaken = |flags: &str| answer(&format!("dedup --window 2000 --fp 0.1 {flags}"), &numbers(0..2000));
    assert_eq!(mistaken(""), mistaken(""));
    assert_ne!(mistaken("--keyed"), mistaken("--keyed"));
}

#[test]
fn a_state_without_a_key_is_refused_and_not_changed() {
    let directory = Directory::new("keyed-refused");
    let state = directory.name("state");
    for seed in [0, 7] {
        let filter = Filter::builder().window(1000).false_positive_rate(1e-4).seed(seed).build().unwrap();
        filter.save(&state).unwrap();
        let before = fs::read(&state).unwrap();
        let refused = complaint(&format!("dedup --window 1000 --keyed --state {state}"), b"a\n", 1);
        for part in [state.as_str(), "without a key", "leave out --keyed", "name another --state file"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert_eq!(fs::read(&state).unwrap(), before);
    }
}

#[test]
fn other_commands_refuse_the_flag() {
    for line in ["plan --window 1000 --keyed", "contains --state state --keyed", "inspect state --keyed"] {
        let refused = complaint(line, b"", 2);
        assert!(refused.contains("unexpected argument '--keyed'"), "{refused}");
    }
}

#[test]
fn a_key_goes_together_with_every_window_and_every_kind_of_record_key() {
    let json = "{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":2}\n{\"id\":\"a\",\"n\":3}\n";
    let csv = "id,n\na,1\nb,2\na,3\n";
    let timed = "2024-05-01T12:00Z a\n2024-05-01T12:01Z b\n2024-05-01T12:02Z a\n";
    for (number, (flags, record_flags, input)) in [
        ("--window 1000", "--json id", json),
        ("--window 1000 --layout rows", "--csv --column id", csv),
        ("--window 1000 --layout slices --prefer memory", "--field 2", timed),
        ("--within 1h", "--json id", json),
        ("--within 1h --time-field 1 --emit summary", "--field 2", timed),
        ("--within 1h --capacity 1000 --refresh first", "--field 2", timed),
        ("--window 1000 --layout blocks", "--key-regex ([ab])\\W", json),
    ]
    .into_iter()
    .enumerate()
    {
        let directory = Directory::new(&format!("keyed-with-{number}"));
        let state = directory.name("state");
        let dedup = format!("dedup --keyed {flags} {record_flags} --state {state} --duplicates-to -");
        let line = format!("{dedup} --output {}", directory.name("out"));
        let repeats = text(&answer(&line, input.as_bytes()));
        assert!(repeats.lines().last().unwrap().contains('a'), "{line}: {repeats}");
        let key = key_of(&state);
        // All are repeats in the second run.
        let output = directory.path("out");
        let before = fs::read(&output).unwrap();
        answer(&line, input.as_bytes());
        let added = fs::read(&output).unwrap().len() - before.len();
        assert!(added == 0 || flags.contains("summary"), "{line}");
        let tagged = text(&answer(&format!("contains --state {state} {record_flags}"), input.as_bytes()));
        assert_eq!(tagged.matches("seen").count(), 3, "{line}: {tagged}");
        assert_eq!(key_of(&state), key, "{line}");
    }
}

#[test]
fn a_followed_file_goes_on_with_the_same_key_after_kill_9() {
    let directory = Directory::new("keyed-follow");
    let (log, state) = (directory.file("app.log", "a\nb\n"), directory.name("state"));
    let line = format!("dedup --window 1000 --keyed --follow {log} --state {state} --checkpoint 1ms");
    let mut child = spawn(&mut lately(words(&line)));
    expect(&mut child, b"a\nb\n");
    let deadline = Instant::now() + Duration::from_secs(60);
    while !Filter::load(&state).is_ok_and(|filter| filter.counters().inserts == 2) {
        assert!(Instant::now() < deadline, "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    let key = key_of(&state);
    child.kill().unwrap();
    child.wait().unwrap();
    OpenOptions::new().append(true).open(&log).unwrap().write_all(b"a\nc\n").unwrap();
    let mut child = spawn(&mut lately(words(&line)));
    expect(&mut child, b"c\n");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(key_of(&state), key);
}

#[test]
fn the_hash_is_shown_and_the_key_nowhere() {
    let directory = Directory::new("keyed-shown");
    let state = directory.name("state");
    let [metrics, summary] = ["metrics", "summary"].map(|name| directory.name(name));
    let line = format!(
        "dedup --window 1000 --keyed --stats --stats-json {summary} --metrics-file {metrics} --state {state}"
    );
    let output = run(&mut lately(words(&line)), b"a\nb\n");
    assert!(output.status.success());
    let [listing, object] = ["", "--json"].map(|flag| text(&answer(&format!("inspect {flag} {state}"), b"")));
    assert_eq!(json(&object)["hash"], "siphash13");
    let shown_hash = listing.lines().find(|line| line.starts_with("hash")).unwrap();
    assert!(shown_hash.ends_with("siphash13, with a secret key: keep the file secret too"), "{shown_hash}");
    let files = [&metrics, &summary].map(|path| fs::read_to_string(path).unwrap());
    let all = [listing, object, text(&output.stderr), files.concat()].concat();
    let key = key_of(&state);
    let hex = format!("{:032x}", u128::from_be_bytes(key));
    let list = key.map(|byte| byte.to_string()).join(",");
    let compact: String = all.chars().filter(|character| !character.is_whitespace()).collect();
    assert!(!compact.to_lowercase().contains(&hex) && !compact.contains(&list));
    // Without a key, the name alone.
    let plain = directory.name("plain");
    answer(&format!("dedup --window 1000 --state {plain}"), b"a\n");
    assert!(text(&answer(&format!("inspect {plain}"), b"")).lines().any(|line| line.ends_with(" xxh3")));
}

#[test]
fn only_the_owner_can_read_a_state_at_any_moment() {
    let directory = Directory::new("keyed-private");
    let (log, state) = (directory.file("app.log", numbers(0..1000)), directory.name("state"));
    let lately = env!("CARGO_BIN_EXE_lately");
    let command = format!(
        "umask 0; exec {lately} dedup --window 1M --keyed --follow {log} --state {state} --checkpoint 1ms"
    );
    let mut child = spawn(program("/bin/sh").args(["-c", &command]));
    let mut temporary = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    for number in 0.. {
        assert!(Instant::now() < deadline, "{temporary} temporary files were seen");
        if temporary >= 20 && directory.path("state").exists() && directory.path("state.stream").exists() {
            break;
        }
        let mut file = OpenOptions::new().append(true).open(&log).unwrap();
        writeln!(file, "more {number}").unwrap();
        for name in directory.entries() {
            // A temporary file may be gone by now.
            let Ok(metadata) = fs::metadata(directory.path(&name)) else { continue };
            let has_content = name != "app.log" && name != "state.lock";
            let mode = metadata.permissions().mode() & 0o777;
            assert!(!has_content || mode == 0o600, "{name}: {mode:o}");
            temporary += u32::from(name.starts_with(".state."));
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(fs::metadata(directory.path("state.lock")).unwrap().len(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn without_random_bytes_nothing_is_made() {
    let directory = Directory::new("keyed-random");
    let source = directory.file(
        "shim.c",
        "#include <errno.h>\nlong getrandom(void *to, unsigned long most, unsigned flags)\
         { (void)to; (void)flags; errno = EIO; return most ? -1 : 0; }\n",
    );
    let (shim, state) = (directory.name("shim.so"), directory.name("state"));
    let built = std::process::Command::new("cc").args(["-shared", "-fPIC", "-o", &shim, &source]).status();
    assert!(built.is_ok_and(|status| status.success()), "cc, which Rust needs too, cannot build {source}");
    let line = format!("dedup --window 1000 --keyed --state {state}");
    let output = run(lately(words(&line)).env("LD_PRELOAD", &shim), b"a\n");
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.starts_with("lately: --keyed: the system gave no random bytes"), "{complaint}");
    assert!(complaint.contains("leave out --keyed") && !complaint.contains("panicked"), "{complaint}");
    assert!(output.stdout.is_empty() && !directory.path("state").exists());
}

/// Senders know the default hash and choose records for one eighth of the filter. With a key they do not know it.
#[test]
fn hostile_records_raise_the_rate_but_not_of_a_keyed_filter() {
    const RATE: f64 = 1e-3;
    const STRANGERS: u64 = 100_000;
    let directory = Directory::new("keyed-hostile");
    let hostile: Vec<u8> =
        chosen(10_000).iter().flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let strangers: Vec<u8> =
        (0..STRANGERS).flat_map(|number| format!("stranger {number}\n").into_bytes()).collect();
    for layout in ["bins", "rows"] {
        let mistaken = ["", "--keyed"].map(|flag| {
            let state = directory.name(&format!("{layout}{flag}"));
            let promise = format!("--window 10000 --fp {RATE} --layout {layout}");
            answer(&format!("dedup {promise} {flag} --count --state {state}"), &hostile);
            let seen = |records: &[u8]| {
                text(&answer(&format!("contains --state {state}"), records)).matches("seen\t").count()
            };
            assert_eq!(seen(&hostile), 10_000, "nothing is forgotten even then");
            seen(&strangers) as u64
        });
        let [known, keyed] = mistaken;
        println!("{layout}: {known} of {STRANGERS} strangers without a key, {keyed} with one");
        assert!(known as f64 > 10.0 * RATE * STRANGERS as f64, "{layout}: the attack does not work: {known}");
        // Keys differ in the rate of their filters. Of 150 keys, rows had 7.3e-4, with a standard deviation of 0.7e-4, so
        // this limit is ten of them away; bins had 7.4e-4, with hardly any.
        let limit = 1.5 * RATE;
        assert!(
            keyed as f64 <= limit * STRANGERS as f64 || chance_of(keyed, STRANGERS, limit) > IMPOSSIBLE,
            "{layout}: {keyed} of {STRANGERS} strangers are mistaken in spite of the key"
        );
    }
}

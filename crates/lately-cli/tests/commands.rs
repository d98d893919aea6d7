//! The other commands, and wrong arguments.

mod common;

use common::{Directory, answer, complaint, json, numbers, text};
use lately::model::{self, Model};
use lately::{Filter, Layout, Shape, shard_window};

#[test]
fn metrics_equal_the_models_to_the_last_digit() {
    for (options, shape) in [
        ("--k 10 --l 7", Shape::slices(10, 7)),
        ("--k 3 --l 5 --block-bits 512 --bits-per-block 4", Shape::blocks(3, 5, 512, 4)),
    ] {
        for (name, model) in [("paper", Model::Paper), ("exact", Model::Exact)] {
            let found = json(answer(&format!("metrics {options} --model {name} --json"), b""));
            let expected = model::metrics(model, &shape);
            assert_eq!(found["false_positive_rate"].as_f64(), Some(expected.false_positive_rate));
            assert_eq!(found["accesses"]["window"].as_f64(), Some(expected.accesses.window));
            assert_eq!(found["accesses"]["false_positive"].as_f64(), Some(expected.accesses.false_positive));
            assert_eq!(found["accesses"]["absent"].as_f64(), Some(expected.accesses.absent));
            assert_eq!(found["npws"].as_f64(), Some(expected.npws));
            assert_eq!(found["bits_per_item"].as_f64(), Some(expected.bits_per_item));
            assert_eq!(found["efficiency"].as_f64(), Some(expected.efficiency));
            assert_eq!(
                found.get("relative_capacity").and_then(serde_json::Value::as_f64),
                expected.relative_capacity
            );
        }
    }
    let parts = json(answer("metrics --k 2 --l 14 --parts 6 --json", b""));
    assert!(parts["false_positive_rate"].as_f64().unwrap() > 0.0);
    assert!(
        text(&answer("metrics --k 10 --l 7 --model paper", b"")).contains("false_positive_rate      0.00121")
    );
    for wrong in [
        "--k 0 --l 7",
        "--k 1000 --l 1000",
        "--k 3 --l 5 --parts 65",
        "--k 3 --l 5 --block-bits 100 --bits-per-block 4",
        "--k 3 --l 5 --block-bits 512",
        "--k 3 --l 5 --parts 2 --block-bits 512 --bits-per-block 4",
        "--k 3",
    ] {
        complaint(&format!("metrics {wrong}"), b"", 2);
    }
}

#[test]
fn plans_equal_the_librarys() {
    let expected = Filter::builder().window(50_000).false_positive_rate(1e-3).plans().unwrap();
    let found = json(answer("plan --window 50k --fp 1e-3 --json --top 4", b""));
    let plans = found["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 4);
    for (found, expected) in plans.iter().zip(&expected) {
        assert_eq!(found["layout"], expected.layout().to_string());
        assert_eq!(found["memory_bytes"].as_u64(), Some(expected.memory_bytes));
        assert_eq!(found["false_positive_rate"].as_f64(), Some(expected.false_positive_rate));
        assert_eq!(found["npws"].as_f64(), Some(expected.npws));
    }
    let table = text(&answer("plan --within 1h --capacity 50k --layout slices --slack 0.1 --top 3", b""));
    assert_eq!(table.lines().count(), 4, "{table}");
    let headings =
        ["layout", "shape", "bits/item", "memory", "rate", "NPWS", "per insert", "per hit", "per miss"];
    assert!(headings.iter().all(|heading| table.lines().next().unwrap().contains(heading)), "{table}");
    assert!(table.lines().skip(1).all(|line| line.starts_with("slices")), "{table}");
    for (plans, shape) in [
        ("--layout bins", "bins    k=1 l=20 16-bit fingerprints  "),
        ("--prefer balanced", "bins    k=1 l=20 16-bit fingerprints  "),
        ("--prefer speed", "rows    k=3 l=7 64 bytes b=3  "),
    ] {
        let table = text(&answer(&format!("plan --window 1M --fp 1e-3 --top 1 {plans}"), b""));
        assert!(table.lines().nth(1).unwrap().starts_with(shape), "{table}");
    }
    let found = json(answer("plan --window 1M --fp 1e-3 --layout bins --json", b""));
    assert_eq!(found["plans"][0]["shape"]["segment"]["bins"]["fingerprint_bits"].as_u64(), Some(16));
}

#[test]
fn each_shard_gets_the_window_that_the_library_computes() {
    let window = shard_window(100_000, 16);
    let found = json(answer("plan --window 100k --shards 16 --layout slices --json", b""));
    assert_eq!(found["shard_window"].as_u64(), Some(window));
    assert_eq!(found["plans"][0]["window"]["count"]["inserts"].as_u64(), Some(window));
    let table = text(&answer("plan --within 1m --capacity 100k --shards 16 --layout slices", b""));
    assert!(table.starts_with(&format!("each of 16 shards: --capacity {window};")), "{table}");
    complaint("plan --window 100 --shards 0", b"", 2);
}

#[test]
fn a_plot_has_one_curve_per_layout() {
    let directory = Directory::new("plot");
    let path = directory.name("slack.svg");
    answer(&format!("plan --window 20k --fp 1e-2 --top 1 --plot {path}"), b"");
    let svg = std::fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    for layout in Layout::ALL {
        assert!(svg.contains(&format!(">{layout} ")), "{layout}: {svg}");
    }
    assert_eq!(svg.matches("<polyline").count(), Layout::ALL.len());
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    complaint("plan --window 1000 --plot /no/where.svg", b"", 1);
    let refused = complaint(&format!("plan --window 1 --plot {}", directory.name("none.svg")), b"", 2);
    assert!(refused.contains("nothing to draw") && !directory.path("none.svg").exists(), "{refused}");
}

#[test]
fn inspect_shows_a_state() {
    let directory = Directory::new("inspect");
    let (count, time) = (directory.name("count"), directory.name("time"));
    let lines = numbers(0..2_000);
    answer(&format!("dedup --window 1000 --fp 1e-3 --state {count}"), &lines);
    answer(&format!("dedup --within 1m --capacity 5k --fp 1e-3 --state {time}"), &lines);
    let filter = Filter::load(&count).unwrap();
    let found = json(answer(&format!("inspect --json {count}"), b""));
    assert_eq!(found["statistics"]["inserts"].as_u64(), Some(2_000));
    assert_eq!(found["guaranteed_window"].as_u64(), Some(filter.guaranteed_window()));
    assert_eq!(
        found["statistics"]["fill_by_age"].as_array().unwrap().len(),
        filter.plan().shape.segments() as usize
    );
    let shown = text(&answer(&format!("inspect {count}"), b""));
    assert!(shown.contains("never forgets the last 1000 records") && shown.contains('█'), "{shown}");
    assert_eq!(
        shown.lines().filter(|line| line.contains("records ago")).count(),
        filter.plan().shape.segments() as usize
    );
    let shown = text(&answer(&format!("inspect {time}"), b""));
    assert!(shown.contains("the last 1m, up to 5000 records") && shown.contains("latest time"), "{shown}");
    assert!(shown.contains("  0.0%  empty\n"), "{shown}");
    assert!(
        shown.contains("\ngeneration      fill, newest first\n") && shown.contains(" cache lines, "),
        "{shown}"
    );
    let rows = directory.name("rows");
    answer(&format!("dedup --window 1000 --layout rows --state {rows}"), &lines);
    let shown = text(&answer(&format!("inspect {rows}"), b""));
    assert!(
        shown.contains("\nsegment         fill, newest first\n") && !shown.contains("cache lines"),
        "{shown}"
    );
    assert!(complaint("inspect /no/where", b"", 1).contains("/no/where: No such file"));
}

#[test]
fn completions_and_manual_pages_are_generated() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&answer(&format!("completions {shell}"), b""));
        assert!(script.contains("stats-json"), "{shell}");
    }
    assert!(text(&answer("man", b"")).contains("lately\\-dedup"));
    assert!(text(&answer("man dedup", b"")).contains("\\-\\-refresh"));
    assert!(text(&answer("man dedup", b"")).contains(".SH EXAMPLES\n"));
    assert!(complaint("man nothing", b"", 2).contains("dedup"));
    complaint("completions tcl", b"", 2);
}

#[test]
fn every_commands_help_has_examples() {
    for command in ["dedup", "plan", "explore", "metrics", "inspect", "contains", "completions", "man"] {
        let help = text(&answer(&format!("{command} --help"), b""));
        assert!(
            help.contains("Examples:\n") && help.contains(&format!("lately {command}")),
            "{command}: {help}"
        );
    }
}

#[test]
fn help_is_also_a_command() {
    let help = text(&answer("help dedup", b""));
    assert!(help.contains("--window") && help == text(&answer("dedup --help", b"")), "{help}");
    assert!(text(&answer("help", b"")).contains("dedup"));
}

#[test]
fn wrong_arguments_fail_with_code_2_and_a_remedy() {
    for (line, named) in [
        ("", "Usage"),
        ("undo", "undo"),
        ("dedup", "--window"),
        ("dedup --window", "--window"),
        ("dedup --window ten", "1M"),
        ("dedup --window -5", "'-5' for '--window <N>': not a whole number between 0 and"),
        (
            "dedup --within -5 --capacity 5",
            "'-5' for '--within <SPAN>': a span cannot be negative; write for example",
        ),
        ("dedup --within -1s", "'-1s' for '--within <SPAN>': a span cannot be negative; write for example"),
        ("dedup --within 5s --capacity -5", "'-5' for '--capacity <N>': not a whole number between 0 and"),
        (
            "dedup --window 10 --fp -1",
            "'-1' for '--fp <RATE>': not a rate that can be promised; ask for at least",
        ),
        ("dedup --window 10 --max-memory -1", "'-1' for '--max-memory <BYTES>': not a whole number of bytes"),
        ("dedup --window 10 --field -1", "the first is 1"),
        ("dedup --window 10 --state x --checkpoint -1", "'-1' for '--checkpoint <SPAN>'"),
        ("plan --window 10 --shards -1", "'-1' for '--shards <N>'"),
        ("metrics --k -1 --l 2", "'-1' for '--k <K>'"),
        ("dedup --window 1.5", "whole number"),
        ("dedup --window 10x", "`x`"),
        ("dedup --window 0", "ask for 1 to"),
        ("dedup --window 1e15", "ask for 1 to"),
        ("dedup --window 10 --within 10m --capacity 5", "--within"),
        ("dedup --within 10 --capacity 5", "unit"),
        ("dedup --within 0s --capacity 5", "--within"),
        ("dedup --window 10 --capacity 5", "--within"),
        ("dedup --window 10 --fp 2", "--fp"),
        ("dedup --window 10 --fp 0", "--fp"),
        ("dedup --window 10 --fp x", "--fp"),
        (
            "dedup --window 10 --slack -1",
            "'-1' for '--slack <SHARE>': not a share of the window; ask for more than 0",
        ),
        ("dedup --window 10 --slack 0", "--slack"),
        ("dedup --window 1000 --slack 0.0001", "--slack"),
        ("dedup --window 1M --fp 1e-4 --max-memory 1MiB", "--max-memory"),
        // `--max-memory` alone does not make the rate worse.
        ("dedup --window 1M --max-memory 100kB", "--max-memory 100000 is too little"),
        ("plan --window 1M --max-memory 100kB", "--max-memory 100000 is too little"),
        ("dedup --window 1M --max-memory 100kB", "or use a --window (or --capacity) of "),
        ("dedup --window 10 --max-memory lots", "64MiB"),
        ("dedup --window 10 --layout columns", "slices, blocks, rows, bins"),
        ("dedup --window 10 --prefer looks", "balanced, speed, memory"),
        ("dedup --window 10 --refresh never", "first"),
        ("dedup --window 10 --emit all", "tagged"),
        ("dedup --window 10 --emit tagged --count", "--count"),
        ("dedup --window 10 --field 0", "the first is 1"),
        ("dedup --window 10 --field 1 --delimiter \\n", "begins no escape"),
        ("dedup --window 10 --field 1 --delimiter=", "it is empty"),
        ("dedup --window 10 --csv --delimiter ab", "exactly one ASCII character"),
        ("dedup --window 10 --field 5-2", "write 2-5"),
        ("dedup --window 10 --json a[x]", "is not an index"),
        ("dedup --window 10 --key-regex (a", "unclosed group"),
        ("dedup --window 10 --key-regex a --field 1", "--field"),
        ("dedup --window 10 --no-header", "--csv"),
        ("dedup --window 10 --csv --no-header --column a", "--column"),
        (
            "dedup --within 1m --key-regex (a) --time-field b",
            "`b` is neither the number nor the name of a group",
        ),
        ("dedup --window 10 --column x", "--csv"),
        ("dedup --window 10 --csv --column a --field 1", "--field"),
        ("dedup --window 10 --csv -0", "--null"),
        ("dedup --window 10 --json a --field 1", "--field"),
        ("dedup --window 10 --json=", "user.id"),
        ("dedup --window 10 --json a..b", "user.id"),
        ("dedup --window 10 --csv --column=", "needs a name"),
        ("dedup --window 10 --csv --column a,", "needs a name"),
        ("dedup --window 10 --state same --stats-json ./same", "--stats-json are the same file"),
        ("dedup --window 10 --missing maybe", "pass"),
        ("dedup --window 10 --time-field 1", "--time-field"),
        ("dedup --within 1m --capacity 9 --time-field when", "--time-field"),
        ("dedup --within 1m --time-unit s", "--time-field"),
        ("dedup --within 1m --late drop", "--time-field"),
        ("dedup --within 1m --max-jump 1h", "--time-field"),
        ("dedup --within 1m --layout rows", "leave out --layout"),
        ("dedup --window 10 --checkpoint 5s", "--state"),
        ("dedup --window 10 --checkpoint soon --state x", "30s"),
        ("plan", "--window"),
        ("contains", "--state"),
        ("inspect", "FILE"),
    ] {
        let refused = complaint(line, b"", 2);
        assert!(refused.contains(named), "{line}: {refused}");
        assert!(!refused.contains("max_memory"), "{line}: {refused}");
    }
}

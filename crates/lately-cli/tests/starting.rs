//! No command reads a whole filter to say what it has counted.

mod common;

use common::{Directory, answer, json_file};

/// Memory that is never touched costs nothing, so a limit of memory would not show a scan; the processor's time
/// does. Reading the filter of 3.2 GB takes ten seconds; starting takes hundredths of one.
#[cfg(target_os = "linux")]
#[test]
fn a_huge_time_window_starts_at_once() {
    let started = std::time::Instant::now();
    assert_eq!(
        answer("dedup --within 1h --capacity 1e9 --count", b"a\na\n"),
        b"records 2\nunique 1\nduplicates 1\nmissing 0\n"
    );
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn the_summary_of_a_large_filter_is_estimated_from_a_sample() {
    let directory = Directory::new("sample");
    let path = directory.name("stats.json");
    answer(&format!("dedup --window 50M --stats-json {path}"), &common::numbers(0..20_000));
    let stats = json_file(path.as_ref());
    assert!(stats["memory_bytes"].as_u64() > Some(64 << 20));
    let (now, worst) = (
        stats["estimated_false_positive_rate"].as_f64().unwrap(),
        stats["predicted_false_positive_rate"].as_f64().unwrap(),
    );
    assert!((0.0..worst).contains(&now), "{now:e} of {worst:e}");
}

//! Bad input gets an error that names the value, the limit and the remedy.

use std::time::Duration;

use lately::{Builder, ConfigError, Filter, Layout, MAX_WINDOW, Overload, Segment};

fn promise() -> Builder {
    Filter::builder().window(1_000).false_positive_rate(0.01)
}

/// Asserts that the builder fails with a message that contains each of `says`; returns the error.
#[track_caller]
fn refused(builder: &Builder, says: &[&str]) -> ConfigError {
    let error = builder.build().map(|filter| filter.plan()).unwrap_err();
    let message = error.to_string();
    for part in says {
        assert!(message.contains(part), "\"{message}\" does not say \"{part}\"");
    }
    error
}

#[test]
fn a_promise_without_a_window_or_a_rate_is_refused() {
    refused(&Filter::builder().false_positive_rate(0.1), &["window(", "max_memory("]);
    refused(&Filter::builder().max_memory(1 << 20), &["window("]);
    refused(&Filter::builder().window(10), &["false_positive_rate(", "max_memory(", "shape("]);
}

#[test]
fn windows_that_are_empty_or_too_large_are_refused() {
    refused(&promise().window(0), &["0 inserts", "1 to"]);
    refused(&promise().window(u64::MAX), &[&u64::MAX.to_string(), &MAX_WINDOW.to_string()]);
    let span = Duration::from_secs(1);
    refused(&promise().time_window(span).capacity(0), &["0 inserts"]);
    refused(&promise().time_window(Duration::ZERO).capacity(10), &["0 ms", "1 ms"]);
    refused(&promise().time_window(Duration::MAX).capacity(10), &["ms", &u64::MAX.to_string()]);
    refused(
        &promise().time_window(Duration::from_millis(5)).capacity(10).shape(2, 6),
        &["5 ms", "6 generations"],
    );
}

#[test]
fn rates_that_are_out_of_range_or_unreachable_are_refused() {
    for rate in [0.0, -0.1, 1.0, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 9e-16] {
        refused(&promise().false_positive_rate(rate), &["rate", "less than 1"]);
    }
    let error = refused(&promise().window(1 << 40).false_positive_rate(1e-9), &["1e-9", "64-bit"]);
    let ConfigError::RateUnreachable { reachable, .. } = error else { panic!("{error}") };
    promise().window(1 << 40).false_positive_rate(reachable).plan().expect("the remedy works");
    promise().false_positive_rate(lately::MIN_RATE).plan().expect("the limit is allowed");
    refused(&promise().shape(200, 1).false_positive_rate(1e-14), &["1e-14", "64-bit"]);
}

#[test]
fn invalid_slack_is_refused_and_unreachable_slack_is_refused_with_a_reachable_one() {
    for slack in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(&promise().max_slack(slack), &["slack", "more than 0"]);
    }
    let cases = [
        promise().window(1_000_000).max_slack(0.0009),
        promise().window(10).max_slack(0.05),
        promise().max_slack(0.1).shape(3, 5),
        promise().max_slack(0.1).shape(3, 5).layout(Layout::Blocks),
        Filter::builder().window(1_000).max_slack(0.1).shape(3, 5),
        promise().time_window(Duration::from_millis(9)).capacity(1_000).max_slack(0.1),
        promise().max_slack(0.1).shape(7, 5),
        promise().window(100_000).max_slack(1e-9),
        promise().max_slack(0.01).layout(Layout::Rows),
    ];
    for builder in cases {
        let message = refused(&builder, &["slack", "or more can"]).to_string();
        // Follow the message as a user would: ask for the slack that it names.
        let said = message.split(": ").last().and_then(|rest| rest.split(' ').next()).unwrap();
        builder
            .max_slack(said.parse().unwrap())
            .plan()
            .unwrap_or_else(|error| panic!("{message}, then {error}"));
    }
}

#[test]
fn shapes_that_the_format_cannot_hold_are_refused() {
    for (k, l) in [(0, 5), (5, 0), (512, 513), (u32::MAX, u32::MAX)] {
        refused(&promise().shape(k, l), &[&format!("k={k} l={l}"), "1024"]);
    }
    for parts in [0, 65] {
        refused(&promise().segment(Segment::Slices { parts }), &[&format!("{parts} parts"), "1 to 64"]);
    }
    for (block_bits, bits_per_block) in [(64, 3), (128, 4), (512, 16), (64, 0), (0, 1), (512, 32), (64, 64)] {
        let segment = Segment::Blocks { block_bits, bits_per_block };
        refused(
            &promise().segment(segment),
            &[&format!("{block_bits} bits with {bits_per_block}"), "64 or 512"],
        );
    }
    for (k, l, row_bytes, parts) in
        [(5, 11, 64, 2), (1, 1, 32, 1), (1, 1, 64, 0), (10, 22, 128, 2), (2, 2, 128, 32), (2, 8, 256, 2)]
    {
        let builder = promise().shape(k, l).segment(Segment::Rows { row_bytes, parts });
        refused(&builder, &[&format!("rows of {row_bytes} bytes"), "31 in 64 bytes"]);
    }
    refused(&promise().shape(32, 32).layout(Layout::Rows), &["rows of 128 bytes", "64 segments"]);
    let blocks = Segment::Blocks { block_bits: 64, bits_per_block: 4 };
    refused(&promise().layout(Layout::Slices).segment(blocks), &["slices", "blocks"]);
}

#[test]
fn an_overload_policy_without_a_time_window_is_refused() {
    refused(&promise().overload(Overload::KeepRate), &["overload", "time_window("]);
}

#[test]
fn too_little_memory_is_refused_with_remedies_that_work() {
    let builder = promise().window(100_000).false_positive_rate(1e-4).max_memory(100_000);
    let error = refused(&builder, &["max_memory is 100000", "window (or capacity) of", "or for a rate of"]);
    let ConfigError::MemoryTooSmall { needed_bytes, fitting_window, fitting_rate, .. } = error else {
        panic!("{error}")
    };
    builder.clone().max_memory(needed_bytes).build().expect("the first remedy works");
    builder.clone().window(fitting_window.unwrap()).build().expect("the second remedy works");
    builder
        .clone()
        .false_positive_rate(fitting_rate.unwrap() * 1.001)
        .build()
        .expect("the third remedy works");
    // Without a rate, any useful rate is enough.
    let any_rate =
        Filter::builder().time_window(Duration::from_secs(60)).capacity(105_977).layout(Layout::Bins);
    let error = refused(&any_rate.clone().max_memory(145_951), &["max_memory is 145951"]);
    let ConfigError::MemoryTooSmall { needed_bytes, .. } = error else { panic!("{error}") };
    any_rate.max_memory(needed_bytes).build().expect("the remedy works");
    refused(&Filter::builder().window(1_000).max_memory(10), &["bytes are needed", "10"]);
    refused(&Filter::builder().false_positive_rate(0.1).max_memory(3), &["bytes are needed", "3"]);
    refused(&promise().max_memory(0), &["max_memory is 0"]);
}

#[test]
fn memory_that_no_machine_has_is_refused() {
    refused(&promise().window(MAX_WINDOW), &["bytes cannot be allocated", "max_memory("]);
    let promise = promise().false_positive_rate(0.1);
    let slices = promise.window(MAX_WINDOW).shape(1_000, 1).segment(Segment::Slices { parts: 64 });
    refused(&slices, &["addressed", "smaller window"]);
    let half_full =
        Filter::builder().window(MAX_WINDOW).shape(1_000, 1).segment(Segment::Slices { parts: 64 });
    refused(&half_full, &["addressed", "smaller window"]);
}

#[test]
#[should_panic(expected = "3 items were passed, but `seen` has 2 elements: pass one element per item")]
fn a_batch_with_too_few_answers_panics() {
    promise().build().unwrap().contains_batch(&["a", "b", "c"], &mut [false; 2]);
}

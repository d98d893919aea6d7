//! The bits per item that a slack or a rate costs: of each layout, and of other structures.

use alloc::format;
use alloc::vec::Vec;

use lately::model::bloom_bits_per_item;
use lately::{DEFAULT_SLACK, Layout, MAX_WINDOW, Prefer, Promise};
use libm::{ceil, log2};

use crate::asked::Asked;
use crate::failure::Failure;
use crate::numbers::{Reader, Writer};

const SLACKS: [f64; 9] = [0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5];
const RATES: [f64; 9] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9];
/// A hash set of 64-bit ids and a ring of them, in Rust, as measured for README.md: 45.7 MB for a million.
const HASH_SET_BITS: f64 = 365.6;

/// How many items a span brings at most: a capacity.
pub(crate) fn capacity(per_second: f64, span_ms: f64) -> Result<u64, Failure> {
    let capacity = ceil(per_second * span_ms / 1000.0).max(1.0);
    if capacity <= MAX_WINDOW as f64 {
        return Ok(capacity as u64);
    }
    Err(Failure::config(format!(
        "{per_second} items per second in {span_ms} ms are more than {MAX_WINDOW}: ask for fewer, or a shorter span"
    )))
}

#[derive(Clone, Copy, Debug)]
enum Along {
    Slack,
    Rate,
}

#[derive(Clone, Copy, Debug)]
enum Of {
    Layout(Layout),
    /// What no sliding filter can go below.
    LowerBound,
    /// A Bloom filter that never forgets.
    Bloom,
    HashSet,
}

/// In the order of `plots.js`.
const AXES: [Along; 2] = [Along::Slack, Along::Rate];
const CURVES: [Of; 7] = [
    Of::Layout(Layout::Bins),
    Of::Layout(Layout::Rows),
    Of::Layout(Layout::Slices),
    Of::Layout(Layout::Blocks),
    Of::LowerBound,
    Of::Bloom,
    Of::HashSet,
];

/// Writes the points of one curve, without those where nothing is possible: the value on the axis, and bits per item.
pub(crate) fn curve(wanted: &mut Reader<'_>, reply: &mut Writer<'_>) -> Result<(), Failure> {
    let missing = || Failure::internal("there is no such curve");
    let along = wanted.next_of(&AXES).ok_or_else(missing)?;
    let of = wanted.next_of(&CURVES).ok_or_else(missing)?;
    for (at, bits) in points(along, of, Asked::read(wanted)?.promise) {
        reply.number(at);
        reply.number(bits);
    }
    Ok(())
}

fn points(along: Along, of: Of, promise: Promise) -> Vec<(f64, f64)> {
    let asked_slack = promise.max_slack.unwrap_or(DEFAULT_SLACK);
    let asked_rate = promise.false_positive_rate.unwrap_or(1e-4);
    let moments: Vec<(f64, f64, f64)> = match along {
        Along::Slack => SLACKS.iter().map(|&slack| (slack, asked_rate, slack)).collect(),
        Along::Rate => RATES.iter().map(|&rate| (rate, rate, asked_slack)).collect(),
    };
    let planned = |layout: Layout, rate: f64, slack: f64| {
        let mut promise = promise;
        // A time window of a capacity takes what a count window of as many items takes.
        (promise.span, promise.overload) = (None, None);
        promise.window = promise.window.or(promise.capacity.take());
        (promise.max_memory, promise.shape) = (None, None);
        (promise.layout, promise.prefer) = (Some(layout), Prefer::Memory);
        (promise.false_positive_rate, promise.max_slack) = (Some(rate), Some(slack));
        promise.plan().ok().map(|plan| plan.bits_per_item)
    };
    let bits = |rate: f64, slack: f64| match of {
        Of::Layout(layout) => planned(layout, rate, slack),
        Of::LowerBound => Some(lower_bound(rate, slack)),
        Of::Bloom => Some(bloom_bits_per_item(rate)),
        Of::HashSet => Some(HASH_SET_BITS),
    };
    let mut points: Vec<(f64, f64)> = moments
        .into_iter()
        .filter_map(|(at, rate, slack)| bits(rate, slack).map(|bits| (at, bits)))
        .collect();
    if let Along::Slack = along {
        // A plan for less slack is also a plan for more slack.
        let mut least = f64::INFINITY;
        for point in &mut points {
            least = least.min(point.1);
            point.1 = least;
        }
    }
    points
}

/// The bits per item of any filter of a sliding window.
fn lower_bound(rate: f64, slack: f64) -> f64 {
    let of_rate = -log2(rate);
    of_rate + log2(of_rate).max(-log2(slack)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_is_above_the_lower_bound_and_below_a_hash_set() {
        let mut promise = Promise::default();
        (promise.window, promise.false_positive_rate) = (Some(1_000_000), Some(1e-3));
        for along in AXES {
            let bound = points(along, Of::LowerBound, promise);
            for of in CURVES.into_iter().filter(|of| matches!(of, Of::Layout(_))) {
                let curve = points(along, of, promise);
                assert!(curve.len() >= 4, "{along:?} {of:?}: {curve:?}");
                for (at, bits) in curve {
                    let (_, least) = bound.iter().find(|point| (point.0 - at).abs() < 1e-12).unwrap();
                    assert!(bits > *least && bits < HASH_SET_BITS, "{along:?} {of:?} at {at}: {bits}");
                }
            }
        }
    }

    #[test]
    fn capacities_are_rounded_up_and_limited() {
        assert_eq!(capacity(50.0, 1_500.0).unwrap(), 75);
        assert_eq!(capacity(0.001, 1.0).unwrap(), 1);
        assert!(capacity(1e15, 1e9).is_err() && capacity(f64::INFINITY, 1.0).is_err());
    }
}

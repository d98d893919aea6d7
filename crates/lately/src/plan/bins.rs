//! The search through shapes of bins.
//!
//! A width of fingerprints and a number of generations determine how many fingerprints a line holds. Of the
//! numbers of generations with which it holds equally many, the largest costs nothing more, so for each width
//! only a few shapes are worth trying. For the least memory, only few widths are: the rate is about that of
//! the fingerprints in two full lines.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use libm::{ceil, exp2};

use super::{Dimensions, sizing};
use crate::limits::MAX_WINDOW;
use crate::model::Cells;
use crate::model::bins::BinModel;
use crate::promise::Promise;
use crate::shape::{BinShape, FINGERPRINT_BITS, Segment, Shape};
use crate::window::Window;

/// A time window with this factor of its capacity keeps this factor of its rate.
const OVERLOAD: f64 = 1.1;
const RATE_UNDER_OVERLOAD: f64 = 2.0;
/// How many different numbers of fingerprints per line are tried for a width.
const SIZES_PER_WIDTH: usize = 4;

/// The least memory for the rate, if any shape keeps the slack.
pub(super) fn least_memory(promise: &Promise, window: Window, rate: f64, max_slack: f64) -> Vec<Dimensions> {
    // A line of 512 bits holds at most 512 / (w + 1) fingerprints, so the rate is at most that of two such.
    let is_wide_enough = |bits: &u32| 2.0 * 512.0 / f64::from(bits + 1) * exp2(-f64::from(*bits)) <= rate;
    let widest = FINGERPRINT_BITS.clone().find(is_wide_enough).unwrap_or(*FINGERPRINT_BITS.end());
    let widths = widest.saturating_sub(2).max(*FINGERPRINT_BITS.start())..=widest;
    let sized = shapes(promise, window, max_slack, widths)
        .filter_map(|shape| sized(window, shape, rate))
        .filter(|candidate| candidate.keeps_slack(max_slack));
    sized.min_by_key(|candidate| candidate.memory_bytes).into_iter().collect()
}

/// The best rate in the memory.
pub(super) fn best_rate(
    promise: &Promise,
    window: Window,
    max_memory: u64,
    max_slack: f64,
) -> Option<Dimensions> {
    let fitting = shapes(promise, window, max_slack, FINGERPRINT_BITS.clone()).filter_map(|shape| {
        let lines = Dimensions::most_cells(&shape, max_memory);
        let candidate =
            Dimensions::new(window, shape, window.items_per_generation(shape.window_generations), lines);
        candidate.filter(|candidate| lines > 0 && candidate.keeps_slack(max_slack))
    });
    let with_rate = fitting.map(|candidate| (candidate, candidate.worst_rate()));
    with_rate.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(candidate, _)| candidate)
}

/// The size of an explicit shape for which no rate was requested: the spare is half full.
pub(super) fn half_full(window: Window, shape: Shape) -> Option<Dimensions> {
    let Segment::Bins { fingerprint_bits } = shape.segment else { return None };
    let bin = BinShape::new(fingerprint_bits, shape.window_generations)?;
    let model = BinModel::new(bin, Cells::Many);
    let load = largest(f64::from(bin.entries), |load| model.spare_fill(load) <= 0.5);
    with_load(window, shape, load)
}

/// The shapes worth trying.
fn shapes(
    promise: &Promise,
    window: Window,
    max_slack: f64,
    widths: RangeInclusive<u32>,
) -> impl Iterator<Item = Shape> {
    let widths = match promise.segment {
        Some(Segment::Bins { fingerprint_bits }) => fingerprint_bits..=fingerprint_bits,
        _ => widths,
    };
    let least = ceil(1.0 / max_slack).clamp(1.0, 64.0) as u32;
    let most = window.most_generations().min(64) as u32;
    let asked = promise.shape;
    widths.flat_map(move |fingerprint_bits| {
        let segment = Segment::Bins { fingerprint_bits };
        let with = move |window_generations| Shape { required_matches: 1, window_generations, segment };
        let worth: Vec<Shape> = match asked {
            Some((required_matches, l)) => vec![Shape { required_matches, ..with(l) }],
            None => generations_worth_trying(window, fingerprint_bits, least..=most).map(with).collect(),
        };
        worth.into_iter().filter(Shape::is_possible)
    })
}

/// For each of the largest numbers of fingerprints per line, the most generations with which a line still holds
/// as many. If the window is not a multiple of them, also the next lower number that divides it better.
fn generations_worth_trying(
    window: Window,
    fingerprint_bits: u32,
    range: RangeInclusive<u32>,
) -> impl Iterator<Item = u32> {
    let entries = move |l: u32| BinShape::new(fingerprint_bits, l).map(|bin| bin.entries);
    let surplus = move |l: u32| window.items_per_generation(l) * u64::from(l) - window.items();
    let most = *range.end();
    let last_of_its_size = move |l: &u32| *l == most || entries(*l) != entries(*l + 1);
    let largest =
        range.clone().filter(move |l| entries(*l).is_some() && last_of_its_size(l)).take(SIZES_PER_WIDTH);
    largest.flat_map(move |l| {
        let is_less_rounded = move |other: &u32| surplus(*other) < surplus(l);
        let matters = surplus(l) * 200 > window.items();
        let less_rounded = (*range.start()..l).rev().take(8).find(is_less_rounded).filter(|_| matters);
        core::iter::once(l).chain(less_rounded)
    })
}

/// The shape with the fewest lines that keep the rate.
fn sized(window: Window, shape: Shape, rate: f64) -> Option<Dimensions> {
    let Segment::Bins { fingerprint_bits } = shape.segment else { return None };
    let bin = BinShape::new(fingerprint_bits, shape.window_generations)?;
    let items = window.items_per_generation(shape.window_generations);
    let budget = rate - sizing::hash_collisions(&shape, items);
    // For many lines first; a small table has a larger spare than a cell per line, and keeps the rate too.
    let model = BinModel::new(bin, Cells::Many);
    let keeps = |load: f64| {
        model.rate(load) <= budget
            && (!matches!(window, Window::Time { .. })
                || model.rate(load * OVERLOAD) <= budget * RATE_UNDER_OVERLOAD)
    };
    let load = largest(f64::from(bin.entries), keeps);
    with_load(window, shape, load)
}

/// The shape with at most this load per line.
fn with_load(window: Window, shape: Shape, load: f64) -> Option<Dimensions> {
    let items = window.items_per_generation(shape.window_generations);
    let pairs = ceil(items as f64 * f64::from(shape.segments()) / (2.0 * load));
    if !(pairs <= MAX_WINDOW as f64) {
        return None;
    }
    Dimensions::new(window, shape, items, 2 * (pairs as u64).max(1))
}

/// The largest value up to `most` with this property, which smaller ones have too, to one part in ten
/// thousand.
fn largest(most: f64, has_property: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    while high - low > 1e-4 * high {
        let middle = f64::midpoint(low, high);
        if has_property(middle) {
            low = middle;
        } else {
            high = middle;
        }
        if high < 1e-3 {
            break;
        }
    }
    low
}

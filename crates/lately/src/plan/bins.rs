//! The search through shapes of bins.
//!
//! A width of fingerprints and a number of generations determine how many fingerprints a line holds. More
//! generations hold fewer items beyond the window, but leave less room in a line. For the least memory, only few
//! widths are worth trying: the rate is about that of the fingerprints in two full lines.

use alloc::vec::Vec;

use libm::{ceil, exp, exp2};

use super::Dimensions;
use super::ordered::sort_by_key;
use super::wanted::Wanted;
use crate::limits::MAX_WINDOW;
use crate::model::Cells;
use crate::model::bins::BinModel;
use crate::shape::{BinShape, FINGERPRINT_BITS, MAX_BIN_GENERATIONS, Segment, Shape};
use crate::window::Window;

/// A time window with this factor of its capacity keeps this factor of its rate.
const OVERLOAD: f64 = 1.1;
const RATE_UNDER_OVERLOAD: f64 = 2.0;
/// The expected cache lines of a query. The spare saves memory, but looking there takes longer than everything
/// else together, so few queries may have to.
const MOST_ACCESSES: f64 = 2.035;

/// The least memory for the rate, if any shape keeps the slack.
pub(super) fn least_memory(wanted: &Wanted) -> Option<Dimensions> {
    let mut shapes: Vec<(Shape, u64)> = shapes(wanted);
    sort_by_key(&mut shapes, |(_, at_least)| *at_least);
    let mut found: Option<Dimensions> = None;
    for (shape, at_least) in shapes {
        if found.is_some_and(|found| at_least >= found.memory_bytes) {
            break;
        }
        let is_less = |sized: &Dimensions| found.is_none_or(|found| sized.memory_bytes < found.memory_bytes);
        found = sized(wanted, shape).filter(is_less).or(found);
    }
    found
}

/// The size of an explicit shape for which no rate was requested: the spare is half full.
pub(super) fn half_full(window: Window, shape: Shape) -> Option<Dimensions> {
    let model = BinModel::of(&shape, Cells::Many)?;
    let load = largest(f64::from(model.entries()), |load| model.spare_fill(load) <= 0.5);
    with_load(window, shape, load)
}

/// The shapes worth trying, and the memory that each takes at least.
fn shapes(wanted: &Wanted) -> Vec<(Shape, u64)> {
    // A line of 512 bits holds at most 512 / (w + 1) fingerprints, so the rate is at most that of two such.
    let is_wide_enough =
        |bits: &u32| 2.0 * 512.0 / f64::from(bits + 1) * exp2(-f64::from(*bits)) <= wanted.rate;
    let widest = FINGERPRINT_BITS.clone().find(is_wide_enough).unwrap_or(*FINGERPRINT_BITS.end());
    let widths = match wanted.segment {
        Some(Segment::Bins { fingerprint_bits }) => fingerprint_bits..=fingerprint_bits,
        _ => widest.saturating_sub(2).max(*FINGERPRINT_BITS.start())..=widest,
    };
    let most = wanted.window.most_generations().min(MAX_BIN_GENERATIONS.into()) as u32;
    let generations = wanted.shape.map_or(1..=most, |(_, l)| l..=l);
    // Of the generations with which a line holds equally many fingerprints, those with the fewest items.
    let held = |bin: &BinShape| {
        let l = bin.window_generations;
        wanted.window.items_per_generation(l) * u64::from(l + 1)
    };
    let with_width = |fingerprint_bits: u32| {
        let bins = generations.clone().filter_map(move |l| BinShape::new(fingerprint_bits, l));
        let mut best: Vec<BinShape> = Vec::new();
        for bin in bins.filter(|bin| wanted.keeps_slack(bin.window_generations, 1.0)) {
            match best.last_mut().filter(|last| last.entries == bin.entries) {
                None => best.push(bin),
                Some(last) if held(&bin) <= held(last) => *last = bin,
                Some(_) => {}
            }
        }
        best
    };
    let at_least = |bin: BinShape| {
        let required_matches = wanted.shape.map_or(1, |(k, _)| k);
        let segment = Segment::Bins { fingerprint_bits: bin.fingerprint_bits };
        let shape = Shape { required_matches, window_generations: bin.window_generations, segment };
        let size =
            with_load(wanted.window, shape, most_load(wanted, &bin)).filter(|_| shape.is_possible())?;
        Some((shape, size.memory_bytes))
    };
    widths.flat_map(with_width).filter_map(at_least).collect()
}

/// A bound of the load per line, so that few shapes need the model. The fingerprints in two lines must keep the rate,
/// and the spare must not overflow: at a rate of 0.1, the model fills lines to 0.99 - 0.278 exp(-0.07 E) of their
/// E places; at lower rates less, at higher ones little more.
fn most_load(wanted: &Wanted, bin: &BinShape) -> f64 {
    let entries = f64::from(bin.entries);
    let by_fingerprints = 0.55 * wanted.rate * exp2(f64::from(bin.fingerprint_bits));
    let by_spare = entries * (0.99 - 0.278 * exp(-0.07 * entries));
    let by_spare = by_spare * if wanted.rate < 0.05 { 1.0 } else { 1.05 };
    match wanted.window {
        Window::Time { .. } => by_fingerprints.min(by_spare / OVERLOAD),
        Window::Count { .. } | Window::Elastic { .. } => by_fingerprints.min(by_spare),
    }
}

/// The shape with the fewest lines that keep the rate.
fn sized(wanted: &Wanted, shape: Shape) -> Option<Dimensions> {
    let by_chance = wanted.rate_by_chance(&shape)?;
    let keeps = |model: &BinModel, load: f64| {
        model.keeps(load, MOST_ACCESSES, by_chance)
            && (!matches!(wanted.window, Window::Time { .. })
                || model.rate(load * OVERLOAD) <= by_chance * RATE_UNDER_OVERLOAD)
    };
    let many = BinModel::of(&shape, Cells::Many)?;
    let mut size =
        with_load(wanted.window, shape, largest(f64::from(many.entries()), |load| keeps(&many, load)))?;
    // The number of spilled items varies more in a small table.
    while !keeps(&BinModel::of(&shape, Cells::Exactly(size.cells))?, size.items_per_line()) {
        let lines = size.cells + 2 * (1 + size.cells / 200);
        size = Dimensions::new(wanted.window, shape, size.items_per_generation, lines)?;
    }
    Some(size)
}

/// The shape with at most this load per line.
fn with_load(window: Window, shape: Shape, load: f64) -> Option<Dimensions> {
    let items = window.items_per_generation(shape.window_generations);
    let pairs = ceil(items as f64 * f64::from(shape.segments()) / (2.0 * load));
    let is_possible = pairs <= MAX_WINDOW as f64;
    is_possible.then(|| Dimensions::new(window, shape, items, 2 * (pairs as u64).max(1)))?
}

/// The largest value up to `most` with this property, which smaller ones have too, to one part in ten
/// thousand.
fn largest(most: f64, has_property: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, most);
    while high - low > 1e-4 * high && high > 1e-3 {
        let middle = f64::midpoint(low, high);
        if has_property(middle) { low = middle } else { high = middle }
    }
    low
}

//! The search through shapes of rows.
//!
//! A row has room for a fixed number of parts, so b determines k + l, and only k is left to choose. A rough
//! model ranks the shapes; the exact model sizes the best of them.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;

use libm::{ceil, exp, log, log2};

use super::ordered::sort_by_key;
use super::wanted::Wanted;
use super::{Dimensions, dimensions::npws};
use crate::model::rows::RowModel;
use crate::shape::{Segment, Shape, parts_per_row};

/// Rough sizes are up to 2% above exact ones, some more than others. A shape with a rough size beyond this factor of
/// the least rough size is not worth an exact one.
const ROUGH_ERROR: f64 = 1.015;
/// Fewer items per row, down to this share, have a little less slack.
const EMPTIER: f64 = 0.85;

/// The least memory for the rate, if any shape keeps the slack.
pub(super) fn least_memory(wanted: &Wanted, row_bytes: u32) -> Option<Dimensions> {
    let mut candidates = candidates(wanted, row_bytes);
    sort_by_key(&mut candidates, |candidate| candidate.size.memory_bytes);
    let mut rest = candidates.into_iter().peekable();
    while let Some(first) = rest.next() {
        let most = first.size.memory_bytes as f64 * ROUGH_ERROR;
        let mut close = vec![first];
        let is_close = |other: &Candidate| other.size.memory_bytes as f64 <= most;
        close.extend(core::iter::from_fn(|| rest.next_if(is_close)));
        if close.len() > 1 {
            close = close.into_iter().filter_map(|candidate| candidate.refined(wanted)).collect();
            sort_by_key(&mut close, |candidate| candidate.size.memory_bytes);
        }
        // Most often the first one keeps the slack and needs no row more, and nothing else is sized.
        let mut best: Option<Dimensions> = None;
        for candidate in close {
            if best.is_some_and(|best| best.memory_bytes <= candidate.size.memory_bytes) {
                break;
            }
            let sized = candidate.sized(wanted);
            best = [best, sized].into_iter().flatten().min_by_key(|sized| sized.memory_bytes);
        }
        if best.is_some() {
            return best;
        }
    }
    None
}

/// The least slack at the rate, with any memory.
pub(super) fn least_slack(wanted: &Wanted, row_bytes: u32) -> Option<f64> {
    let any = Wanted { max_slack: f64::INFINITY, ..*wanted };
    let candidates = candidates(&any, row_bytes);
    let npws = |candidate: &Candidate| candidate.rough_npws(wanted.rate);
    let by_slack = |a: &&Candidate, b: &&Candidate| npws(a).total_cmp(&npws(b));
    candidates.iter().min_by(by_slack)?.sized(&any).map(|found| found.npws())
}

/// A shape with about as many rows as the rate and the slack need.
struct Candidate {
    model: RowModel,
    size: Dimensions,
    /// Items per row and generation.
    load: f64,
    /// The exponent with which the rate grows with the load.
    slope: f64,
}

fn candidates(wanted: &Wanted, row_bytes: u32) -> Vec<Candidate> {
    let mut segment_load = 10.0;
    let mut found: Vec<Candidate> = Vec::new();
    for shape in shapes(wanted, row_bytes) {
        found.extend(Candidate::new(wanted, shape, segment_load));
        // The load of a segment is similar for all shapes.
        if let Some(last) = found.last() {
            segment_load = last.load * f64::from(last.size.shape.required_matches);
        }
    }
    found
}

impl Candidate {
    /// `segment_load` is a guess: the items that a segment takes until it is no longer written.
    fn new(wanted: &Wanted, shape: Shape, segment_load: f64) -> Option<Self> {
        let items = wanted.window.items_per_generation(shape.window_generations);
        let by_chance = wanted.rate_by_chance(&shape)?;
        let (k, all) = (f64::from(shape.required_matches), items as f64);
        let model = RowModel::new(&shape, 1.0, all);
        let excess = |load: f64| log(model.rough_rate(load) / by_chance);
        let slope = 0.5 * f64::from(bits_to_match(&shape));
        let (most, slope) = greatest_load(segment_load / k, all, slope, 0.02, excess);
        let load = emptier(most, |load| {
            wanted.keeps_slack(shape.window_generations, model.rough_slack(load, by_chance))
        })?;
        let rough = Dimensions::new(wanted.window, shape, items, ceil(all / load).max(1.0) as u64)?;
        Some(Self { model, size: rough, load, slope })
    }

    /// Corrects the load by one exact rate.
    fn refined(mut self, wanted: &Wanted) -> Option<Self> {
        let Dimensions { window, shape, items_per_generation, .. } = self.size;
        let excess = log(self.model.rate(self.load) / wanted.rate_by_chance(&shape)?);
        // A load that the slack limits has a lower rate, and stays.
        if excess > -0.2 {
            self.load = (self.load * exp(-excess / self.slope)).min(items_per_generation as f64);
        }
        let rows = ceil(items_per_generation as f64 / self.load).max(1.0) as u64;
        self.size = Dimensions::new(window, shape, items_per_generation, rows)?;
        Some(self)
    }

    fn rough_npws(&self, rate: f64) -> f64 {
        let Dimensions { window, shape, items_per_generation, .. } = self.size;
        npws(&window, shape.window_generations, items_per_generation, self.model.rough_slack(self.load, rate))
    }

    /// The exact size.
    fn sized(&self, wanted: &Wanted) -> Option<Dimensions> {
        let Dimensions { window, shape, items_per_generation, .. } = self.size;
        let by_chance = wanted.rate_by_chance(&shape)?;
        let all = items_per_generation as f64;
        // Exact rates take long, and the latest is often wanted twice.
        let latest = Cell::new((f64::NAN.to_bits(), f64::NAN));
        let rate = |load: f64| {
            if latest.get().0 != load.to_bits() {
                latest.set((load.to_bits(), self.model.rate(load)));
            }
            latest.get().1
        };
        let excess = |load: f64| log(rate(load) / by_chance);
        let (load, _) = greatest_load(self.load, all, self.slope, 1e-3, excess);
        let with_load = |load: f64| {
            Dimensions::new(window, shape, items_per_generation, ceil(all / load).max(1.0) as u64)
        };
        let mut sized = with_load(load)?;
        while excess(sized.load_of_rows()) > 0.0 {
            sized =
                Dimensions::new(window, shape, items_per_generation, sized.cells + 1 + sized.cells / 10_000)?;
        }
        if wanted.max_slack.is_infinite() {
            return Some(sized);
        }
        let load = emptier(sized.load_of_rows(), |load| {
            let slack = self.model.weighted_slack(load, rate(load));
            wanted.keeps_slack(shape.window_generations, slack)
        })?;
        with_load(load)
    }
}

/// Lowers the load until the slack is kept, but not too far.
fn emptier(most: f64, keeps_slack: impl Fn(f64) -> bool) -> Option<f64> {
    const STEP: f64 = 0.985;
    if keeps_slack(most) {
        return Some(most);
    }
    if !keeps_slack(most * EMPTIER) {
        return None;
    }
    core::iter::successors(Some(most * STEP), |load| Some(load * STEP)).find(|&load| keeps_slack(load))
}

/// The most items per row and generation that keep the rate, at most `all`: where `excess`, the logarithm of
/// the factor by which the rate is too high, is about zero, and rather below. `excess` is almost linear in
/// ln(load); the slope is returned too.
fn greatest_load(
    guess: f64,
    all: f64,
    mut slope: f64,
    close: f64,
    excess: impl Fn(f64) -> f64,
) -> (f64, f64) {
    const MOST_ROUNDS: u32 = 40;
    let mut load = guess.min(all);
    let mut too_high = excess(load);
    for _ in 0..MOST_ROUNDS {
        if too_high.abs() < close || too_high < 0.0 && load >= all {
            break;
        }
        let next = all.min(load * exp(-too_high / slope).clamp(0.5, 2.0));
        let next_too_high = excess(next);
        let between = (next_too_high - too_high) / log(next / load);
        slope = if between.is_finite() { between.clamp(0.5, 200.0) } else { slope };
        (load, too_high) = (next, next_too_high);
    }
    // The last correction, and a little more.
    (all.min(load * exp(-(too_high + 1e-5) / slope)), slope)
}

/// How many bits of an item a run of k segments matches.
fn bits_to_match(shape: &Shape) -> u32 {
    let Segment::Rows { parts, .. } = shape.segment else { return 0 };
    shape.required_matches * parts
}

/// The shapes worth trying: the rows are fully used, unless the window has too few generations for that, and
/// the number of bits to match is not far from the number needed.
fn shapes(wanted: &Wanted, row_bytes: u32) -> impl Iterator<Item = Shape> {
    let all_parts = parts_per_row(row_bytes);
    let parts = match wanted.segment {
        Some(Segment::Rows { parts, .. }) => parts..=parts,
        _ => 1..=all_parts / 2,
    };
    let with_parts = move |parts: u32| {
        let segments = all_parts / parts;
        let (least, most) = wanted.shape.map_or((1, segments.saturating_sub(1)), |(k, _)| (k, k));
        (least..=most).filter_map(move |k| {
            let room = segments.checked_sub(k).filter(|&l| l > 0)?;
            let most = u64::from(room).min(wanted.window.most_generations()) as u32;
            let l = wanted.shape.map_or(most, |(_, l)| l);
            let segment = Segment::Rows { row_bytes, parts };
            Some(Shape { required_matches: k, window_generations: l, segment })
        })
    };
    let is_worth_a_look = move |shape: &Shape| {
        let matched = f64::from(bits_to_match(shape));
        let needed = log2((f64::from(shape.window_generations) + 1.0) / wanted.rate);
        let chosen_for_us = wanted.shape.is_none() && wanted.segment.is_none();
        shape.is_possible()
            && wanted.keeps_slack(shape.window_generations, 1.0)
            && (!chosen_for_us || (0.5 * needed - 0.5..=0.9 * needed + 5.0).contains(&matched))
    };
    parts.flat_map(with_parts).filter(is_worth_a_look)
}

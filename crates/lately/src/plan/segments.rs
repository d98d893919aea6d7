//! The search through shapes of slices and blocks of one k.
//!
//! For a rate, k and l determine the probability p with which a full segment may match, and p determines the
//! load, the memory and the slack. All of that is nearly a closed form, so many values of l and b can be
//! tried. Only the best of them is sized by the exact model.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use libm::{ceil, exp, expm1, floor, log, log1p, log2, pow};

use super::ordered::sort_by_key;
use super::wanted::Wanted;
use super::{Dimensions, sizing};
use crate::limits::{MAX_PARTS, MAX_SEGMENTS};
use crate::model::{Cells, match_probability, power};
use crate::shape::{Layout, Segment, Shape};

/// Plans within this factor of the least memory count as equal, and the one with fewer generations is taken: it
/// needs fewer accesses.
const EQUAL_MEMORY: f64 = 1.005;

/// A shape with about as many cells as the rate needs.
#[derive(Clone, Copy)]
struct Estimate {
    shape: Shape,
    cells: u64,
    memory_bytes: u64,
}

/// The least memory for the rate, if any shape with this layout and k keeps the slack.
pub(super) fn least_memory(wanted: &Wanted, layout: Layout, k: u32) -> Option<Dimensions> {
    let mut estimates: Vec<Estimate> =
        segments(wanted, layout, k).into_iter().filter_map(|segment| estimate(wanted, k, segment)).collect();
    sort_by_key(&mut estimates, |estimate| estimate.memory_bytes);
    estimates.iter().find_map(|estimate| sized(wanted, estimate))
}

/// The segments worth trying: an item should match about log2((l + 1) / rate) bits in total.
fn segments(wanted: &Wanted, layout: Layout, k: u32) -> Vec<Segment> {
    if let Some(segment) = wanted.segment {
        return vec![segment];
    }
    let generations = generations(wanted, k);
    let ideal = |l: u32| log2((f64::from(l) + 1.0) / wanted.rate) / f64::from(k);
    let fewest = ideal(*generations.start());
    let most = ideal((*generations.end()).min(generations.start().saturating_mul(4)));
    match layout {
        Layout::Slices => {
            let clamped = |bits: f64| bits.clamp(1.0, f64::from(MAX_PARTS)) as u32;
            let near = clamped(floor(fewest) - 1.0)..=clamped(ceil(most) + 1.0);
            near.map(|parts| Segment::Slices { parts }).collect()
        }
        _ => {
            let in_reach = |segment: &Segment| match *segment {
                Segment::Blocks { bits_per_block, .. } => {
                    let bits = f64::from(bits_per_block);
                    bits >= fewest / 2.5 && (bits <= most * 2.0 || bits_per_block == 1)
                }
                _ => false,
            };
            Segment::all_blocks().filter(in_reach).collect()
        }
    }
}

/// The possible values of l. One generation is always reported after it has left the window, so the slack is at
/// least 1/l.
fn generations(wanted: &Wanted, k: u32) -> RangeInclusive<u32> {
    match wanted.shape {
        Some((_, l)) => l..=l,
        None => {
            let least = ceil(1.0 / wanted.max_slack).clamp(1.0, f64::from(MAX_SEGMENTS)) as u32;
            least..=u64::from(MAX_SEGMENTS - k).min(wanted.window.most_generations()) as u32
        }
    }
}

/// The best l for a segment. As l grows, memory falls, then rises slowly; rounding adds ripples.
fn estimate(wanted: &Wanted, k: u32, segment: Segment) -> Option<Estimate> {
    /// The search ends after this many consecutive l that take more memory.
    const PATIENCE: u32 = 4;
    let range = generations(wanted, k);
    let rounding_counts_from = wanted.window.items() as f64 / 500.0;
    let mut found: Vec<Estimate> = Vec::new();
    let (mut least, mut without_find) = (u64::MAX, 0);
    let mut l = *range.start();
    while l <= *range.end() && without_find < PATIENCE {
        if !wanted.keeps_slack(l, 1.0) {
            l += 1;
            continue;
        }
        let shape = Shape { required_matches: k, window_generations: l, segment };
        let matches = needed_match_probability(&shape, wanted.rate);
        let slack = slack_with(k, matches, wanted.rate);
        let mut step = if f64::from(l) > rounding_counts_from { 1 } else { 1 + l / 8 };
        // The exact slack of an explicit shape decides.
        if wanted.shape.is_some() || wanted.keeps_slack(l, slack) {
            let estimate = estimated(wanted, shape, matches);
            without_find += 1;
            if let Some(estimate) = estimate {
                found.push(estimate);
                if estimate.memory_bytes < least {
                    (least, without_find) = (estimate.memory_bytes, 0);
                }
            }
        } else {
            // The slack in generations hardly depends on l.
            step = (ceil(slack / wanted.max_slack) as u32).saturating_sub(l).max(1);
        }
        l += step;
    }
    found.into_iter().find(|estimate| estimate.memory_bytes as f64 <= least as f64 * EQUAL_MEMORY)
}

/// The generations that are reported beyond the window: the segments that one of them has lost match by chance, or
/// others do.
fn slack_with(k: u32, matches: f64, rate: f64) -> f64 {
    let by_missing = -expm1(f64::from(k) * log(matches)) / (1.0 - matches);
    by_missing + rate * (f64::from(k) - by_missing)
}

fn estimated(wanted: &Wanted, shape: Shape, matches: f64) -> Option<Estimate> {
    let items = wanted.window.items_per_generation(shape.window_generations);
    let per_segment = items as f64 * f64::from(shape.required_matches);
    let cells = ceil(per_segment / load_with(&shape.segment, matches)).max(1.0) as u64;
    let memory_bytes = Dimensions::new(wanted.window, shape, items, cells)?.memory_bytes;
    Some(Estimate { shape, cells, memory_bytes })
}

/// The probability p of matching a full segment at which the shape has about this rate.
///
/// The number of runs is about Poisson. A run that begins at age a > 0 has a segment before it that does not
/// match. If a < k - 1, its young segments are not yet full:
///
/// ```text
/// -ln(1 - rate) = p^k sum over a = 0..=l of (1 - p(a-1)) prod over s = a..k-1 of p(s) / p
/// ```
fn needed_match_probability(shape: &Shape, rate: f64) -> f64 {
    const ROUNDS: usize = 3;
    let (k, l) = (shape.required_matches, shape.window_generations);
    let runs = -log1p(-rate);
    if k == 1 {
        return -expm1(-runs / (f64::from(l) + 1.0));
    }
    let bits = bits_of(&shape.segment);
    let mut matches = pow(runs / f64::from(l + 1), 1.0 / f64::from(k)).min(0.99);
    for _ in 0..ROUNDS {
        let ln_unset = log1p(-pow(matches, 1.0 / f64::from(bits)));
        let young = |age: u32| {
            let share = f64::from((age + 1).min(k)) / f64::from(k);
            power(-expm1(ln_unset * share), bits)
        };
        let mut begins = f64::from((l + 1).saturating_sub(k)) * (1.0 - matches);
        let (mut weight, mut this) = (1.0, young(k.min(l + 1) - 1));
        for age in (0..k.min(l + 1)).rev() {
            let before = if age == 0 { 0.0 } else { young(age - 1) };
            // Of the ages a to k - 1.
            weight *= this / matches;
            begins += weight * (1.0 - before);
            this = before;
            if weight < 1e-3 {
                break;
            }
        }
        matches = pow(runs / begins.max(1e-300), 1.0 / f64::from(k)).min(0.999);
    }
    matches
}

fn bits_of(segment: &Segment) -> u32 {
    match *segment {
        Segment::Slices { parts } => parts,
        Segment::Blocks { bits_per_block, .. } => bits_per_block,
        Segment::Rows { .. } | Segment::Bins { .. } | Segment::ElasticBins { .. } => 1,
    }
}

/// The items per cell with which a segment of many cells matches with this probability.
fn load_with(segment: &Segment, matches: f64) -> f64 {
    const ROUNDS: usize = 4;
    let ln_unset = log1p(-pow(matches, 1.0 / f64::from(bits_of(segment))));
    let Segment::Blocks { block_bits, bits_per_block } = *segment else { return -ln_unset };
    // As if all blocks had the same load; then corrected, because ln p is almost linear in ln(load).
    let mut load = ln_unset / log1p(-f64::from(bits_per_block) / f64::from(block_bits));
    let mut slope = 0.7 * f64::from(bits_per_block);
    let excess = |load: f64| log(match_probability(segment, load, Cells::Many) / matches);
    let mut too_high = excess(load);
    for _ in 0..ROUNDS {
        let next = load * exp(-too_high / slope).clamp(0.2, 5.0);
        let next_too_high = excess(next);
        let between = (next_too_high - too_high) / log(next / load);
        slope = if between.is_finite() { between.clamp(0.05, 20.0) } else { slope };
        (load, too_high) = (next, next_too_high);
        if too_high.abs() < 1e-3 {
            break;
        }
    }
    load
}

/// The exact size of an estimated shape. If it breaks the slack, the next values of l are tried.
fn sized(wanted: &Wanted, estimate: &Estimate) -> Option<Dimensions> {
    const MORE_GENERATIONS: u32 = 4;
    let first = estimate.shape.window_generations;
    let k = estimate.shape.required_matches;
    let last = (first + MORE_GENERATIONS).min(*generations(wanted, k).end());
    (first..=last).find_map(|window_generations| {
        let shape = Shape { window_generations, ..estimate.shape };
        let items = wanted.window.items_per_generation(window_generations);
        let cells = sizing::least_cells(&shape, items, wanted.rate, estimate.cells)?;
        let cells = sizing::fill_words(&shape.segment, cells)?;
        let found = Dimensions::new(wanted.window, shape, items, cells)?;
        found.keeps_slack(wanted.max_slack).then_some(found)
    })
}

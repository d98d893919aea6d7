//! The search through shapes of rows.
//!
//! A row has room for a fixed number of parts, so b decides k + l, and only k is left to choose. A coarse model ranks the
//! shapes, the fine one sizes the best of them.

use alloc::vec::Vec;

use libm::{ceil, exp, log, log2, sqrt};

use super::search::{most_cells, most_generations};
use super::{Dimensions, Request, sizing};
use crate::model::rows::{Precision, RowModel};
use crate::model::{Cells, match_probability};
use crate::shape::{Segment, Shape, parts_per_row};
use crate::window::Window;

/// Coarse memories this close to the best may turn out best.
const COARSE_ERROR: f64 = 1.04;

/// The least memory for the rate, if any shape keeps the slack.
pub(super) fn least_memory(
    request: &Request,
    window: Window,
    rate: f64,
    max_slack: f64,
    row_bytes: u32,
) -> Vec<Dimensions> {
    let sized = |shape: &Shape, precision, least_rows: &dyn Fn(&RowModel, f64) -> u64| {
        let items_per_generation = window.items_per_generation(shape.window_generations);
        let budget = rate - sizing::hash_collisions(shape, items_per_generation);
        if budget <= 0.0 {
            return None;
        }
        let model = RowModel::new(shape, 1.0, items_per_generation as f64, precision);
        let rows = least_rows(&model, budget);
        Some((Dimensions::new(window, *shape, items_per_generation, rows)?, model))
    };
    let coarsely_sized = |shape: &Shape| {
        let sized =
            sized(shape, Precision::COARSE, &|model, rate| rows(model, roughly_greatest_load(model, rate)));
        sized.map(|(sized, _)| sized)
    };
    let bits_to_match = |l: u32| log2((f64::from(l) + 1.0) / rate);
    let shapes = shapes(request, &window, max_slack, row_bytes, bits_to_match);
    let mut coarse: Vec<Dimensions> = shapes.iter().filter_map(coarsely_sized).collect();
    coarse.sort_by_key(|candidate| candidate.memory_bytes);
    let mut found: Option<Dimensions> = None;
    for candidate in coarse {
        if least_npws(&candidate) > max_slack {
            continue;
        }
        if found.is_some_and(|found| candidate.memory_bytes as f64 > found.memory_bytes as f64 * COARSE_ERROR)
        {
            break;
        }
        let Some((fine, model)) = sized(&candidate.shape, Precision::FINE, &least_rows) else { continue };
        let is_better = found.is_none_or(|found| fine.memory_bytes < found.memory_bytes);
        if is_better && fine.keeps_slack_by(max_slack, || fine.profile_of_rows(model)) {
            found = Some(fine);
        }
    }
    found.into_iter().collect()
}

/// The least rate that fits into the memory, if any shape keeps the slack.
pub(super) fn best_rate(
    request: &Request,
    window: Window,
    max_memory: u64,
    max_slack: f64,
    row_bytes: u32,
) -> Option<Dimensions> {
    let bits_per_item = max_memory as f64 * 8.0 / window.items() as f64;
    // Rows need about twice a Bloom filter's bits: crowded rows, and the generations beyond the window.
    let bits_to_match = |_| bits_per_item * core::f64::consts::LN_2 / 2.0;
    let rough_rate = |candidate: &Dimensions| {
        let load = candidate.items_per_generation as f64 / candidate.cells as f64;
        let items_per_generation = candidate.items_per_generation as f64;
        RowModel::new(&candidate.shape, 1.0, items_per_generation, Precision::COARSE).rough_rate(load)
    };
    let fitting =
        shapes(request, &window, max_slack, row_bytes, bits_to_match).into_iter().filter_map(|shape| {
            let items_per_generation = window.items_per_generation(shape.window_generations);
            let rows = most_cells(&shape, max_memory);
            let candidate =
                Dimensions::new(window, shape, items_per_generation, rows).filter(|_| rows > 0)?;
            Some((candidate, rough_rate(&candidate)))
        });
    let mut coarse: Vec<(Dimensions, f64)> = fitting.collect();
    coarse.sort_by(|a, b| a.1.total_cmp(&b.1));
    let candidates = coarse.into_iter().map(|(candidate, _)| candidate);
    let kept =
        candidates.filter(|candidate| least_npws(candidate) <= max_slack && candidate.keeps_slack(max_slack));
    // The coarse order is good to a few percent of the rate, and the first few are that close.
    kept.take(2).min_by(|a, b| a.worst_rate().total_cmp(&b.worst_rate()))
}

/// Less than the slack is, and soon computed: one generation for certain, and the chance part of the next.
fn least_npws(candidate: &Dimensions) -> f64 {
    let load = sizing::load(&candidate.shape, candidate.items_per_generation, candidate.cells);
    let next = match candidate.shape.required_matches {
        1 => 0.0,
        _ => match_probability(&candidate.shape.segment, load, Cells::Exactly(candidate.cells)),
    };
    (1.0 + next) / f64::from(candidate.shape.window_generations)
}

/// The shapes worth a look: rows used to the full, unless the window has too few generations for that, and an item's
/// bits to match not far from what is needed.
fn shapes(
    request: &Request,
    window: &Window,
    max_slack: f64,
    row_bytes: u32,
    bits_to_match: impl Fn(u32) -> f64,
) -> Vec<Shape> {
    let all_parts = parts_per_row(row_bytes);
    let parts = match request.segment {
        Some(Segment::Rows { parts, .. }) => parts..=parts,
        _ => 1..=all_parts / 2,
    };
    let with_parts = |parts: u32| {
        let segments = all_parts / parts;
        let (least, most) = request.shape.map_or((1, segments.saturating_sub(1)), |(k, _)| (k, k));
        (least..=most).filter_map(move |k| {
            let room = segments.checked_sub(k).filter(|&l| l > 0)?;
            let l = request.shape.map_or(u64::from(room).min(most_generations(window)) as u32, |(_, l)| l);
            let segment = Segment::Rows { row_bytes, parts };
            Some(Shape { required_matches: k, window_generations: l, segment })
        })
    };
    let is_worth_a_look = |shape: &Shape| {
        let Segment::Rows { parts, .. } = shape.segment else { return false };
        let matched = f64::from(shape.required_matches * parts);
        let needed = bits_to_match(shape.window_generations);
        let chosen_for_us = request.shape.is_none() && request.segment.is_none();
        shape.check().is_ok()
            && 1.0 / f64::from(shape.window_generations) <= max_slack
            && (!chosen_for_us || (0.6 * needed..=1.6 * needed + 2.0).contains(&matched))
    };
    parts.flat_map(with_parts).filter(is_worth_a_look).collect()
}

/// The rows that take so much each.
fn rows(model: &RowModel, load: f64) -> u64 {
    ceil(model.items_per_generation() / load) as u64
}

/// About the most items per row and generation that keep the rate; no more than there are.
fn roughly_greatest_load(model: &RowModel, rate: f64) -> f64 {
    let all = model.items_per_generation();
    let (mut low, mut high) = (1e-9, all.min(1.0));
    while model.rough_rate(high) <= rate {
        if high >= all {
            return all;
        }
        high = all.min(high * 2.0);
    }
    while high / low > 1.0 + 1e-4 {
        let middle = sqrt(low * high);
        if model.rough_rate(middle) <= rate { low = middle } else { high = middle }
    }
    low
}

/// The least number of rows that keep the rate, to one part in 2000; whatever it returns keeps it.
fn least_rows(model: &RowModel, rate: f64) -> u64 {
    // The rough rate finds the neighbourhood; the exact one, which takes longer, is then asked a few times.
    let mut load = roughly_greatest_load(model, rate);
    // ln(rate) is almost linear in ln(load), with a slope near the bits to be matched: correct, and correct again. It is less
    // only where a single row will do.
    let slope = {
        let step = 1.02;
        log(model.rough_rate(load) / model.rough_rate(load / step)) / log(step)
    };
    for _ in 0..3 {
        load *= exp((log(rate) - log(model.rate(load))) / slope.max(1.0)).clamp(0.5, 2.0);
        load = load.min(model.items_per_generation());
    }
    let mut rows = rows(model, load);
    while model.rate(model.items_per_generation() / rows as f64) > rate {
        rows += 1 + rows / 2_000;
    }
    rows
}

//! The search through shapes of rows.
//!
//! A row has room for a fixed number of parts, so b determines k + l, and only k is left to choose. A coarse
//! model ranks the shapes; the fine model sizes the best of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use libm::{ceil, exp, log, log2};

use super::{Dimensions, sizing};
use crate::limits::MIN_RATE;
use crate::model::row_runs::RowRuns;
use crate::model::row_spreads::Spreads;
use crate::model::rows::{RowModel, coarse_spreads};
use crate::model::{Cells, match_probability};
use crate::promise::Promise;
use crate::shape::{Segment, Shape, parts_per_row};
use crate::window::Window;

/// A candidate may turn out to take less memory than the least found, if its coarse estimate minus one row is
/// within this factor of it.
const COARSE_ERROR: f64 = 1.005;

/// The least memory for the rate, if any shape keeps the slack.
pub(super) fn least_memory(
    promise: &Promise,
    window: Window,
    rate: f64,
    max_slack: f64,
    row_bytes: u32,
) -> Vec<Dimensions> {
    let needed_bits = |l: u32| log2((f64::from(l) + 1.0) / rate);
    let mut models = CoarseModels::default();
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut segment_load = 10.0;
    for shape in shapes(promise, &window, max_slack, row_bytes, needed_bits) {
        candidates.extend(Candidate::new(window, &shape, rate, segment_load, &mut models));
        // The load of a segment is similar for all shapes.
        if let Some(last) = candidates.last() {
            segment_load = last.load * f64::from(last.rough.shape.required_matches);
        }
    }
    candidates.retain(|candidate| {
        let roomy = candidate.with_rows(with_room_for_slack(candidate.rough.cells));
        roomy.is_some_and(|roomy| least_npws(&roomy) <= max_slack)
    });
    candidates.sort_by_key(|candidate| candidate.rough.memory_bytes);
    // The same factor for rough estimates: a few spreads represent rare events poorly.
    let rough_error = (1.0 - 0.006 * log2(rate)).max(1.04);
    let mut found: Option<Dimensions> = None;
    for candidate in candidates {
        let may_be_less = |size: &Dimensions, error: f64| {
            let memory_bytes = size.memory_bytes - u64::from(row_bytes);
            found.is_none_or(|found| memory_bytes as f64 <= found.memory_bytes as f64 * error)
        };
        if !may_be_less(&candidate.rough, rough_error) {
            break;
        }
        if !candidate.coarsely_sized().is_some_and(|coarse| may_be_less(&coarse, COARSE_ERROR)) {
            continue;
        }
        let Some((fine, model)) = candidate.finely_sized() else { continue };
        let most_rows =
            found.map_or(u64::MAX, |found| Dimensions::most_cells(&fine.shape, found.memory_bytes - 1));
        found = candidate.keeping_slack(max_slack, fine.cells, most_rows, &model).or(found);
    }
    found.into_iter().collect()
}

/// The most rows to try if the least number for the rate breaks the slack: emptier rows have a little less
/// slack.
fn with_room_for_slack(rows: u64) -> u64 {
    rows.saturating_add(rows / 10 + 1)
}

/// Coarse models of shapes. Shapes with the same number of segments share their spreads.
#[derive(Default)]
struct CoarseModels {
    spreads: BTreeMap<u32, Vec<Spreads>>,
}

impl CoarseModels {
    fn of(&mut self, shape: &Shape, items_per_generation: u64) -> RowModel {
        let spreads =
            self.spreads.entry(shape.segments()).or_insert_with_key(|&segments| coarse_spreads(segments));
        RowModel::new(RowRuns::new(shape, 1.0, items_per_generation as f64), &*spreads)
    }
}

/// A shape with about as many rows as the rate needs.
struct Candidate {
    /// From the spreads of the coarse model alone.
    rough: Dimensions,
    model: RowModel,
    /// The requested rate minus hash collisions.
    budget: f64,
    /// Items per row and generation.
    load: f64,
    /// The exponent with which the rate grows with the load.
    slope: f64,
}

impl Candidate {
    /// `segment_load` is a guess: the items that a segment takes until it is no longer written.
    fn new(
        window: Window,
        shape: &Shape,
        rate: f64,
        segment_load: f64,
        models: &mut CoarseModels,
    ) -> Option<Self> {
        let items_per_generation = window.items_per_generation(shape.window_generations);
        let budget = rate - sizing::hash_collisions(shape, items_per_generation);
        if budget <= 0.0 {
            return None;
        }
        let model = models.of(shape, items_per_generation);
        let (k, all) = (f64::from(shape.required_matches), items_per_generation as f64);
        let slope = 0.5 * f64::from(bits_to_match(shape));
        let (load, slope) =
            greatest_load(segment_load / k, all, slope, |load| log(model.rough_rate(load) / budget));
        let rough = Dimensions::new(window, *shape, items_per_generation, ceil(all / load) as u64)?;
        Some(Self { rough, model, budget, load, slope })
    }

    /// Sizes by the coarse model's rate, which is better than that of its spreads alone: one evaluation and
    /// one correction.
    fn coarsely_sized(&self) -> Option<Dimensions> {
        self.with_load(self.load * exp(-self.excess(&self.model, self.load) / self.slope))
    }

    /// Sizes by a fine model, and returns the model too. These dimensions keep the rate.
    fn finely_sized(&self) -> Option<(Dimensions, RowModel)> {
        let model = RowModel::fine(self.model.runs().clone());
        let (load, _) = greatest_load(self.load, self.items_per_generation(), self.slope, |load| {
            self.excess(&model, load)
        });
        let mut fine = self.with_load(load)?;
        while self.excess(&model, self.items_per_generation() / fine.cells as f64) > 0.0 {
            fine = self.with_rows(fine.cells + 1 + fine.cells / 10_000)?;
        }
        Some((fine, model))
    }

    /// Finds the fewest rows from `least` to `most` that keep the slack, to one part in 200.
    fn keeping_slack(&self, max_slack: f64, least: u64, most: u64, model: &RowModel) -> Option<Dimensions> {
        /// An excess that emptier rows cannot compensate.
        const FAR: f64 = 1.05;
        if most < least {
            return None;
        }
        let fewest = self.with_rows(least)?;
        if max_slack.is_infinite() {
            return Some(fewest);
        }
        let slack = |size: &Dimensions| size.npws_of(&size.profile_of_rows(model.clone()));
        let slack_of_fewest = slack(&fewest);
        if slack_of_fewest <= max_slack || slack_of_fewest > max_slack * FAR {
            return (slack_of_fewest <= max_slack).then_some(fewest);
        }
        let keeping = |rows: u64| self.with_rows(rows).filter(|size| slack(size) <= max_slack);
        let (mut low, mut found) = (least, keeping(with_room_for_slack(least).min(most))?);
        while found.cells - low > 1 + low / 200 {
            let middle = low.midpoint(found.cells);
            match keeping(middle) {
                Some(size) => found = size,
                None => low = middle,
            }
        }
        Some(found)
    }

    fn items_per_generation(&self) -> f64 {
        self.rough.items_per_generation as f64
    }

    fn with_load(&self, load: f64) -> Option<Dimensions> {
        self.with_rows(ceil(self.items_per_generation() / load).max(1.0) as u64)
    }

    fn with_rows(&self, rows: u64) -> Option<Dimensions> {
        Dimensions::new(self.rough.window, self.rough.shape, self.rough.items_per_generation, rows)
    }

    /// The logarithm of the factor by which the rate is too high.
    fn excess(&self, model: &RowModel, load: f64) -> f64 {
        log(model.rate(load) / self.budget)
    }
}

/// The most items per row and generation that keep the rate, at most `all`: where `excess`, the logarithm of
/// the factor by which the rate is too high, is about zero, and rather below. `excess` is almost linear in
/// ln(load); the slope is returned too.
fn greatest_load(guess: f64, all: f64, mut slope: f64, excess: impl Fn(f64) -> f64) -> (f64, f64) {
    const CLOSE: f64 = 1e-3;
    const MOST_ROUNDS: u32 = 40;
    let mut load = guess.min(all);
    let mut too_high = excess(load);
    for _ in 0..MOST_ROUNDS {
        if too_high.abs() < CLOSE || too_high < 0.0 && load >= all {
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

/// The least rate that fits into the memory, if any shape keeps the slack.
pub(super) fn best_rate(
    promise: &Promise,
    window: Window,
    max_memory: u64,
    max_slack: f64,
    row_bytes: u32,
) -> Option<Dimensions> {
    let bits_per_item = max_memory as f64 * 8.0 / window.items() as f64;
    // Rows need about twice the bits of a Bloom filter, because of crowded rows and the generations beyond
    // the window. More bits than the least useful rate needs have no benefit.
    let needed_bits = |_| (bits_per_item * core::f64::consts::LN_2 / 2.0).min(-log2(MIN_RATE));
    let mut models = CoarseModels::default();
    let mut rough_rate = |candidate: &Dimensions| {
        let load = candidate.items_per_generation as f64 / candidate.cells as f64;
        models.of(&candidate.shape, candidate.items_per_generation).rough_rate(load)
    };
    let fitting =
        shapes(promise, &window, max_slack, row_bytes, needed_bits).into_iter().filter_map(|shape| {
            let items_per_generation = window.items_per_generation(shape.window_generations);
            let rows = Dimensions::most_cells(&shape, max_memory);
            let candidate =
                Dimensions::new(window, shape, items_per_generation, rows).filter(|_| rows > 0)?;
            Some((candidate, rough_rate(&candidate)))
        });
    let mut coarse: Vec<(Dimensions, f64)> = fitting.collect();
    coarse.sort_by(|a, b| a.1.total_cmp(&b.1));
    let candidates = coarse.into_iter().map(|(candidate, _)| candidate);
    let kept =
        candidates.filter(|candidate| least_npws(candidate) <= max_slack && candidate.keeps_slack(max_slack));
    // The coarse order is accurate to a few percent of the rate, and the first few candidates are that close.
    kept.take(2).min_by(|a, b| a.worst_rate().total_cmp(&b.worst_rate()))
}

/// A lower bound of the slack that is fast to compute: one certain generation, and the probability part of
/// the next.
fn least_npws(candidate: &Dimensions) -> f64 {
    let (k, l) = (candidate.shape.required_matches, candidate.shape.window_generations);
    // The segment of age l.
    let load = f64::from(k.min(l + 1)) * candidate.items_per_generation as f64 / candidate.cells as f64;
    let next = match k {
        1 => 0.0,
        _ => match_probability(&candidate.shape.segment, load, Cells::Exactly(candidate.cells)),
    };
    (1.0 + next) / f64::from(l)
}

/// How many bits of an item a run of k segments matches.
fn bits_to_match(shape: &Shape) -> u32 {
    let Segment::Rows { parts, .. } = shape.segment else { return 0 };
    shape.required_matches * parts
}

/// The shapes worth trying: the rows are fully used, unless the window has too few generations for that, and
/// the number of bits to match is not far from the number needed.
fn shapes(
    promise: &Promise,
    window: &Window,
    max_slack: f64,
    row_bytes: u32,
    needed_bits: impl Fn(u32) -> f64,
) -> Vec<Shape> {
    let all_parts = parts_per_row(row_bytes);
    let parts = match promise.segment {
        Some(Segment::Rows { parts, .. }) => parts..=parts,
        _ => 1..=all_parts / 2,
    };
    let with_parts = |parts: u32| {
        let segments = all_parts / parts;
        let (least, most) = promise.shape.map_or((1, segments.saturating_sub(1)), |(k, _)| (k, k));
        (least..=most).filter_map(move |k| {
            let room = segments.checked_sub(k).filter(|&l| l > 0)?;
            let l = promise.shape.map_or(u64::from(room).min(window.most_generations()) as u32, |(_, l)| l);
            let segment = Segment::Rows { row_bytes, parts };
            Some(Shape { required_matches: k, window_generations: l, segment })
        })
    };
    let is_worth_a_look = |shape: &Shape| {
        let matched = f64::from(bits_to_match(shape));
        let needed = needed_bits(shape.window_generations);
        let chosen_for_us = promise.shape.is_none() && promise.segment.is_none();
        shape.is_possible()
            && 1.0 / f64::from(shape.window_generations) <= max_slack
            && (!chosen_for_us || (0.5 * needed - 0.5..=1.6 * needed + 2.0).contains(&matched))
    };
    parts.flat_map(with_parts).filter(is_worth_a_look).collect()
}

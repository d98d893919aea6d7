//! The search through the shapes.
//!
//! The search space of slices and blocks: every k up to 16 and 8; l from the least that the slack allows,
//! first every value, then in growing steps, until memory only grows; for slices the values of b near the
//! best one (the rate determines how many bits an item must match, k * b), for blocks every B and b within
//! reach; any load. docs/theory.md, "The planner", says why that is enough, and `tests/planner.rs` compares
//! it with a plain grid.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use libm::{ceil, floor, log2};

use super::{DEFAULT_SLACK, Dimensions, bins, rows, sizing};
use crate::error::ConfigError;
use crate::limits::{MAX_PARTS, MAX_SEGMENTS, MAX_WINDOW, MIN_RATE};
use crate::model::half_full_load;
use crate::promise::{Prefer, Promise, check_shape};
use crate::shape::{Layout, ROW_BYTES, Segment, Shape};
use crate::window::Window;

/// Plans within this factor of the least memory found count as equal, and accesses decide between them. The
/// search itself may be a little above the true least; both together stay within 2%.
const EQUAL_MEMORY: f64 = 1.015;
/// The factor of memory that [`Prefer::Speed`] may cost.
const MEMORY_FOR_SPEED: u64 = 2;
/// A rate above this is useless as a promise.
const USELESS_RATE: f64 = 0.5;

/// Shapes that are searched together. The best of each group is worth showing.
#[derive(Clone, Copy)]
pub(super) enum Group {
    Slices { k: u32 },
    Blocks { k: u32 },
    Rows { row_bytes: u32 },
    Bins,
}

/// The cost of checking and inserting one new item, in memory accesses; the planner minimises it. The cache
/// lines of a row are neighbours, and fetching a neighbour costs about half of fetching a line.
fn cost(candidate: &Dimensions) -> f64 {
    match candidate.shape.segment {
        Segment::Rows { row_bytes, .. } => 0.5 + 0.5 * f64::from(row_bytes / 64),
        Segment::Bins { .. } => 2.0,
        _ => f64::from(candidate.shape.accesses_per_insert()) + candidate.profile().absent_accesses(),
    }
}

/// The candidates for a window and a rate: first the one to build, then the best of every other group, by
/// memory.
///
/// The one to build has the lowest cost among the best of each group that take little enough memory: with
/// [`Prefer::Memory`] at most 2% more than the least, with [`Prefer::Speed`] at most twice the least.
pub(super) fn least_memory(
    promise: &Promise,
    window: Window,
    rate: f64,
) -> Result<Vec<Dimensions>, ConfigError> {
    check_hash_suffices(promise, window, rate)?;
    with_slack(promise, window, |max_slack| {
        let groups = promise.groups().into_iter().map(|group| match group {
            Group::Rows { row_bytes } => rows::least_memory(promise, window, rate, max_slack, row_bytes),
            Group::Bins => bins::least_memory(promise, window, rate, max_slack),
            _ => least_memory_of_group(promise, window, rate, max_slack, group),
        });
        let groups: Vec<Vec<Dimensions>> = groups.collect();
        let least = groups.iter().flatten().map(|candidate| candidate.memory_bytes).min().unwrap_or(0);
        let mut best: Vec<(Dimensions, f64)> =
            groups.iter().filter_map(|group| cheapest(group, promise.max_memory)).collect();
        best.sort_by_key(|(candidate, _)| candidate.memory_bytes);
        let is_affordable = |candidate: &Dimensions| match promise.prefer {
            Prefer::Memory => is_equal_memory(candidate.memory_bytes, least),
            Prefer::Speed => {
                candidate.memory_bytes <= least.saturating_mul(MEMORY_FOR_SPEED)
                    && promise.max_memory.is_none_or(|most| candidate.memory_bytes <= most)
            }
        };
        Ok(cheapest_first(best, is_affordable))
    })
}

/// Moves the cheapest affordable candidate to the front.
fn cheapest_first(
    mut best: Vec<(Dimensions, f64)>,
    is_affordable: impl Fn(&Dimensions) -> bool,
) -> Vec<Dimensions> {
    let affordable = (0..best.len()).filter(|&index| is_affordable(&best[index].0));
    if let Some(chosen) = affordable.min_by(|&a, &b| best[a].1.total_cmp(&best[b].1)) {
        best[..=chosen].rotate_right(1);
    }
    best.into_iter().map(|(candidate, _)| candidate).collect()
}

fn is_equal_memory(memory_bytes: u64, least: u64) -> bool {
    memory_bytes as f64 <= least as f64 * EQUAL_MEMORY
}

/// The cheapest candidate that fits; if none fits, the one with the least memory.
fn cheapest(candidates: &[Dimensions], max_memory: Option<u64>) -> Option<(Dimensions, f64)> {
    let fits = |candidate: &&Dimensions| max_memory.is_none_or(|most| candidate.memory_bytes <= most);
    let with_cost = candidates.iter().filter(fits).map(|candidate| (*candidate, cost(candidate)));
    with_cost.min_by(|a, b| a.1.total_cmp(&b.1)).or_else(|| {
        let least = candidates.iter().min_by_key(|candidate| candidate.memory_bytes)?;
        Some((*least, cost(least)))
    })
}

/// Slices or blocks of one k: candidates that take little more memory than the least.
fn least_memory_of_group(
    promise: &Promise,
    window: Window,
    rate: f64,
    max_slack: f64,
    group: Group,
) -> Vec<Dimensions> {
    /// RIPPLE: how much more memory than the least is still considered. PATIENCE: how many consecutive l may
    /// find nothing before the search ends. A step of b changes memory by less than RIPPLE.
    const RIPPLE: f64 = 1.06;
    const PATIENCE: u32 = 6;
    let mut found: Vec<Dimensions> = Vec::new();
    let mut least = u64::MAX;
    let mut without_find = 0;
    let (Group::Slices { k } | Group::Blocks { k }) = group else { return found };
    for l in promise.generations(&window, k, max_slack) {
        let items_per_generation = window.items_per_generation(l);
        let bits_to_match = log2((f64::from(l) + 1.0) / rate);
        let affordable = if least == u64::MAX { MAX_WINDOW * 64 } else { (least as f64 * RIPPLE) as u64 };
        let mut is_near = found.is_empty();
        for segment in promise.segments(group, k, bits_to_match) {
            let shape = Shape { required_matches: k, window_generations: l, segment };
            let most = Dimensions::most_cells(&shape, affordable);
            let cells = sizing::least_cells(&shape, items_per_generation, rate, most);
            let cells = cells.and_then(|cells| sizing::fill_words(&segment, cells));
            let candidate =
                cells.and_then(|cells| Dimensions::new(window, shape, items_per_generation, cells));
            is_near |= candidate.is_some();
            // The slack takes long to compute, so compute it only for candidates that would be kept.
            let is_equal = |candidate: &Dimensions| is_equal_memory(candidate.memory_bytes, least);
            let kept = candidate.filter(is_equal).filter(|candidate| candidate.keeps_slack(max_slack));
            if let Some(candidate) = kept {
                found.push(candidate);
                least = least.min(candidate.memory_bytes);
            }
        }
        without_find = if is_near { 0 } else { without_find + 1 };
        if without_find == PATIENCE {
            break;
        }
    }
    found.retain(|candidate| is_equal_memory(candidate.memory_bytes, least));
    found
}

/// The candidates with the least rate that fit into the memory: the best of each group, best first. The one
/// to build is the first, or with [`Prefer::Speed`] the cheapest in accesses among those whose rate half the
/// memory could not improve on.
pub(super) fn best_rate(
    promise: &Promise,
    window: Window,
    max_memory: u64,
) -> Result<Vec<Dimensions>, ConfigError> {
    let found = best_rates(promise, window, max_memory)?;
    let Some((_, best)) = found.first() else {
        let needed = least_memory(promise, window, USELESS_RATE)?;
        return Err(ConfigError::MemoryTooSmall {
            needed_bytes: needed.iter().map(|candidate| candidate.memory_bytes).min().unwrap_or(u64::MAX),
            max_memory,
            fitting_window: None,
            fitting_rate: None,
        });
    };
    // Memory beyond what the least useful rate needs has no benefit.
    let least_useful = (4.0 * sizing::hash_collisions(&Shape::slices(1, 1), window.items())).max(MIN_RATE);
    if *best < least_useful {
        let mut enough = least_memory(promise, window, least_useful)?;
        enough.retain(|candidate| candidate.memory_bytes <= max_memory);
        if !enough.is_empty() {
            return Ok(enough);
        }
    }
    let affordable_rate = match promise.prefer {
        Prefer::Memory => *best,
        Prefer::Speed => {
            let half = best_rates(promise, window, max_memory / MEMORY_FOR_SPEED).unwrap_or_default();
            half.first().map_or(1.0, |(_, rate)| *rate)
        }
    };
    let is_affordable = |candidate: &Dimensions| {
        found.iter().any(|(other, rate)| other == candidate && *rate <= affordable_rate)
    };
    let with_cost = found.iter().map(|(candidate, _)| (*candidate, cost(candidate))).collect();
    Ok(cheapest_first(with_cost, is_affordable))
}

/// The best of each group that fits, with its rate, best first; without useless rates.
fn best_rates(
    promise: &Promise,
    window: Window,
    max_memory: u64,
) -> Result<Vec<(Dimensions, f64)>, ConfigError> {
    let found = with_slack(promise, window, |max_slack| {
        let groups = promise.groups().into_iter().filter_map(|group| match group {
            Group::Rows { row_bytes } => rows::best_rate(promise, window, max_memory, max_slack, row_bytes),
            Group::Bins => bins::best_rate(promise, window, max_memory, max_slack),
            _ => best_rate_of_group(promise, window, max_memory, max_slack, group),
        });
        Ok(groups.collect())
    });
    let found = match found {
        // Nothing fits, with any slack.
        Err(ConfigError::TooLarge { .. }) => Vec::new(),
        found => found?,
    };
    let mut with_rate: Vec<_> = found.into_iter().map(|found| (found, found.worst_rate())).collect();
    with_rate.retain(|(_, rate)| *rate <= USELESS_RATE);
    with_rate.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(with_rate)
}

fn best_rate_of_group(
    promise: &Promise,
    window: Window,
    max_memory: u64,
    max_slack: f64,
    group: Group,
) -> Option<Dimensions> {
    const PATIENCE: u32 = 12;
    let (Group::Slices { k } | Group::Blocks { k }) = group else { return None };
    let bits_per_item = max_memory as f64 * 8.0 / window.items() as f64;
    let mut best: Option<(Dimensions, f64)> = None;
    let mut without_find = 0;
    for l in promise.generations(&window, k, max_slack) {
        let items_per_generation = window.items_per_generation(l);
        // The optimum of a Bloom filter: ln 2 times the bits per item that l of k + l segments leave.
        let bits_to_match = bits_per_item * f64::from(l) / f64::from(k + l) * core::f64::consts::LN_2;
        without_find += 1;
        for segment in promise.segments(group, k, bits_to_match) {
            let shape = Shape { required_matches: k, window_generations: l, segment };
            let cells = Dimensions::most_cells(&shape, max_memory);
            let candidate = Dimensions::new(window, shape, items_per_generation, cells).filter(|_| cells > 0);
            let Some(candidate) = candidate else { continue };
            let rate = candidate.worst_rate();
            if best.is_none_or(|(_, best)| rate < best) && candidate.keeps_slack(max_slack) {
                best = Some((candidate, rate));
                without_find = 0;
            }
        }
        if without_find == PATIENCE && best.is_some() {
            break;
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// The candidates for the largest window (or capacity) that fits into the memory, to one part in a thousand.
/// It is the largest for the plan that would be built without a memory limit. With [`Prefer::Speed`] it is at
/// least half of the largest possible.
pub(super) fn largest_window(
    promise: &Promise,
    rate: f64,
    max_memory: u64,
) -> Result<Vec<Dimensions>, ConfigError> {
    const ROUNDS: usize = 8;
    let promise = &Promise { max_memory: None, ..*promise };
    let window = promise.asked_window()?.unwrap_or(Window::Count { inserts: 1 });
    let mut fits: Option<Vec<Dimensions>> = None;
    let mut needed_bytes = u64::MAX;
    // Memory is nearly proportional to the window, so each guess scales the previous one. Windows with more
    // items than a 64-bit hash can distinguish at this rate need not be tried.
    let told_apart = (rate * 18_446_744_073_709_551_616.0 / 8.0) as u64;
    let most = MAX_WINDOW.min(told_apart).max(1);
    let mut items = (max_memory / 4).clamp(1, most);
    for _ in 0..ROUNDS {
        let mut found = match least_memory(promise, window.with_items(items), rate) {
            Ok(found) => found,
            // Small windows have few generations, and may miss a slack that larger ones keep.
            Err(error @ ConfigError::SlackUnreachable { .. })
                if fits.is_none() && needed_bytes == u64::MAX =>
            {
                return Err(error);
            }
            Err(_) => break,
        };
        let taken = found[0].memory_bytes;
        needed_bytes = needed_bytes.min(taken);
        let is_larger = fits.as_ref().is_none_or(|fits| items > fits[0].window.items());
        if taken <= max_memory && is_larger {
            found.retain(|candidate| candidate.memory_bytes <= max_memory);
            fits = Some(found);
        }
        let used = taken as f64 / max_memory as f64;
        let scaled = ((items as f64 / used * 0.9995) as u64).clamp(1, most);
        if (0.999..=1.0).contains(&used) || scaled == items {
            break;
        }
        items = scaled;
    }
    fits.ok_or(ConfigError::MemoryTooSmall {
        needed_bytes,
        max_memory,
        fitting_window: None,
        fitting_rate: None,
    })
}

/// The paper's design for an explicit shape: parts are half full when a segment is no longer written.
pub(super) fn half_full(promise: &Promise, window: Window) -> Result<Vec<Dimensions>, ConfigError> {
    let Some((required_matches, window_generations)) = promise.shape else {
        return Err(ConfigError::MissingRate);
    };
    let segment = promise.segment.unwrap_or(match promise.layout {
        Some(Layout::Blocks) => Segment::Blocks { block_bits: 512, bits_per_block: 4 },
        Some(Layout::Rows) => Segment::Rows { row_bytes: 64, parts: 1 },
        Some(Layout::Bins) => Segment::Bins { fingerprint_bits: 16 },
        _ => Segment::Slices { parts: 1 },
    });
    let shape = Shape { required_matches, window_generations, segment };
    check_shape(&shape)?;
    let items_per_generation = window.items_per_generation(window_generations);
    let items_per_segment = items_per_generation as f64 * f64::from(required_matches);
    let cells = ceil(items_per_segment / half_full_load(&segment)) as u64;
    let cells = sizing::fill_words(&segment, cells);
    let candidate = match segment {
        Segment::Bins { .. } => bins::half_full(window, shape),
        _ => cells.and_then(|cells| Dimensions::new(window, shape, items_per_generation, cells)),
    };
    let candidate = candidate.ok_or(ConfigError::TooLarge { window: window.items() })?;
    match promise.max_slack {
        Some(slack) if candidate.npws() > slack => Err(promise.slack_unreachable(slack, candidate.npws())),
        _ => Ok(vec![candidate]),
    }
}

/// Runs a search with the requested slack, or with the default one, which is relaxed as long as nothing is
/// found.
fn with_slack(
    promise: &Promise,
    window: Window,
    search: impl Fn(f64) -> Result<Vec<Dimensions>, ConfigError>,
) -> Result<Vec<Dimensions>, ConfigError> {
    const RELAXATION: f64 = 1.25;
    let (asked, explicit_shape) = (promise.max_slack, promise.shape.is_some());
    let first = asked.unwrap_or(if explicit_shape { f64::INFINITY } else { DEFAULT_SLACK });
    let found = search(first)?;
    if !found.is_empty() {
        return Ok(found);
    }
    let least_slack = |found: &[Dimensions]| found.iter().map(Dimensions::npws).min_by(f64::total_cmp);
    let with_any = search(f64::INFINITY)?;
    if with_any.is_empty() {
        return Err(ConfigError::TooLarge { window: window.items() });
    }
    // The slack of an explicit shape hardly depends on its size (some percent), and large shapes take long to
    // size.
    if let (Some(slack), true) = (asked, explicit_shape)
        && let Some(least) = least_slack(&with_any)
    {
        return Err(promise.slack_unreachable(slack, least));
    }
    // Find the least slack that can be reached. If no slack was requested, that is also the result.
    let mut relaxed = first.max(1.0 / f64::from(MAX_SEGMENTS));
    loop {
        let found = search(relaxed)?;
        if let Some(least) = least_slack(&found) {
            return match asked {
                Some(slack) => Err(promise.slack_unreachable(slack, least)),
                None => Ok(found),
            };
        }
        relaxed *= RELAXATION;
    }
}

/// 64-bit hashes collide; no size can keep a rate near that of the collisions.
fn check_hash_suffices(promise: &Promise, window: Window, rate: f64) -> Result<(), ConfigError> {
    let (k, l) = promise.shape.unwrap_or((1, 1));
    let held = Shape::slices(k, l);
    let collisions = sizing::hash_collisions(&held, window.items_per_generation(l));
    if collisions > rate / 2.0 {
        return Err(ConfigError::RateUnreachable {
            rate,
            window: window.items(),
            reachable: 2.0 * collisions,
        });
    }
    Ok(())
}

impl Promise {
    /// The groups to search. A larger k saves no memory, and beyond these limits no accesses either.
    fn groups(&self) -> Vec<Group> {
        let asked_layout = self.segment.map(|segment| segment.layout()).or(self.layout);
        let is_asked = |layout| asked_layout.is_none_or(|asked| asked == layout);
        let matches = |most| self.shape.map_or(1..=most, |(k, _)| k..=k);
        let row_bytes = match self.segment {
            Some(Segment::Rows { row_bytes, .. }) => vec![row_bytes],
            _ => ROW_BYTES.to_vec(),
        };
        let mut groups = Vec::new();
        if is_asked(Layout::Slices) {
            groups.extend(matches(16).map(|k| Group::Slices { k }));
        }
        if is_asked(Layout::Blocks) {
            groups.extend(matches(8).map(|k| Group::Blocks { k }));
        }
        if is_asked(Layout::Rows) {
            groups.extend(row_bytes.into_iter().map(|row_bytes| Group::Rows { row_bytes }));
        }
        if asked_layout == Some(Layout::Bins) {
            groups.push(Group::Bins);
        }
        groups
    }

    /// The values of l to search for a k, ascending.
    fn generations(&self, window: &Window, k: u32, max_slack: f64) -> impl Iterator<Item = u32> + use<> {
        let (least, most) = match self.shape {
            Some((_, l)) => (l, l),
            None => {
                // One generation is always reported after it has left the window, so the slack is at least
                // 1/l.
                let least = ceil(1.0 / max_slack).clamp(1.0, f64::from(MAX_SEGMENTS)) as u32;
                (least, u64::from(MAX_SEGMENTS - k).min(window.most_generations()) as u32)
            }
        };
        // Rounding the window up to whole generations adds up to l items. Where that matters, every l is
        // tried.
        let rounding_counts_from = 0.01 * max_slack * window.items() as f64;
        let step = move |l: &u32| if f64::from(*l) > rounding_counts_from { 1 } else { 1 + (l - least) / 12 };
        core::iter::successors((least <= most).then_some(least), move |l| {
            (*l < most).then(|| (l + step(l)).min(most))
        })
    }

    /// The segments worth trying if an item should match about `bits_to_match` bits in total.
    fn segments(&self, group: Group, k: u32, bits_to_match: f64) -> Vec<Segment> {
        if let Some(segment) = self.segment {
            return vec![segment];
        }
        let ideal = bits_to_match / f64::from(k);
        match group {
            Group::Slices { .. } => {
                let near: RangeInclusive<u32> = (floor(ideal) - 1.0).clamp(1.0, f64::from(MAX_PARTS)) as u32
                    ..=(ceil(ideal) + 1.0).clamp(1.0, f64::from(MAX_PARTS)) as u32;
                near.map(|parts| Segment::Slices { parts }).collect()
            }
            Group::Blocks { .. } => {
                let in_reach = |segment: &Segment| match *segment {
                    Segment::Blocks { bits_per_block, .. } => {
                        let bits = f64::from(bits_per_block);
                        bits >= ideal / 2.5 && bits <= ideal * 2.0 || ideal < 1.0 && bits_per_block == 1
                    }
                    _ => false,
                };
                Segment::all_blocks().filter(in_reach).collect()
            }
            Group::Rows { .. } | Group::Bins => Vec::new(),
        }
    }

    /// Rounds `reachable` up, so that a promise with the number in the message succeeds.
    fn slack_unreachable(&self, slack: f64, reachable: f64) -> ConfigError {
        let reachable = ceil(reachable * 1e4) / 1e4;
        ConfigError::SlackUnreachable { slack, reachable, layout: self.layout, shape: self.shape }
    }
}

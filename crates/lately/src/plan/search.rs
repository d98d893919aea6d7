//! The search for the plan that keeps a promise with the least cost.

use alloc::vec;
use alloc::vec::Vec;

use libm::ceil;

use super::groups::{Group, rounded_up};
use super::ranking::Ranking;
use super::wanted::Wanted;
use super::{DEFAULT_SLACK, Dimensions, bins, sizing};
use crate::error::ConfigError;
use crate::model::half_full_load;
use crate::promise::{Prefer, Promise, check_shape};
use crate::shape::{Layout, Segment, Shape};
use crate::window::Window;

/// How much of the search is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Breadth {
    /// Only groups that may contain the plan to build.
    Winner,
    /// Every group.
    All,
}

/// A promise, and the groups to search.
#[derive(Clone)]
pub(super) struct Search<'a> {
    pub(super) promise: &'a Promise,
    /// That of the promise, or another one on the way to it.
    pub(super) prefer: Prefer,
    pub(super) groups: Vec<Group>,
    pub(super) breadth: Breadth,
}

impl<'a> Search<'a> {
    pub(super) fn new(promise: &'a Promise, breadth: Breadth) -> Self {
        Self { promise, prefer: promise.prefer, groups: Group::of(promise), breadth }
    }

    /// The same, but only for the group of one candidate.
    pub(super) fn within_group_of(&self, candidate: &Dimensions) -> Self {
        Self { groups: vec![Group::with(candidate)], breadth: Breadth::Winner, ..self.clone() }
    }

    /// The candidates for a window and a rate: first the one to build, then the best of the other groups that
    /// were searched, by memory. There is at least one. Those that do not fit into `max_memory` come last.
    pub(super) fn least_memory(
        &self,
        window: Window,
        rate: f64,
        max_memory: Option<u64>,
    ) -> Result<Vec<Dimensions>, ConfigError> {
        /// If the default slack is out of reach, this factor of the least possible one is allowed.
        const RELAXATION: f64 = 1.25;
        check_hash_suffices(self.promise, window, rate)?;
        let Promise { max_slack: asked, shape, segment, layout, .. } = *self.promise;
        let default = if shape.is_some() { f64::INFINITY } else { DEFAULT_SLACK };
        let wanted = Wanted { window, rate, max_slack: asked.unwrap_or(default), shape, segment };
        let too_large = ConfigError::TooLarge { window: window.items() };
        let found = self.candidates(&wanted, max_memory);
        if !found.is_empty() {
            return Ok(found);
        }
        let least = self.groups.iter().filter_map(|group| group.least_slack(&wanted)).min_by(f64::total_cmp);
        match (asked, least) {
            (_, None) => Err(too_large),
            (Some(slack), Some(least)) => {
                Err(ConfigError::SlackUnreachable { slack, reachable: rounded_up(least), layout, shape })
            }
            (None, Some(least)) => {
                let relaxed = Wanted { max_slack: least * RELAXATION, ..wanted };
                let found = self.candidates(&relaxed, max_memory);
                if found.is_empty() { Err(too_large) } else { Ok(found) }
            }
        }
    }

    fn candidates(&self, wanted: &Wanted, max_memory: Option<u64>) -> Vec<Dimensions> {
        // The rate of the other layouts holds only for arrivals that are spread evenly over the span.
        let is_free = self.promise.layout.is_none() && self.promise.segment.is_none();
        let takes_bins = is_free && matches!(wanted.window, Window::Time { .. });
        let mut ranking = Ranking { wanted, prefer: self.prefer, takes_bins, max_memory, found: Vec::new() };
        for &group in &self.groups {
            if self.breadth == Breadth::All || ranking.may_win(group) {
                ranking.found.extend(group.least_memory(wanted));
            }
        }
        ranking.best_first()
    }
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
        Some(slack) if candidate.npws() > slack => Err(ConfigError::SlackUnreachable {
            slack,
            reachable: rounded_up(candidate.npws()),
            layout: promise.layout,
            shape: promise.shape,
        }),
        _ => Ok(vec![candidate]),
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

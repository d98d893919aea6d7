//! What a search is asked for.

use super::dimensions::npws;
use super::sizing;
use crate::shape::{Segment, Shape};
use crate::window::Window;

/// A window, a rate and a slack, and the shapes to consider.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) window: Window,
    pub(super) rate: f64,
    /// Infinite if any slack is allowed.
    pub(super) max_slack: f64,
    /// The only k and l to consider.
    pub(super) shape: Option<(u32, u32)>,
    /// The only segment to consider.
    pub(super) segment: Option<Segment>,
}

impl Wanted {
    /// Returns true if l generations may report this many more, in generations.
    pub(super) fn keeps_slack(&self, window_generations: u32, weighted_slack: f64) -> bool {
        let items = self.window.items_per_generation(window_generations);
        npws(&self.window, window_generations, items, weighted_slack) <= self.max_slack
    }

    /// The rate that hash collisions leave for chance matches, if any.
    pub(super) fn rate_by_chance(&self, shape: &Shape) -> Option<f64> {
        let items = self.window.items_per_generation(shape.window_generations);
        Some(self.rate - sizing::hash_collisions(shape, items)).filter(|&rate| rate > 0.0)
    }
}

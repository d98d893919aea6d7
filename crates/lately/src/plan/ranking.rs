//! Which of the candidates to build.

use alloc::vec::Vec;

use super::Dimensions;
use super::groups::Group;
use super::ordered::sort_by_key;
use super::wanted::Wanted;
use crate::promise::Prefer;
use crate::shape::{Layout, Segment};

/// Plans within this factor of the least memory found count as equal, and accesses decide between them. The
/// search itself may be a little above the true least; both together stay within 2%.
const EQUAL_MEMORY: f64 = 1.015;
/// The factor of memory that [`Prefer::Speed`] may cost.
pub(super) const MEMORY_FOR_SPEED: u64 = 3;
/// Memory grows with k. A k with more than this factor of the least memory ends the search through larger ones.
const FAR_FROM_LEAST: f64 = 1.1;

/// The candidates found so far, and the rules by which one of them is chosen.
pub(super) struct Ranking<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) prefer: Prefer,
    /// Bins are chosen if they keep the promise.
    pub(super) takes_bins: bool,
    pub(super) max_memory: Option<u64>,
    pub(super) found: Vec<Dimensions>,
}

impl Ranking<'_> {
    /// The candidates that fit, with their places.
    fn fitting(&self) -> impl Iterator<Item = (usize, &Dimensions)> {
        let fits = |candidate: &Dimensions| self.max_memory.is_none_or(|most| candidate.memory_bytes <= most);
        self.found.iter().enumerate().filter(move |(_, candidate)| fits(candidate))
    }

    /// Returns false if no candidate of the group would be chosen.
    pub(super) fn may_win(&self, group: Group) -> bool {
        let fitting = || self.fitting().map(|(_, candidate)| candidate);
        let Some(least) = fitting().map(|candidate| candidate.memory_bytes as f64).reduce(f64::min) else {
            return true;
        };
        let has_two_lines = fitting().any(touches_two_lines);
        if self.takes_bins && fitting().any(is_bins) {
            return false;
        }
        // The search through larger k has nothing more to find.
        let is_far = || {
            let last = self.found.iter().rfind(|found| found.shape.segment.layout() == group.layout());
            last.is_some_and(|last| last.memory_bytes as f64 > least * FAR_FROM_LEAST)
        };
        match (group, self.prefer) {
            (Group::Bins, _) => true,
            (Group::Rows { .. }, Prefer::Speed) => {
                group.bytes_at_least(self.wanted) <= least * MEMORY_FOR_SPEED as f64
            }
            (Group::Rows { .. }, _) => group.bytes_at_least(self.wanted) <= least * EQUAL_MEMORY,
            // The least memory limits what speed may cost, and one slice needs the least.
            (_, Prefer::Speed) => !has_two_lines || group == Group::Slices { k: 1 },
            (_, Prefer::Balanced) => !has_two_lines && !is_far(),
            (_, Prefer::Memory) => !is_far(),
        }
    }

    /// Sorts the candidates by memory, then moves the one to build to the front.
    pub(super) fn best_first(mut self) -> Vec<Dimensions> {
        sort_by_key(&mut self.found, |candidate| candidate.memory_bytes);
        if let Some(chosen) = self.chosen() {
            self.found[..=chosen].rotate_right(1);
        }
        self.found
    }

    /// The place of the one to build, if the candidates are sorted by memory.
    fn chosen(&self) -> Option<usize> {
        let least_with = |is_chosen: fn(&Dimensions) -> bool| {
            self.fitting().find(|(_, candidate)| is_chosen(candidate)).map(|(place, _)| place)
        };
        let bins = least_with(is_bins).filter(|_| self.takes_bins);
        let two_lines = least_with(touches_two_lines).filter(|_| self.prefer == Prefer::Balanced);
        bins.or(two_lines).or_else(|| {
            let factor = match self.prefer {
                Prefer::Speed => MEMORY_FOR_SPEED as f64,
                Prefer::Balanced | Prefer::Memory => EQUAL_MEMORY,
            };
            let affordable = self.fitting().next()?.1.memory_bytes as f64 * factor;
            let affordable = self.fitting().take_while(|(_, found)| found.memory_bytes as f64 <= affordable);
            let with_cost = affordable.map(|(place, candidate)| (place, cost(candidate)));
            with_cost.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(place, _)| place)
        })
    }
}

fn is_bins(candidate: &Dimensions) -> bool {
    candidate.shape.segment.layout() == Layout::Bins
}

/// Returns true if every operation touches at most two cache lines.
fn touches_two_lines(candidate: &Dimensions) -> bool {
    matches!(candidate.shape.segment, Segment::Bins { .. } | Segment::Rows { .. })
}

/// The cost of checking and inserting one new item, in memory accesses. The cache lines of a row are neighbours,
/// and fetching a neighbour costs about half of fetching a line.
fn cost(candidate: &Dimensions) -> f64 {
    match candidate.shape.segment {
        Segment::Rows { row_bytes, .. } => 0.5 + 0.5 * f64::from(row_bytes / 64),
        Segment::Bins { .. } => 2.0,
        _ => f64::from(candidate.shape.accesses_per_insert()) + candidate.profile().absent_accesses(),
    }
}

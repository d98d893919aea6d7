//! A filter at one moment, as the probabilities a query meets.

use alloc::vec::Vec;

use super::accesses::{QueryAccesses, StrangerQuery};
use super::runs::run_probability;
use super::segment::{Cells, match_probability, part_fill};
use crate::shape::{Segment, Shape};

/// What a query meets in one segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentProbe {
    /// Probability that an item never inserted matches.
    pub match_probability: f64,
    /// Memory accesses spent on a match.
    pub accesses_if_match: f64,
    /// Expected memory accesses spent on a miss.
    pub accesses_if_miss: f64,
}

impl SegmentProbe {
    /// A segment that takes one access, match or miss: a slice, or a block.
    pub fn single(match_probability: f64) -> Self {
        Self { match_probability, accesses_if_match: 1.0, accesses_if_miss: 1.0 }
    }

    /// A segment of `parts` slices with this fill, probed until the first unset bit.
    fn of_parts(fill: f64, parts: u32) -> Self {
        let (mut reached, mut accesses_of_misses) = (1.0, 0.0);
        for probe in 1..=parts {
            accesses_of_misses += f64::from(probe) * reached * (1.0 - fill);
            reached *= fill;
        }
        let miss = 1.0 - reached;
        Self {
            match_probability: reached,
            accesses_if_match: f64::from(parts),
            accesses_if_miss: if miss > 0.0 { accesses_of_misses / miss } else { f64::from(parts) },
        }
    }
}

/// The segments of a filter at one moment, newest first, as a query meets them.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    required_matches: u32,
    phase: f64,
    probes: Vec<SegmentProbe>,
}

impl Profile {
    /// Any list of segments, newest first, of a filter whose newest generation is complete to the share `phase`
    /// (1 just before a shift, the worst moment).
    ///
    /// # Panics
    /// If `required_matches` is 0 or there are not more segments than that.
    pub fn new(required_matches: u32, phase: f64, probes: Vec<SegmentProbe>) -> Self {
        assert!(
            required_matches > 0 && probes.len() > required_matches as usize,
            "a filter needs k >= 1 and l >= 1, not k = {required_matches} of {} segments",
            probes.len()
        );
        Self { required_matches, phase, probes }
    }

    /// The exact model: segments that take `load` items per cell until they are no longer written.
    ///
    /// In steady state the segment of age i has been written in i + 1 generations (k at most), the last of them
    /// complete only to `phase` while it is still being written.
    pub fn exact(shape: &Shape, load: f64, cells: Cells, phase: f64) -> Self {
        let k = f64::from(shape.required_matches);
        let at_age = |age: u32| {
            let load = load * (f64::from(age) + phase).min(k) / k;
            match shape.segment {
                Segment::Slices { parts } => {
                    SegmentProbe::of_parts(part_fill(&shape.segment, load, cells), parts)
                }
                Segment::Blocks { .. } => {
                    SegmentProbe::single(match_probability(&shape.segment, load, cells))
                }
            }
        };
        Self::with_gradient(shape, phase, at_age)
    }

    /// The paper's model just before a shift: part fills grow linearly to 1/2 over the first k slices (section
    /// 4.3). Its blocks (table 3) follow the exact model.
    pub fn paper(shape: &Shape) -> Self {
        let k = f64::from(shape.required_matches);
        match shape.segment {
            Segment::Slices { parts } => Self::with_gradient(shape, 1.0, |age| {
                SegmentProbe::of_parts((f64::from(age) + 1.0).min(k) / (2.0 * k), parts)
            }),
            Segment::Blocks { .. } => {
                Self::exact(shape, super::half_full_load(&shape.segment), Cells::Many, 1.0)
            }
        }
    }

    /// Segments older than k are no longer written, so all equal the one of age k.
    fn with_gradient(shape: &Shape, phase: f64, at_age: impl Fn(u32) -> SegmentProbe) -> Self {
        let mut probes: Vec<_> = (0..=shape.required_matches).map(at_age).collect();
        probes.resize(shape.segments() as usize, probes[shape.required_matches as usize]);
        Self::new(shape.required_matches, phase, probes)
    }

    /// k.
    pub fn required_matches(&self) -> u32 {
        self.required_matches
    }

    /// l.
    pub fn window_generations(&self) -> u32 {
        self.probes.len() as u32 - self.required_matches
    }

    /// What a query meets, newest segment first.
    pub fn probes(&self) -> &[SegmentProbe] {
        &self.probes
    }

    /// Probability that an item never inserted is reported: the paper's F(k, l, 0, 0).
    pub fn false_positive_rate(&self) -> f64 {
        run_probability(self.required_matches, self.match_probabilities())
    }

    /// Probability that an item inserted `generations` ago, and not since, is reported.
    ///
    /// One up to l generations ago, where all its k segments are still there; then ever fewer of them are, and what
    /// is missing must match by chance; from k + l on it is a stranger.
    pub fn reporting_probability(&self, generations: u32) -> f64 {
        let own = generations..generations.saturating_add(self.required_matches);
        let probabilities = self.match_probabilities().enumerate();
        let with_own = probabilities.map(|(age, r)| if own.contains(&(age as u32)) { 1.0 } else { r });
        run_probability(self.required_matches, with_own)
    }

    /// Probability-weighted slack at this moment, in generations: how many items that have left the window are
    /// expected to be reported, counting the slack's k generations.
    ///
    /// The window is the newest l generations' worth of inserts, so when the newest generation is complete to
    /// `phase`, that share of generation l has left the window, and all of it is still reported.
    pub fn weighted_slack(&self) -> f64 {
        let l = self.window_generations();
        let k = self.required_matches;
        let between: f64 = (l + 1..l + k).map(|generations| self.reporting_probability(generations)).sum();
        self.phase + between + (1.0 - self.phase) * self.reporting_probability(l + k)
    }

    /// Normalised: over the window. With `phase` 1 this is the peak.
    pub fn npws(&self) -> f64 {
        self.weighted_slack() / f64::from(self.window_generations())
    }

    /// The paper's simpler sum (section 4.2): a generation that has lost i segments is reported with the i-th power
    /// of a full segment's match probability. It leaves out runs among the younger segments.
    pub fn paper_npws(&self) -> f64 {
        let l = self.window_generations();
        let full = self.probes[self.probes.len() - 1].match_probability;
        let powers = core::iter::successors(Some(1.0), |power| Some(power * full));
        powers.take(self.required_matches as usize).sum::<f64>() / f64::from(l)
    }

    /// Expected memory accesses of the backward-jump query.
    pub fn accesses(&self) -> QueryAccesses {
        let query = self.stranger_query();
        let l = self.window_generations();
        let window: f64 = (0..l as usize).map(|age| query.accesses_of_item(age)).sum();
        QueryAccesses {
            window: window / f64::from(l),
            false_positive: query.accesses_if_reported(),
            absent: query.accesses_if_absent(),
        }
    }

    /// Expected memory accesses of a query that is answered no: `accesses().absent`, sooner.
    pub fn absent_accesses(&self) -> f64 {
        self.stranger_query().accesses_if_absent()
    }

    fn stranger_query(&self) -> StrangerQuery<'_> {
        StrangerQuery::follow(self.required_matches, &self.probes)
    }

    fn match_probabilities(&self) -> impl DoubleEndedIterator<Item = f64> + ExactSizeIterator + '_ {
        self.probes.iter().map(|probe| probe.match_probability)
    }
}

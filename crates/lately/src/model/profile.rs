//! A filter at one moment, described by the probabilities that a query meets.

use alloc::vec::Vec;

use libm::{expm1, log1p};

use super::accesses::{QueryAccesses, StrangerQuery};
use super::bins::BinModel;
use super::elastic;
use super::probe::SegmentProbe;
use super::rows::RowModel;
use super::runs::run_probability;
use super::segment::{Cells, match_probability, part_fill};
use crate::shape::{Segment, Shape};

/// The segments of a filter at one moment, as a query meets them.
///
/// Segments of rows share their row's load, so they do not match independently: their rate and slack come from
/// the model behind them, not from the segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    required_matches: u32,
    window_generations: u32,
    phase: f64,
    probes: Vec<SegmentProbe>,
    /// Rows only.
    rows: Option<LoadedRows>,
    /// Bins only: the lines that a query reads.
    lines_read: Option<f64>,
}

/// Rows that take `load` items per row and generation.
#[derive(Clone, Debug, PartialEq)]
struct LoadedRows {
    model: RowModel,
    load: f64,
    rate: f64,
}

impl Profile {
    /// Describes a filter by any list of segments, newest first. `phase` is the completed share of the newest
    /// generation (1 just before a shift, the worst moment).
    ///
    /// # Panics
    /// If `required_matches` is 0, or if there are no more segments than that.
    pub fn new(required_matches: u32, phase: f64, probes: Vec<SegmentProbe>) -> Self {
        assert!(
            required_matches > 0 && probes.len() > required_matches as usize,
            "a filter needs k >= 1 and l >= 1, not k = {required_matches} of {} segments",
            probes.len()
        );
        Self {
            required_matches,
            window_generations: probes.len() as u32 - required_matches,
            phase,
            probes,
            rows: None,
            lines_read: None,
        }
    }

    /// The exact model: segments that take `load` items per cell until they are no longer written.
    ///
    /// In steady state the segment of age i has been written in i + 1 generations (k at most). While it is
    /// still being written, the last of them is complete only to `phase`.
    pub fn exact(shape: &Shape, load: f64, cells: Cells, phase: f64) -> Self {
        let k = f64::from(shape.required_matches);
        let load_at = |age: u32| load * (f64::from(age) + phase).min(k) / k;
        match shape.segment {
            Segment::Slices { parts } => Self::with_gradient(shape, phase, |age| {
                SegmentProbe::of_parts(part_fill(&shape.segment, load_at(age), cells), parts)
            }),
            Segment::Blocks { .. } | Segment::Rows { .. } => {
                let mut profile = Self::with_gradient(shape, phase, |age| {
                    SegmentProbe::single(match_probability(&shape.segment, load_at(age), cells))
                });
                if let Segment::Rows { .. } = shape.segment {
                    let (model, load) = (RowModel::new(shape, phase, cells.items(load / k)), load / k);
                    let rate = model.rate(load);
                    profile.rows = Some(LoadedRows { model, load, rate });
                }
                profile
            }
            Segment::Bins { .. } | Segment::ElasticBins { .. } => Self::of_bins(shape, load, cells, phase),
        }
    }

    /// Bins that take `load` items per line and generation. All ages are alike. Their common probability
    /// includes the spare.
    fn of_bins(shape: &Shape, load: f64, cells: Cells, phase: f64) -> Self {
        let live = load * (f64::from(shape.window_generations) + phase);
        let model = BinModel::of(shape, cells);
        let lines = if let Cells::Exactly(lines) = cells { lines as f64 } else { 1.0 };
        let rate = elastic::worst_rate(shape, lines).or_else(|| model.map(|model| model.rate(live)));
        let rate = rate.unwrap_or(1.0);
        let by_age = -expm1(log1p(-rate) / f64::from(shape.segments()));
        let mut profile = Self::with_gradient(shape, phase, |_| SegmentProbe::single(by_age));
        profile.lines_read = Some(model.map_or(2.0, |model| model.accesses(live)));
        profile
    }

    /// The paper's model just before a shift: part fills grow linearly to 1/2 over the first k slices
    /// (section 4.3). The paper's blocks (table 3) follow the exact model. The paper has no rows; for them
    /// this returns the exact model too.
    pub fn paper(shape: &Shape) -> Self {
        let k = f64::from(shape.required_matches);
        match shape.segment {
            Segment::Slices { parts } => Self::with_gradient(shape, 1.0, |age| {
                SegmentProbe::of_parts((f64::from(age) + 1.0).min(k) / (2.0 * k), parts)
            }),
            Segment::Blocks { .. }
            | Segment::Rows { .. }
            | Segment::Bins { .. }
            | Segment::ElasticBins { .. } => {
                Self::exact(shape, super::half_full_load(&shape.segment), Cells::Many, 1.0)
            }
        }
    }

    /// Segments older than k are no longer written, so all of them equal the one of age k.
    fn with_gradient(shape: &Shape, phase: f64, at_age: impl Fn(u32) -> SegmentProbe) -> Self {
        let mut probes: Vec<_> = (0..=shape.required_matches).map(at_age).collect();
        probes.resize(shape.segments() as usize, probes[shape.required_matches as usize]);
        Self::new(shape.required_matches, phase, probes)
    }

    /// Returns k.
    pub fn required_matches(&self) -> u32 {
        self.required_matches
    }

    /// Returns l.
    pub fn window_generations(&self) -> u32 {
        self.window_generations
    }

    /// Returns the segments as a query meets them, newest first.
    pub fn probes(&self) -> &[SegmentProbe] {
        &self.probes
    }

    /// Returns the probability that an item which was never inserted is reported: the paper's F(k, l, 0, 0).
    pub fn false_positive_rate(&self) -> f64 {
        if let Some(rows) = &self.rows {
            return rows.rate;
        }
        run_probability(self.required_matches, self.probes.iter().map(|probe| probe.match_probability))
    }

    /// Returns the probability that an item inserted `generations` ago, and not since, is reported.
    ///
    /// Up to l generations ago it is 1, because all k segments of the item still exist. After that, fewer and
    /// fewer of them do, and the missing ones must match by chance. From k + l generations on, it is that of
    /// an item which was never inserted.
    pub fn reporting_probability(&self, generations: u32) -> f64 {
        if let Some(LoadedRows { model, load, rate }) = &self.rows {
            return model.reporting_probability(*load, *rate, generations);
        }
        let own = generations as usize..generations.saturating_add(self.required_matches) as usize;
        let probabilities = self.probes.iter().map(|probe| probe.match_probability).enumerate();
        let with_own = probabilities.map(|(age, r)| if own.contains(&age) { 1.0 } else { r });
        run_probability(self.required_matches, with_own)
    }

    /// Returns the probability-weighted slack at this moment, in generations: how many items that have left
    /// the window are expected to be reported, over the k generations of the slack.
    ///
    /// The window is the newest l generations' worth of inserts. So when the newest generation is complete to
    /// `phase`, that share of generation l has left the window, and all of it is still reported.
    pub fn weighted_slack(&self) -> f64 {
        let l = self.window_generations();
        let k = self.required_matches;
        let between: f64 = (l + 1..l + k).map(|generations| self.reporting_probability(generations)).sum();
        self.phase + between + (1.0 - self.phase) * self.reporting_probability(l + k)
    }

    /// Returns the slack divided by the window. With `phase` 1 this is the peak.
    pub fn npws(&self) -> f64 {
        self.weighted_slack() / f64::from(self.window_generations())
    }

    /// Returns the paper's simpler sum (section 4.2): a generation that has lost i segments is reported with
    /// the i-th power of a full segment's match probability. It ignores runs among the younger segments.
    pub fn paper_npws(&self) -> f64 {
        let l = self.window_generations();
        let full = self.probes[self.probes.len() - 1].match_probability;
        let powers = core::iter::successors(Some(1.0), |power| Some(power * full));
        powers.take(self.required_matches as usize).sum::<f64>() / f64::from(l)
    }

    /// Returns the expected memory accesses of the backward-jump query; 1 if all segments are read at once.
    pub fn accesses(&self) -> QueryAccesses {
        if let Some(lines) = self.fixed_accesses() {
            return QueryAccesses { window: lines, false_positive: lines, absent: lines };
        }
        let query = self.stranger_query();
        let l = self.window_generations();
        let window: f64 = (0..l as usize).map(|age| query.accesses_of_item(age)).sum();
        QueryAccesses {
            window: window / f64::from(l),
            false_positive: query.accesses_if_reported(),
            absent: query.accesses_if_absent(),
        }
    }

    /// Returns the expected memory accesses of a query that returns false: `accesses().absent`, but faster.
    pub fn absent_accesses(&self) -> f64 {
        self.fixed_accesses().unwrap_or_else(|| self.stranger_query().accesses_if_absent())
    }

    /// The accesses of any query of a layout that reads all segments at once.
    fn fixed_accesses(&self) -> Option<f64> {
        self.rows.as_ref().map(|_| 1.0).or(self.lines_read)
    }

    fn stranger_query(&self) -> StrangerQuery<'_> {
        StrangerQuery::follow(self.required_matches, &self.probes)
    }
}

//! Expected memory accesses of the backward-jump query.

use alloc::vec;
use alloc::vec::Vec;

use super::probe::SegmentProbe;

/// Expected memory accesses of one query, by outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueryAccesses {
    /// For an item in the window, averaged over the generations 0 to l - 1.
    pub window: f64,
    /// For an item that was never inserted but is reported.
    pub false_positive: f64,
    /// For an item that was never inserted and is not reported.
    pub absent: f64,
}

/// A subset of all queries: its probability, and the accesses they spend, weighted by it.
#[derive(Clone, Copy, Default)]
struct Share {
    probability: f64,
    accesses: f64,
}

impl Share {
    fn add(&mut self, other: Share) {
        self.probability += other.probability;
        self.accesses += other.accesses;
    }

    /// The part of the share that takes a branch of this probability and cost.
    fn branch(self, probability: f64, accesses: f64) -> Share {
        Share {
            probability: self.probability * probability,
            accesses: (self.accesses + self.probability * accesses) * probability,
        }
    }

    fn matched(self, probe: &SegmentProbe) -> Share {
        self.branch(probe.match_probability, probe.accesses_if_match)
    }

    fn missed(self, probe: &SegmentProbe) -> Share {
        self.branch(1.0 - probe.match_probability, probe.accesses_if_miss)
    }

    /// Expected accesses, given that a query is in this share; 0 if no query is.
    fn mean(self) -> f64 {
        if self.probability > 0.0 { self.accesses / self.probability } else { 0.0 }
    }
}

/// All outcomes of a query for an item that was never inserted.
pub(super) struct StrangerQuery<'a> {
    required_matches: usize,
    probes: &'a [SegmentProbe],
    /// The queries that reach state (start, previous), at index `start * k + previous`.
    states: Vec<Share>,
    /// The queries that are reported from a start at `start` or beyond it.
    reported_from: Vec<Share>,
    absent: Share,
    /// Sums of `accesses_if_match` over the probes before each.
    accesses_if_match_before: Vec<f64>,
}

impl<'a> StrangerQuery<'a> {
    // The paper's A(k, l, p, c, a, i) (section 4.4) has a state for each (p, c, i). In fact two values
    // describe a query: where its present run of probes began, and the p earlier matches that it may add to
    // it. It has only these moves:
    //
    //     (start, p) --c matches, then a miss--> (start + c - k, c)      for c < k - p
    //     (start, p) --k - p matches-----------> reported
    //
    // `start` falls with every jump, so one pass from l down to 0 visits each state after all states that
    // lead to it.
    pub(super) fn follow(required_matches: u32, probes: &'a [SegmentProbe]) -> Self {
        let k = required_matches as usize;
        let l = probes.len() - k;
        let mut states = vec![Share::default(); (l + 1) * k];
        states[l * k] = Share { probability: 1.0, accesses: 0.0 };
        let mut reported_from = vec![Share::default(); l + 2];
        let mut absent = Share::default();
        for start in (0..=l).rev() {
            let mut reported = reported_from[start + 1];
            for previous in 0..k {
                let mut share = states[start * k + previous];
                for (matched, probe) in probes[start..start + k - previous].iter().enumerate() {
                    if share.probability == 0.0 {
                        break;
                    }
                    match (start + matched).checked_sub(k) {
                        Some(next) => states[next * k + matched].add(share.missed(probe)),
                        None => absent.add(share.missed(probe)),
                    }
                    share = share.matched(probe);
                }
                reported.add(share);
            }
            reported_from[start] = reported;
        }
        let mut accesses_if_match_before = vec![0.0; probes.len() + 1];
        for (i, probe) in probes.iter().enumerate() {
            accesses_if_match_before[i + 1] = accesses_if_match_before[i] + probe.accesses_if_match;
        }
        Self { required_matches: k, probes, states, reported_from, absent, accesses_if_match_before }
    }

    pub(super) fn accesses_if_reported(&self) -> f64 {
        self.reported_from[0].mean()
    }

    pub(super) fn accesses_if_absent(&self) -> f64 {
        self.absent.mean()
    }

    /// Expected accesses of a query for an item inserted `age` generations ago, at most l.
    // Until the query first probes one of the item's own segments, age..age + k, it is like that of a
    // never-inserted item, and may be reported by chance. Jumps are at most k, so the query cannot miss these
    // segments: it reaches a state (start, p) with `start` among them, from a start beyond them, which is
    // start + k - p (or it begins there, at l). From then on
    //
    // - it matches up to age + k - 1, and by chance further, until it has k - p matches; or
    // - it misses after c matches and jumps to start + c - k, again among the item's own segments, where the
    //   k - c matches that it needs are certain.
    pub(super) fn accesses_of_item(&self, age: usize) -> f64 {
        let k = self.required_matches;
        let l = self.probes.len() - k;
        // Rarer cases are negligible compared with the certainty that the item is reported.
        let negligible = |share: Share| share.probability < 1e-30;
        let match_all =
            |from: usize, to: usize| self.accesses_if_match_before[to] - self.accesses_if_match_before[from];
        let mut done = self.reported_from[(age + k).min(l + 1)];
        for start in age..(age + k).min(l + 1) {
            // From beyond: start + k - p >= age + k.
            let previous = if start == l { 0..1 } else { 0..start - age + 1 };
            for previous in previous {
                let end = start + k - previous;
                let own_end = end.min(age + k);
                let mut share = self.states[start * k + previous].branch(1.0, match_all(start, own_end));
                for i in own_end..end {
                    if negligible(share) {
                        break;
                    }
                    done.add(share.missed(&self.probes[i]).branch(1.0, match_all(i - k, start)));
                    share = share.matched(&self.probes[i]);
                }
                done.add(share);
            }
        }
        done.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;
    use crate::shape::{Segment, Shape};

    /// The same expectation from the definition: the item's own segments always match.
    fn accesses_of_item_by_definition(k: u32, probes: &[SegmentProbe], age: usize) -> f64 {
        let mut probes = probes.to_vec();
        for probe in &mut probes[age..age + k as usize] {
            probe.match_probability = 1.0;
        }
        StrangerQuery::follow(k, &probes).accesses_if_reported()
    }

    #[test]
    fn window_accesses_follow_the_definition_at_every_age() {
        for (k, l, parts) in [(1, 1, 1), (1, 7, 3), (4, 3, 1), (3, 10, 2), (5, 23, 1), (10, 7, 1), (6, 6, 1)]
        {
            let shape =
                Shape { required_matches: k, window_generations: l, segment: Segment::Slices { parts } };
            let profile = Profile::paper(&shape);
            let probes = profile.probes();
            let query = StrangerQuery::follow(k, probes);
            for age in 0..=l as usize {
                let (fast, slow) =
                    (query.accesses_of_item(age), accesses_of_item_by_definition(k, probes, age));
                assert!((fast - slow).abs() < 1e-9, "{shape} age {age}: {fast} {slow}");
            }
        }
    }
}

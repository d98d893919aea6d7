//! What a query meets in one segment.

/// How one segment answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SegmentProbe {
    /// Probability that an item which was never inserted matches.
    pub match_probability: f64,
    /// Memory accesses spent on a match.
    pub accesses_if_match: f64,
    /// Expected memory accesses spent on a miss.
    pub accesses_if_miss: f64,
}

impl SegmentProbe {
    /// Describes a segment that takes one access, match or miss: a slice, or a block.
    pub fn single(match_probability: f64) -> Self {
        Self { match_probability, accesses_if_match: 1.0, accesses_if_miss: 1.0 }
    }

    /// A segment of `parts` slices with this fill, probed until the first unset bit.
    pub(super) fn of_parts(fill: f64, parts: u32) -> Self {
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

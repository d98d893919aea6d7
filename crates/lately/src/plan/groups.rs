//! Groups of shapes that are searched together.

use alloc::vec::Vec;

use libm::ceil;

use super::dimensions::npws;
use super::ordered::{key, sort_by_key};
use super::wanted::Wanted;
use super::{Dimensions, bins, rows, segments};
use crate::limits::MAX_SEGMENTS;
use crate::model::bloom_bits_per_item;
use crate::promise::Promise;
use crate::shape::{Layout, MAX_BIN_GENERATIONS, ROW_BYTES, Segment};

/// Shapes of which the best is worth showing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Bins,
    Rows { row_bytes: u32 },
    Slices { k: u32 },
    Blocks { k: u32 },
}

impl Group {
    /// The groups that a promise allows, those with the fewest accesses first. A larger k saves no memory, and
    /// beyond these limits no accesses either.
    pub(super) fn of(promise: &Promise) -> Vec<Self> {
        let asked_layout = promise.segment.map(|segment| segment.layout()).or(promise.layout);
        let is_asked = |layout| asked_layout.is_none_or(|asked| asked == layout);
        let matches = |most| promise.shape.map_or(1..=most, |(k, _)| k..=k);
        let is_row_size = |row_bytes: &u32| match promise.segment {
            Some(Segment::Rows { row_bytes: asked, .. }) => asked == *row_bytes,
            _ => true,
        };
        let mut groups = Vec::new();
        if is_asked(Layout::Bins) && promise.shape.is_none_or(|(k, l)| k == 1 && l <= MAX_BIN_GENERATIONS) {
            groups.push(Self::Bins);
        }
        if is_asked(Layout::Rows) {
            let sizes = ROW_BYTES.into_iter().filter(is_row_size);
            groups.extend(sizes.map(|row_bytes| Self::Rows { row_bytes }));
        }
        if is_asked(Layout::Slices) {
            groups.extend(matches(16).map(|k| Self::Slices { k }));
        }
        if is_asked(Layout::Blocks) {
            groups.extend(matches(8).map(|k| Self::Blocks { k }));
        }
        groups
    }

    /// The group of a candidate.
    pub(super) fn with(candidate: &Dimensions) -> Self {
        let k = candidate.shape.required_matches;
        match candidate.shape.segment {
            Segment::Bins { .. } | Segment::ElasticBins { .. } => Self::Bins,
            Segment::Rows { row_bytes, .. } => Self::Rows { row_bytes },
            Segment::Slices { .. } => Self::Slices { k },
            Segment::Blocks { .. } => Self::Blocks { k },
        }
    }

    pub(super) fn layout(self) -> Layout {
        match self {
            Self::Bins => Layout::Bins,
            Self::Rows { .. } => Layout::Rows,
            Self::Slices { .. } => Layout::Slices,
            Self::Blocks { .. } => Layout::Blocks,
        }
    }

    /// The least memory for the rate, if any shape of the group keeps the slack.
    pub(super) fn least_memory(self, wanted: &Wanted) -> Option<Dimensions> {
        match self {
            Self::Bins => bins::least_memory(wanted),
            Self::Rows { row_bytes } => rows::least_memory(wanted, row_bytes),
            Self::Slices { k } => segments::least_memory(wanted, Layout::Slices, k),
            Self::Blocks { k } => segments::least_memory(wanted, Layout::Blocks, k),
        }
    }

    /// A lower bound of the least memory, far below it where nothing better is known.
    pub(super) fn bytes_at_least(self, wanted: &Wanted) -> f64 {
        let bloom = bloom_bits_per_item(wanted.rate) * wanted.window.items() as f64 / 8.0;
        match self {
            // Crowded rows cost more than that at every rate and every slack.
            Self::Rows { .. } => 2.0 * bloom,
            _ => bloom,
        }
    }

    /// The least slack at the rate, with any memory, or a value close to it.
    pub(super) fn least_slack(self, wanted: &Wanted) -> Option<f64> {
        let any = Wanted { max_slack: f64::INFINITY, ..*wanted };
        let most = match self {
            Self::Rows { row_bytes } => return rows::least_slack(wanted, row_bytes),
            _ if wanted.shape.is_some() => return self.least_memory(&any).map(|found| found.npws()),
            Self::Bins => MAX_BIN_GENERATIONS,
            Self::Slices { k } | Self::Blocks { k } => MAX_SEGMENTS - k,
        };
        // With k = 1 exactly one generation is reported after it has left the window. Only a few values of l
        // have too little room for the fingerprints.
        let (Self::Bins | Self::Slices { k: 1 } | Self::Blocks { k: 1 }) = self else { return None };
        let window = &wanted.window;
        let most = window.most_generations().min(most.into()) as u32;
        let npws = |l: u32| npws(window, l, window.items_per_generation(l), 1.0);
        let mut by_slack: Vec<u32> = (1..=most).collect();
        sort_by_key(&mut by_slack, |&l| key(npws(l)));
        let with = |&l: &u32| self.least_memory(&Wanted { shape: Some((1, l)), ..any });
        by_slack.iter().take(20).find_map(with).map(|found| found.npws())
    }
}

/// Rounds up, so that a promise with the number in a message succeeds.
pub(super) fn rounded_up(slack: f64) -> f64 {
    ceil(slack * 1e4) / 1e4
}

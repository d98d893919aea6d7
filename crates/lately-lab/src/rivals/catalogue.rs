//! All contenders of the race.

use lately::{Layout, Prefer};

use super::a2::A2Buffering;
use super::backyard::Backyard;
use super::biased_sampling::{BiasedSampling, Deletions};
use super::block_decaying::BlockDecaying;
use super::counting_queue::CountingQueue;
use super::cuckoo::Cuckoo;
use super::cuckoo_clock::CuckooClock;
use super::decaying::Decaying;
use super::detached::Detached;
use super::double_buffering::DoubleBuffering;
use super::exact::ExactWindow;
use super::floating_counter::FloatingCounter;
use super::forgetful::Forgetful;
use super::generalized::Generalized;
use super::group::Group;
use super::inferential_timing::InferentialTiming;
use super::ours::Ours;
use super::reservoir_sampling::ReservoirSampling;
use super::scope_decay::ScopeDecay;
use super::segmented_aging::SegmentedAging;
use super::sequence::Sequence;
use super::spectral::Spectral;
use super::stable::Stable;
use super::statics::{Fast, SplitBlock};
use super::swamp::Swamp;
use super::temporal_counting::TemporalCounting;
use super::time_interval::TimeInterval;
use super::timing::Timing;
use super::{Budget, GENERATIONS, Rival};

/// The paper's classes of approaches (section 3), and some more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Ours,
    Segments,
    BitDecay,
    Counters,
    Timestamps,
    Dictionary,
    Static,
    Exact,
}

impl Family {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ours => "lately",
            Self::Segments => "segments",
            Self::BitDecay => "bit decay",
            Self::Counters => "counters",
            Self::Timestamps => "timestamps",
            Self::Dictionary => "dictionary",
            Self::Static => "static, never forgets",
            Self::Exact => "exact",
        }
    }
}

pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// Returns `None` if there is too little memory.
    pub(crate) build: fn(Budget) -> Option<Box<dyn Rival>>,
    /// Larger windows would take hours.
    pub(crate) largest_window: u64,
}

const fn contender(
    name: &'static str,
    family: Family,
    build: fn(Budget) -> Option<Box<dyn Rival>>,
) -> Contender {
    Contender { name, family, build, largest_window: u64::MAX }
}

// The type that `build` returns.
#[allow(clippy::unnecessary_wraps)]
fn boxed(rival: impl Rival + 'static) -> Option<Box<dyn Rival>> {
    Some(Box::new(rival))
}

fn ours(budget: Budget, layout: Layout, prefer: Prefer) -> Option<Box<dyn Rival>> {
    Ours::new(budget, layout, prefer).and_then(boxed)
}

use Family::{BitDecay, Counters, Dictionary, Exact, Segments, Static, Timestamps};

pub(crate) const CATALOGUE: &[Contender] = &[
    contender("Rows", Family::Ours, |budget| ours(budget, Layout::Rows, Prefer::Speed)),
    contender("Rows, for memory", Family::Ours, |budget| ours(budget, Layout::Rows, Prefer::Memory)),
    contender("Bins", Family::Ours, |budget| ours(budget, Layout::Bins, Prefer::Speed)),
    contender("Blocks", Family::Ours, |budget| ours(budget, Layout::Blocks, Prefer::Memory)),
    contender("Slices", Family::Ours, |budget| ours(budget, Layout::Slices, Prefer::Memory)),
    contender("2 Bloom filters (cell)", Segments, |budget| boxed(Sequence::new(budget, 2))),
    contender("6 Bloom filters", Segments, |budget| boxed(Sequence::new(budget, GENERATIONS + 1))),
    contender("double buffering", Segments, |budget| boxed(DoubleBuffering::new(budget))),
    contender("A2 buffering", Segments, |budget| boxed(A2Buffering::new(budget))),
    contender("forgetful", Segments, |budget| boxed(Forgetful::new(budget))),
    contender("segmented aging", Segments, |budget| boxed(SegmentedAging::new(budget))),
    contender("scope decay", BitDecay, |budget| boxed(ScopeDecay::new(budget))),
    contender("generalized", BitDecay, |budget| boxed(Generalized::new(budget))),
    contender("reservoir sampling", BitDecay, |budget| boxed(ReservoirSampling::new(budget))),
    contender("biased sampling", BitDecay, |budget| boxed(BiasedSampling::new(budget, Deletions::EachPart))),
    contender("biased, one part", BitDecay, |budget| boxed(BiasedSampling::new(budget, Deletions::OnePart))),
    contender("biased, by load", BitDecay, |budget| boxed(BiasedSampling::new(budget, Deletions::ByLoad))),
    contender("stable", Counters, |budget| Stable::new(budget).and_then(boxed)),
    contender("counting and queue", Counters, |budget| CountingQueue::new(budget).and_then(boxed)),
    contender("spectral and queue", Counters, |budget| Spectral::new(budget).and_then(boxed)),
    contender("floating and queue", Counters, |budget| FloatingCounter::new(budget).and_then(boxed)),
    Contender {
        name: "decaying",
        family: Counters,
        build: |budget| Decaying::new(budget).and_then(boxed),
        largest_window: 10_000,
    },
    contender("block decaying", Counters, |budget| BlockDecaying::new(budget).and_then(boxed)),
    contender("temporal counting", Counters, |budget| TemporalCounting::new(budget).and_then(boxed)),
    contender("timing", Timestamps, |budget| Timing::new(budget).and_then(boxed)),
    contender("inferential timing", Timestamps, |budget| InferentialTiming::new(budget).and_then(boxed)),
    contender("time interval", Timestamps, |budget| TimeInterval::new(budget).and_then(boxed)),
    contender("group", Timestamps, |budget| Group::new(budget).and_then(boxed)),
    contender("detached (DCBA)", Timestamps, |budget| Detached::new(budget).and_then(boxed)),
    contender("SWAMP", Dictionary, |budget| Swamp::new(budget).and_then(boxed)),
    contender("cuckoo with ages", Dictionary, |budget| Cuckoo::new(budget).and_then(boxed)),
    contender("backyard", Dictionary, |budget| Backyard::new(budget).and_then(boxed)),
    contender("cuckoo-clock", Dictionary, |budget| CuckooClock::new(budget).and_then(boxed)),
    contender("fastbloom", Static, |budget| boxed(Fast::new(budget))),
    contender("sbbf-rs", Static, |budget| boxed(SplitBlock::new(budget))),
    contender("exact map and ring", Exact, |budget| boxed(ExactWindow::for_budget(budget))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_contender_except_the_exact_one_takes_more_memory_than_it_is_given() {
        for contender in CATALOGUE.iter().filter(|contender| contender.family != Exact) {
            for bits in [16, 24, 32, 48] {
                let budget = Budget { memory_bits: bits * 10_000, window: 10_000 };
                let Some(rival) = (contender.build)(budget) else { continue };
                let used = rival.memory_bits() as f64 / budget.memory_bits as f64;
                assert!(used <= 1.0, "{}: {used} of {bits} bits", contender.name);
                // Rounding to whole words, fingerprint bits or row bytes leaves little memory unused.
                assert!(used > 0.85, "{}: only {used} of {bits} bits", contender.name);
                let own = rival.own_window();
                assert!(own.is_none_or(|own| own >= budget.window), "{}: {own:?}", contender.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = CATALOGUE.iter().map(|contender| contender.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOGUE.len());
    }
}

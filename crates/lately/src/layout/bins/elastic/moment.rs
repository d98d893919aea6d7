//! How to read a line at a given moment of the ring.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::split::{Sides, Split};
use crate::layout::bins::kernel::{BinKernel, HEADER, Line};
use crate::layout::bins::line::{Generation, LineFormat, Queue};
use crate::ring::{Age, Ring};
use crate::shape::ELASTIC_GENERATIONS;

/// The format of a line. Fingerprints are at least as wide as a lane.
pub(super) type Format = LineFormat<16, true>;

/// Generations with the same number of lines at their start, or the least since, up to this age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Era {
    pub(super) sides: Sides,
    pub(super) oldest: u32,
}

/// What follows from the ring, and from the least number of lines since the start of each generation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) format: Format,
    pub(super) now: Generation,
    /// Those of the generations of the window, the newest first.
    pub(super) eras: [Era; ELASTIC_GENERATIONS as usize + 1],
    pub(super) era_count: usize,
}

impl Moment {
    /// `lines_at`: the least number of lines since the start of the generation of an age.
    pub(super) fn new(format: Format, ring: &Ring, lines_at: impl Fn(Age) -> u64) -> Self {
        let window = ring.oldest_in_window();
        let newest = Era { sides: Sides::of(lines_at(Age(0))), oldest: 0 };
        let (format, now) = (format.with_window(window.0), Generation::new(ring));
        let mut moment = Self { format, now, eras: [newest; _], era_count: 1 };
        for age in ring.ages().take_while(|age| *age <= window) {
            let sides = Sides::of(lines_at(age));
            moment.era_count += usize::from(sides != moment.eras[moment.era_count - 1].sides);
            moment.eras[moment.era_count - 1] = Era { sides, oldest: age.0 };
        }
        moment
    }

    #[inline(always)]
    pub(super) fn eras(&self) -> &[Era] {
        &self.eras[..self.era_count]
    }

    /// How a side was split where the fingerprints of this age have their base.
    pub(super) fn split_of_age(&self, side: usize, age: u32) -> Split {
        let era = self.eras().iter().find(|era| age <= era.oldest);
        era.unwrap_or(&self.eras[0]).sides.splits[side]
    }

    /// The base of the fingerprints that are written now.
    #[inline(always)]
    pub(super) fn base(&self, hash: u64, side: usize) -> u32 {
        self.eras[0].sides.splits[side].base(hash)
    }

    #[inline(always)]
    pub(super) fn fingerprint(&self, hash: u64, base: u32) -> u64 {
        hash >> base & self.format.fingerprint_mask()
    }

    #[inline(always)]
    pub(super) fn queue<K: BinKernel>(&self, kernel: K, line: &Line) -> Queue {
        self.format.queue(kernel, line[HEADER], &self.now)
    }
}

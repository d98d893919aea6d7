//! Finding an item in a table.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use super::blocks::{cell_at, place_of};
use super::moment::{Format, Moment};
use super::split::{Sides, Split};
use crate::hash::remix;
use crate::layout::bins::kernel::{BinKernel, HEADER, Line};
use crate::layout::bins::line::Queue;
use crate::layout::bins::spare::{cell_age, cell_hash};

/// An item's hash for each side.
pub(super) type Hashes = [u64; 2];

#[inline(always)]
pub(super) fn hashes_of(hash: u64) -> Hashes {
    [hash, remix(hash, 0)]
}

/// What a line says about an item: a bit for each fingerprint of the window that is its own, in order of arrival.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) queue: Queue,
    /// Those whose base is the one used now.
    pub(super) current: u64,
    pub(super) older: u64,
}

/// The table at some moment.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) moment: &'a Moment,
    pub(super) sides: Sides,
    pub(super) words: &'a [u64],
    pub(super) lines: &'a [Line],
}

impl Table<'_> {
    #[inline(always)]
    pub(super) fn place(&self, hash: u64, side: usize) -> usize {
        place_of(self.sides.splits[side].place(hash), side)
    }

    #[inline(always)]
    pub(super) fn find<K: BinKernel>(&self, kernel: K, hash: u64, side: usize) -> Found {
        let line = &self.lines[self.place(hash, side)];
        let queue = self.moment.queue(kernel, line);
        let current = self.matching(kernel, line, queue, hash, side, self.moment.base(hash, side));
        let is_alone = self.moment.era_count == 1;
        let older = if is_alone {
            0
        } else {
            kernel.outlined(
                #[inline(always)]
                move || self.find_older(kernel, line, queue, hash, side),
            )
        };
        Found { queue, current, older }
    }

    /// The fingerprints that were made when there were more or fewer lines, and have another base.
    #[inline(always)]
    pub(super) fn find_older<K: BinKernel>(
        &self,
        kernel: K,
        line: &Line,
        queue: Queue,
        hash: u64,
        side: usize,
    ) -> u64 {
        let current = self.moment.base(hash, side);
        let (mut before, mut found) = (current, 0);
        for era in &self.moment.eras()[1..] {
            let base = era.sides.splits[side].base(hash);
            if base != before && base != current {
                found |= self.matching(kernel, line, queue, hash, side, base);
            }
            before = base;
        }
        found
    }

    /// The fingerprints of the window with this base that are the item's.
    #[inline(always)]
    pub(super) fn matching<K: BinKernel>(
        &self,
        kernel: K,
        line: &Line,
        queue: Queue,
        hash: u64,
        side: usize,
        base: u32,
    ) -> u64 {
        let Moment { format, era_count, .. } = self.moment;
        let fingerprint = self.moment.fingerprint(hash, base);
        let candidates = format.candidates(kernel, line, fingerprint);
        if candidates == 0 {
            return 0;
        }
        let mut left = format.in_window(queue, candidates);
        let mut matching = 0;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let has_base = || {
                let age = format.age(kernel, queue, format.younger(bit));
                self.moment.split_of_age(side, age).base(hash) == base
            };
            let is_equal =
                !format.has_rests() || format.has_equal_rest(line, queue, bit.trailing_zeros(), fingerprint);
            if is_equal && (*era_count == 1 || has_base()) {
                matching |= bit;
            }
        }
        matching
    }

    /// The age of an item in the spare: it is at least as old as the oldest of its cells.
    #[inline(always)]
    pub(super) fn spare_age(&self, hashes: Hashes) -> Option<u32> {
        let first = &self.lines[self.place(hashes[0], 0)];
        if Format::has_spilled(first[HEADER], &self.moment.now) { self.age_of_cells(hashes) } else { None }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn age_of_cells(&self, hashes: Hashes) -> Option<u32> {
        self.cells(hashes).try_fold(0, |oldest, cell| Some(self.cell_age(cell)?.max(oldest)))
    }

    /// How many generations ago a cell was written, if that is in the window.
    pub(super) fn cell_age(&self, cell: u64) -> Option<u32> {
        let (word, shift) = cell_at(cell);
        cell_age(self.words[word] >> shift & 0xff, &self.moment.now)
            .filter(|age| *age <= self.moment.format.window())
    }

    /// The cells of an item in the spare.
    pub(super) fn cells(&self, hashes: Hashes) -> impl Iterator<Item = u64> + use<> {
        let split = Split::of(self.sides.lines());
        let probes = u64::from(self.moment.format.shape().spare_probes());
        (0..probes).map(move |probe| split.place(cell_hash(hashes[1], probe)))
    }

    #[inline(always)]
    pub(super) fn prefetch<K: BinKernel>(&self, kernel: K, hash: u64) {
        let hashes = hashes_of(hash);
        (0..2).for_each(|side| kernel.prefetch(&self.lines[self.place(hashes[side], side)]));
    }

    #[inline(always)]
    pub(super) fn reports<K: BinKernel>(&self, kernel: K, hash: u64) -> bool {
        let hashes = hashes_of(hash);
        (0..2).any(|side| {
            let found = self.find(kernel, hashes[side], side);
            found.current | found.older != 0
        }) || self.spare_age(hashes).is_some()
    }
}

//! The rate or the window that fits into a given memory.

use alloc::vec;
use alloc::vec::Vec;

use libm::{exp, log};

use super::groups::Group;
use super::ordered::{key, sort_by_key};
use super::ranking::MEMORY_FOR_SPEED;
use super::search::{Breadth, Search};
use super::{Dimensions, sizing};
use crate::error::ConfigError;
use crate::limits::{MAX_WINDOW, MIN_RATE};
use crate::promise::Prefer;
use crate::shape::Shape;
use crate::window::Window;

/// A rate above this is useless as a promise.
const USELESS_RATE: f64 = 0.5;

/// How close a search comes to the least rate.
#[derive(Clone, Copy)]
struct Precision {
    /// A share of the memory that may stay unused, because more cells fill it afterwards. Four times this difference
    /// of the logarithm of rates does not matter either.
    close: f64,
    /// Rates to try, more only until one fits.
    rounds: usize,
}

/// For a plan.
const CLOSE: Precision = Precision { close: 4e-3, rounds: MOST_ROUNDS };
/// To choose a group of shapes.
const ROUGHLY: Precision = Precision { close: 2e-2, rounds: MOST_ROUNDS };
/// For a number in a message.
const FOR_MESSAGES: Precision = Precision { close: 2e-2, rounds: 4 };
const MOST_ROUNDS: usize = 10;

impl Search<'_> {
    /// The candidates with the least rate that fits into the memory: first the one to build, then, if all are
    /// wanted, the best of the other groups, by rate.
    ///
    /// [`Prefer::Speed`] takes the fewest accesses among the groups that reach the rate for which a third of the
    /// memory would be enough.
    pub(super) fn best_rate(&self, window: Window, max_memory: u64) -> Result<Vec<Dimensions>, ConfigError> {
        let winner = Self { breadth: Breadth::Winner, ..self.clone() };
        let filled = |best: Dimensions, rate: f64| {
            if rate > least_useful_rate(window) { best.filled(max_memory) } else { best }
        };
        let best_of = |group: Group| -> Result<Dimensions, ConfigError> {
            let alone = Self { groups: vec![group], ..winner.clone() };
            let (best, rate) = alone.least_rate_of_groups(window, max_memory, CLOSE)?;
            Ok(filled(best, rate))
        };
        let chosen = if self.prefer == Prefer::Speed {
            let smallest = Self { prefer: Prefer::Memory, ..winner.clone() };
            let rate = smallest.least_rate(window, max_memory / MEMORY_FOR_SPEED, ROUGHLY);
            let rate = rate.map_or(USELESS_RATE, |(_, rate)| rate);
            best_of(Group::with(&winner.least_memory(window, rate, Some(max_memory))?[0]))?
        } else {
            let (best, rate) = winner.least_rate(window, max_memory, CLOSE)?;
            filled(best, rate)
        };
        let mut found = vec![chosen];
        if self.breadth == Breadth::All {
            let others = self.groups.iter().filter(|&&group| group != Group::with(&chosen));
            let others = others.filter_map(|&group| best_of(group).ok());
            let mut others: Vec<_> = others.map(|best| (best, best.worst_rate())).collect();
            sort_by_key(&mut others, |(_, rate)| key(*rate));
            found.extend(others.into_iter().map(|(candidate, _)| candidate));
        }
        Ok(found)
    }

    /// The least rate for which the plan to build fits, and this plan. If the layouts that are searched first do not
    /// fit with any useful rate, the others are searched.
    fn least_rate(
        &self,
        window: Window,
        max_memory: u64,
        precision: Precision,
    ) -> Result<(Dimensions, f64), ConfigError> {
        // Otherwise all layouts are in the race from the beginning.
        let has_favourites = self.prefer == Prefer::Balanced || matches!(window, Window::Time { .. });
        let mut search = self.clone();
        loop {
            let first = search.groups[0].layout();
            match search.least_rate_of_groups(window, max_memory, precision) {
                Ok(found) => return Ok(found),
                Err(error)
                    if !has_favourites || search.groups.iter().all(|group| group.layout() == first) =>
                {
                    return Err(error);
                }
                Err(_) => search.groups.retain(|group| group.layout() != first),
            }
        }
    }

    /// The least rate for which the plan to build fits. Memory is nearly linear in the logarithm of the rate.
    fn least_rate_of_groups(
        &self,
        window: Window,
        max_memory: u64,
        precision: Precision,
    ) -> Result<(Dimensions, f64), ConfigError> {
        /// Many plans need about 2 bits per item for each factor of e in the rate, and for so many factors more.
        const MORE: f64 = 4.0;
        const BEYOND: f64 = 1.03;
        let Precision { close, rounds } = precision;
        // The share of the memory that is missing, or unused if negative.
        let missing = |found: &Dimensions| found.memory_bytes as f64 / max_memory as f64 - 1.0;
        let least = least_useful_rate(window);
        let (mut low, mut high) = (log(least), log(USELESS_RATE));
        let (mut low_missing, mut high_missing) = (f64::NAN, f64::NAN);
        let mut next = (MORE - max_memory as f64 * 4.0 / window.items() as f64).clamp(low, high);
        let mut before = 0.0;
        let mut fitting = None;
        for round in 0..MOST_ROUNDS {
            if round >= rounds && fitting.is_some() {
                break;
            }
            // A rate that is out of reach needs infinite memory.
            let found = self.smallest(window, exp(next));
            let next_missing = found.as_ref().map_or(f64::INFINITY, missing);
            // An end that stays twice loses half its weight (the Illinois rule).
            if next_missing > 0.0 {
                if next >= high {
                    // Not even a useless rate.
                    found?;
                    break;
                }
                high_missing *= if before > 0.0 { 0.5 } else { 1.0 };
                (low, low_missing) = (next, next_missing);
            } else {
                if next <= low {
                    return Ok((self.smallest(window, least)?, least));
                }
                fitting = found.ok();
                low_missing *= if before < 0.0 { 0.5 } else { 1.0 };
                (high, high_missing) = (next, next_missing);
            }
            if (-close..=0.0).contains(&next_missing) || high - low < 4.0 * close {
                break;
            }
            before = next_missing;
            next = if low_missing.is_nan() || high_missing.is_nan() {
                // A little further than the root, to have it between the ends.
                let used = (1.0 + next_missing) * if next_missing > 0.0 { BEYOND } else { 1.0 / BEYOND };
                (MORE - (MORE - next) / used).clamp(low, high)
            } else if low_missing.is_infinite() {
                f64::midpoint(low, high)
            } else {
                let share = low_missing / (low_missing - high_missing);
                low + (high - low) * share.clamp(0.02, 0.98)
            };
        }
        // The search may end before it has tried the highest rate.
        let with_any_rate = || self.smallest(window, USELESS_RATE).ok();
        let fitting = fitting.or_else(|| with_any_rate().filter(|found| found.memory_bytes <= max_memory));
        Ok((fitting.ok_or_else(|| self.memory_too_small(window, max_memory))?, exp(high)))
    }

    /// The plan to build, or the one with the least memory if others are preferred only for their accesses.
    fn smallest(&self, window: Window, rate: f64) -> Result<Dimensions, ConfigError> {
        let found = self.least_memory(window, rate, None)?;
        let least = found.iter().min_by_key(|candidate| candidate.memory_bytes);
        Ok(*least.filter(|_| self.prefer == Prefer::Memory).unwrap_or(&found[0]))
    }

    fn memory_too_small(&self, window: Window, max_memory: u64) -> ConfigError {
        match self.least_memory(window, USELESS_RATE, None) {
            Err(error) => error,
            Ok(needed) => ConfigError::MemoryTooSmall {
                needed_bytes: least_bytes(&needed),
                max_memory,
                fitting_window: None,
                fitting_rate: None,
            },
        }
    }

    /// The candidates for the largest window (or capacity) that fits into the memory, to one part in a thousand.
    /// It is the largest for the plan that would be built without a memory limit.
    pub(super) fn largest_window(&self, rate: f64, max_memory: u64) -> Result<Vec<Dimensions>, ConfigError> {
        self.largest_window_to(rate, max_memory, 1e-3)
    }

    /// The same with another precision.
    fn largest_window_to(
        &self,
        rate: f64,
        max_memory: u64,
        close: f64,
    ) -> Result<Vec<Dimensions>, ConfigError> {
        const ROUNDS: usize = 6;
        let window = self.promise.asked_window()?.unwrap_or(Window::Count { inserts: 1 });
        let mut fits: Option<Vec<Dimensions>> = None;
        let mut needed_bytes = u64::MAX;
        // Memory is nearly proportional to the window, so each guess scales the previous one. Windows with more
        // items than a 64-bit hash can distinguish at this rate need not be tried.
        let told_apart = (rate * 18_446_744_073_709_551_616.0 / 8.0) as u64;
        let most = MAX_WINDOW.min(told_apart).max(1);
        let mut items = (max_memory / 4).clamp(1, most);
        for _ in 0..ROUNDS {
            let mut found = match self.least_memory(window.with_items(items), rate, None) {
                Ok(found) => found,
                // Small windows have few generations, and may miss a slack that larger ones keep.
                Err(error @ ConfigError::SlackUnreachable { .. })
                    if fits.is_none() && needed_bytes == u64::MAX =>
                {
                    return Err(error);
                }
                Err(_) => break,
            };
            let taken = found[0].memory_bytes;
            needed_bytes = needed_bytes.min(taken);
            let is_larger = fits.as_ref().is_none_or(|fits| items > fits[0].window.items());
            if taken <= max_memory && is_larger {
                found.retain(|candidate| candidate.memory_bytes <= max_memory);
                fits = Some(found);
            }
            let used = taken as f64 / max_memory as f64;
            let scaled = ((items as f64 / used * (1.0 - close / 2.0)) as u64).clamp(1, most);
            if (1.0 - close..=1.0).contains(&used) || scaled == items {
                break;
            }
            items = scaled;
        }
        fits.ok_or(ConfigError::MemoryTooSmall {
            needed_bytes,
            max_memory,
            fitting_window: None,
            fitting_rate: None,
        })
    }

    /// Removes the candidates that do not fit.
    ///
    /// # Errors
    /// If none fits: names a window and a rate that would.
    pub(super) fn within_memory(
        &self,
        mut found: Vec<Dimensions>,
        rate: f64,
        max_memory: u64,
    ) -> Result<Vec<Dimensions>, ConfigError> {
        /// A promise with the numbers of a message may find another shape, which takes a little more.
        const MARGIN: f64 = 0.985;
        let least = found.iter().min_by_key(|candidate| candidate.memory_bytes).copied();
        found.retain(|candidate| candidate.memory_bytes <= max_memory);
        let Some(least) = least.filter(|_| found.is_empty()) else { return Ok(found) };
        let group = self.within_group_of(&least);
        let limit = (max_memory as f64 * MARGIN) as u64;
        Err(ConfigError::MemoryTooSmall {
            needed_bytes: least.memory_bytes,
            max_memory,
            fitting_window: group
                .largest_window_to(rate, limit, FOR_MESSAGES.close)
                .ok()
                .map(|found| found[0].window.items()),
            fitting_rate: self.least_rate(least.window, limit, FOR_MESSAGES).ok().map(|(_, rate)| rate),
        })
    }
}

fn least_bytes(found: &[Dimensions]) -> u64 {
    found.iter().map(|candidate| candidate.memory_bytes).min().unwrap_or(u64::MAX)
}

/// Memory beyond what this rate needs has no benefit.
fn least_useful_rate(window: Window) -> f64 {
    (4.0 * sizing::hash_collisions(&Shape::slices(1, 1), window.items())).max(MIN_RATE)
}

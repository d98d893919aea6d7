//! Finds runs: k consecutive matches among k + l segments of any kind.
#![allow(clippy::inline_always)] // see `kernel::Work`: only inlined code is compiled for the kernel

use crate::ring::{Age, Ring};

/// Segments that can be tested one by one. Implementations must be `#[inline(always)]`, see `kernel::Work`;
/// closures would not always be inlined.
pub(crate) trait Matches {
    /// Returns true if the segment of this age matches the item.
    fn matches_at(&self, item: u64, ring: &Ring, age: Age) -> bool;
}

/// The paper's query (section 4.4, algorithm 1): does any run of k consecutive ages match?
///
/// It starts at age l and, on a miss, jumps k ages towards the newest: every run of k ages that could still
/// succeed must contain the age it lands on. `previous` is the number of matches found just beyond the jump,
/// so a run that reaches them is complete without testing them again.
#[inline(always)]
pub(crate) fn is_reported(segments: &impl Matches, item: u64, ring: &Ring) -> bool {
    let needed = ring.required_matches();
    let mut age = ring.window_generations();
    let (mut previous, mut current) = (0, 0);
    loop {
        if segments.matches_at(item, ring, Age(age)) {
            current += 1;
            age += 1;
            if previous + current == needed {
                return true;
            }
        } else {
            match age.checked_sub(needed) {
                Some(next) => age = next,
                None => return false,
            }
            previous = current;
            current = 0;
        }
    }
}

/// Returns the newest and the oldest age that the last insert of an item may have once the ring has moved on to
/// `later`, or `None` if no run of k consecutive ages will match then. `matches` tells whether the segment of a present age matches.
///
/// An insert at age `a` makes the ages `a..a + k` match, but neighbours may match by chance and lengthen the
/// run. So a run over `s..=e` says only that the insert began at one of `s..=e - k + 1`. Newer runs are
/// preferred.
pub(crate) fn newest_run(ring: &Ring, later: &Ring, matches: impl Fn(Age) -> bool) -> Option<(Age, Age)> {
    let needed = ring.required_matches();
    let mut run = 0;
    for age in ring.ages() {
        if ring.age_before(age, later).is_some_and(&matches) {
            run += 1;
        } else if run >= needed {
            return Some((Age(age.0 - run), Age(age.0 - needed)));
        } else {
            run = 0;
        }
    }
    let segments = ring.segments();
    (run >= needed).then(|| (Age(segments - run), Age(segments - needed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification (paper, section 4.1): some j with all of j..j + k matching, by a plain scan.
    fn is_reported_by_scan(ring: &Ring, matches: impl Fn(Age) -> bool) -> bool {
        (0..=ring.window_generations()).any(|j| (j..j + ring.required_matches()).all(|age| matches(Age(age))))
    }

    /// The item is its own pattern of matches.
    struct Pattern;

    impl Matches for Pattern {
        fn matches_at(&self, pattern: u64, _ring: &Ring, age: Age) -> bool {
            pattern >> age.0 & 1 == 1
        }
    }

    #[test]
    fn the_jumping_query_agrees_with_a_linear_scan_on_every_pattern_of_matches() {
        for k in 1..=7 {
            for l in 1..=7 {
                let ring = Ring::new(k, l);
                for pattern in 0_u64..1 << (k + l) {
                    let matches = |age: Age| Pattern.matches_at(pattern, &ring, age);
                    let expected = is_reported_by_scan(&ring, matches);
                    assert_eq!(
                        is_reported(&Pattern, pattern, &ring),
                        expected,
                        "k={k} l={l} pattern={pattern:b}"
                    );
                    assert_eq!(newest_run(&ring, &ring, matches).is_some(), expected);
                }
            }
        }
    }

    #[test]
    fn the_newest_run_spans_every_age_at_which_the_insert_may_have_begun() {
        let ring = Ring::new(2, 5);
        let run_of =
            |pattern: u32| newest_run(&ring, &ring, |age| pattern >> age.0 & 1 == 1).map(|(a, b)| (a.0, b.0));
        assert_eq!(run_of(0b000_0011), Some((0, 0)));
        assert_eq!(run_of(0b000_1110), Some((1, 2)));
        assert_eq!(run_of(0b110_0001), Some((5, 5)));
        assert_eq!(run_of(0b111_1111), Some((0, 5)));
        assert_eq!(run_of(0b101_0101), None);
    }
}

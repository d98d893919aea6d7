use alloc::vec::Vec;

use super::part_ages::{PartAges, Stamp};
use super::*;
use crate::hash::remix;
use crate::layout::instructions::Portable;
use crate::layout::kernel::Kernel;
use crate::shape::{Segment, Shape};

fn matches(rows: &Rows<8>, item: u64, age: Age) -> bool {
    let row = &rows.rows()[row_of(item, rows.rows().len())];
    let generation = rows.current.get();
    generation.ages.segment_matches(portable::matching(row, item) & generation.live(row[7]), age)
}

fn rows<const WORDS: usize>(shape: RowShape, rows: usize, ring: &Ring) -> Rows<WORDS> {
    Rows::new(shape, AlignedWords::zeroed(rows * WORDS).unwrap(), ring)
}

fn contains<const WORDS: usize>(rows: &Rows<WORDS>, kernel: impl Kernel, item: u64, ring: &Ring) -> bool {
    let rows = rows.query();
    rows.contains(kernel, rows.locate(item), ring)
}

fn insert<const WORDS: usize>(rows: &mut Rows<WORDS>, kernel: impl Kernel, item: u64, ring: &Ring) {
    let mut rows = rows.update();
    rows.insert(kernel, rows.locate(item), ring);
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
fn check_and_insert<const WORDS: usize>(
    rows: &mut Rows<WORDS>,
    kernel: impl Kernel,
    item: u64,
    ring: &Ring,
) -> bool {
    let mut rows = rows.update();
    rows.check_and_insert(kernel, rows.locate(item), ring)
}

/// Shapes of each row size, with and without unused parts.
fn shapes() -> Vec<(Ring, RowShape)> {
    let shapes = [
        (5, 10, 64, 2),
        (10, 21, 64, 1),
        (3, 7, 64, 3),
        (1, 1, 64, 1),
        (1, 3, 64, 7),
        (4, 17, 128, 3),
        (5, 26, 128, 2),
        (20, 43, 128, 1),
        (63 - 20, 20, 128, 1),
    ];
    shapes
        .map(|(k, l, row_bytes, parts)| {
            let segment = Segment::Rows { row_bytes, parts };
            assert!(Shape { required_matches: k, window_generations: l, segment }.is_possible());
            (Ring::new(k, l), RowShape { row_bytes, parts, segments: k + l })
        })
        .to_vec()
}

/// Rows that are behind by every number of generations that stamps can count. In a row of ones, everything
/// matches that is not ignored, including claims and unused bits. An item is reported only as long as k
/// segments are live.
#[test]
fn every_kernel_ignores_recycled_segments_at_every_staleness() {
    fn check<const WORDS: usize>(kernel: impl Kernel, shape: RowShape, ring: &Ring) {
        let ages: PartAges<WORDS> = PartAges::new(shape, ring);
        let generation = Generation { ages: &ages, stamp: Stamp::of_generation(ring.generation()) };
        for staleness in 0..1 << 15 {
            let item = remix(staleness, 98);
            let stamp = u64::from(Stamp::of_generation(ring.generation() + (1 << 15) - staleness).bits());
            let ones = [u64::MAX; WORDS];
            let some = core::array::from_fn(|word| remix(item, 100 + word as u64));
            for mut row in [ones, some] {
                row[WORDS - 1] = row[WORDS - 1] & !(0x7fff << 48) | stamp << 48;
                let (last, loaded) = (row[WORDS - 1], kernel.load_generation(generation));
                let mut expected = row;
                let seen = Portable.check_and_insert(&mut expected, item, last, &generation);
                assert_eq!(kernel.contains(&row, item, last, &loaded), seen, "{shape:?} {staleness} behind");
                if row[0] == u64::MAX {
                    assert_eq!(
                        seen,
                        staleness <= ring.window_generations().into(),
                        "{shape:?} {staleness} behind"
                    );
                }
                assert_eq!(
                    kernel.check_and_insert(&mut row, item, last, &loaded),
                    seen,
                    "{shape:?} {staleness} behind"
                );
                assert!(row == expected, "{shape:?} {staleness} behind");
            }
        }
    }
    fn check_all(kernel: impl Kernel) {
        for (ring, shape) in shapes() {
            let ring = Ring::at_generation(ring.required_matches(), ring.window_generations(), 3);
            match shape.row_bytes {
                64 => check::<8>(kernel, shape, &ring),
                _ => check::<16>(kernel, shape, &ring),
            }
        }
    }
    check_all(Portable);
    #[cfg(all(target_arch = "x86_64", feature = "std"))]
    {
        // Each on machines that have it.
        crate::layout::instructions::Avx2::detect().into_iter().for_each(check_all);
        crate::layout::instructions::Avx512::detect().into_iter().for_each(check_all);
    }
}

#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[test]
fn vectors_give_the_same_bits_and_answers_as_the_reference() {
    use crate::layout::instructions::{Avx2, Avx512};

    fn compare<const WORDS: usize>(kernel: impl Kernel, shape: RowShape, mut ring: Ring) {
        let mut reference: Rows<WORDS> = rows(shape, 20, &ring);
        let mut fast = reference.clone();
        let mut hash = 1_u64;
        for step in 0..6_000 {
            hash = remix(hash, step);
            let item = hash % 300;
            let item = remix(item, 99);
            assert_eq!(contains(&fast, kernel, item, &ring), contains(&reference, Portable, item, &ring));
            match step % 3 {
                0 => {
                    insert(&mut fast, kernel, item, &ring);
                    insert(&mut reference, Portable, item, &ring);
                }
                _ => {
                    let answer = check_and_insert(&mut reference, Portable, item, &ring);
                    assert_eq!(check_and_insert(&mut fast, kernel, item, &ring), answer);
                }
            }
            assert!(fast == reference, "{shape:?} step {step}");
            // Rows fall behind by some generations, until housekeeping reaches them.
            let shifts = if step % 500 == 0 { 70 } else { u64::from(step % 11 == 0) };
            for _ in 0..shifts {
                ring.advance_generation();
                fast.update().recycle_newest(&ring);
                reference.update().recycle_newest(&ring);
            }
        }
    }
    fn compare_all(kernel: impl Kernel) {
        for (ring, shape) in shapes() {
            match shape.row_bytes {
                64 => compare::<8>(kernel, shape, ring),
                _ => compare::<16>(kernel, shape, ring),
            }
        }
    }
    // Each on machines that have it.
    Avx2::detect().into_iter().for_each(compare_all);
    Avx512::detect().into_iter().for_each(compare_all);
}

/// The specification: a row holds exactly the items inserted since its segments were last recycled.
#[test]
fn stamps_replace_clearing_at_every_staleness_and_across_the_wrap() {
    for (ring, shape) in shapes().into_iter().filter(|(_, shape)| shape.row_bytes == 64) {
        let (k, l) = (ring.required_matches(), ring.window_generations());
        for first_generation in [0, (1 << 15) - 5, (1 << 15) - 1, (1 << 32) - 3] {
            for behind in 0..=2 * (k + l) {
                let mut ring = Ring::at_generation(k, l, first_generation);
                let mut rows: Rows<8> = rows(shape, 1_000, &ring);
                // All rows are written in this generation, so their stamps are right for any generation.
                rows.words.as_chunks_mut::<8>().0.iter_mut().for_each(|row| refresh(row, rows.current.get()));
                let item = remix(7, behind.into());
                insert(&mut rows, Portable, item, &ring);
                for _ in 0..behind {
                    ring.advance_generation();
                    rows.update().recycle_newest(&ring);
                }
                for age in ring.ages() {
                    let written = (behind..behind + k).contains(&age.0);
                    assert_eq!(
                        matches(&rows, item, age),
                        written,
                        "{shape:?} {behind} behind, age {}",
                        age.0
                    );
                }
                assert_eq!(contains(&rows, Portable, item, &ring), behind <= l);
            }
        }
    }
}

#[test]
fn housekeeping_visits_every_row_before_its_stamp_can_wrap() {
    let (mut ring, shape) = shapes().remove(0);
    for count in [1, 7, 16_384, 16_385, 50_000] {
        let mut rows: Rows<8> = rows(shape, count, &ring);
        let mut oldest = 0;
        for shift in 1..=40_000_u64 {
            ring.advance_generation();
            rows.update().recycle_newest(&ring);
            if shift % 1_000 == 0 && shift > SHIFTS_PER_ROUND {
                let behind = |row: &[u64; 8]| rows.current.get().stamp.since(Stamp::of_word(row[7]));
                oldest = oldest.max(rows.rows().iter().map(behind).max().unwrap());
            }
        }
        assert!(u64::from(oldest) <= SHIFTS_PER_ROUND + 1, "{count} rows: {oldest} generations behind");
        assert!(count == 1 || oldest > 0, "with {count} rows some must be behind, or this tests nothing");
    }
}

#[test]
fn an_idle_row_is_never_mistaken_for_a_fresh_one_after_more_shifts_than_stamps_count() {
    let (mut ring, shape) = shapes().remove(0);
    let mut rows: Rows<8> = rows(shape, 300, &ring);
    let items: Vec<u64> = (0..1_000).map(|i| remix(i, 5)).collect();
    for &item in &items {
        insert(&mut rows, Portable, item, &ring);
    }
    // Past the wrap, the old stamps would look fresh if nothing had visited the rows.
    for _ in 0..(1 << 15) + 3 {
        ring.advance_generation();
        rows.update().recycle_newest(&ring);
    }
    assert!(items.iter().all(|&item| ring.ages().all(|age| !matches(&rows, item, age))));
}

/// A copy of shared rows may be made before the housekeeping of a shift reaches some of them.
#[cfg(feature = "std")]
#[test]
fn a_copy_makes_up_for_housekeeping_that_had_not_reached_its_rows() {
    let (mut ring, shape) = shapes().remove(0);
    for more in [0, 3] {
        // In each round of housekeeping a row is visited once, after exactly 2^14 shifts.
        let mut rows: Rows<8> = rows(shape, SHIFTS_PER_ROUND as usize, &ring);
        let item = remix(7, 7);
        insert(&mut rows, Portable, item, &ring);
        let place = rows.query().locate(item).place;
        let is_due =
            |ring: &Ring| rows_to_visit(ring.generation(), SHIFTS_PER_ROUND as usize).any(|due| due == place);
        loop {
            ring.advance_generation();
            if is_due(&ring) {
                break;
            }
            rows.update().recycle_newest(&ring);
        }
        (0..more).for_each(|_| ring.advance_generation());
        rows.catch_up(1 + more, &ring);
        assert!(rows.rows()[place][..7].iter().all(|&word| word == 0), "{more} more shifts meanwhile");
        assert_eq!(Stamp::of_word(rows.rows()[place][7]), Stamp::of_generation(ring.generation()));
    }
}

/// Bits that are still to be cleared count as cleared, at every staleness.
#[test]
fn statistics_see_a_stale_row_as_if_it_were_refreshed() {
    for (mut ring, shape) in shapes().into_iter().filter(|(_, shape)| shape.row_bytes == 64) {
        let mut stale: Rows<8> = rows(shape, 5, &ring);
        for generation in 0..2 * shape.segments {
            for i in 0..7 {
                let item = remix(i, generation.into());
                insert(&mut stale, Portable, item, &ring);
            }
            ring.advance_generation();
            // Without housekeeping, so that rows fall behind.
            stale.ring_was_set(&ring);
            let mut fresh = stale.clone();
            let RowsUpdate { rows, current, .. } = fresh.update();
            rows.iter_mut().for_each(|row| refresh(row, current.get()));
            let held = [&stale, &fresh].map(|rows| rows.by_age(&ring, Sample::ALL));
            for (age, (a, b)) in held[0].iter().zip(&held[1]).enumerate() {
                assert_eq!(a.fill.to_bits(), b.fill.to_bits(), "{shape:?} age {age}");
            }
            let rate = |rows: &Rows<8>| rows.false_positive_rate(&ring, &ring, Sample::ALL).to_bits();
            assert_eq!(rate(&stale), rate(&fresh), "{shape:?}");
        }
    }
}

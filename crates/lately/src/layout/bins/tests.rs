use super::*;
use crate::layout::instructions::Instructions;
use crate::layout::kernel::{AnyKernel, Kernel, Work};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A line as a plain queue of fingerprints with their generations.
#[derive(Default)]
struct PlainLine(VecDeque<(u64, u64)>);

impl PlainLine {
    fn expire(&mut self, now: u64, l: u64) {
        while self.0.front().is_some_and(|(_, generation)| now - generation > l) {
            self.0.pop_front();
        }
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x2545_f491_4f6c_dd1d);
        reduce(self.0, limit)
    }
}

/// Widths with and without a rest, with a rest in one word or across two, with and without unused bits.
fn shapes() -> impl Iterator<Item = BinShape> {
    [(8, 5), (11, 3), (13, 12), (15, 9), (16, 1), (16, 20), (19, 16), (25, 28), (32, 7), (43, 2), (48, 42)]
        .into_iter()
        .map(|(bits, l)| BinShape::new(bits, l).unwrap())
}

struct Follow<const LANE: u32, const RESTS: bool>(BinShape);

impl<const LANE: u32, const RESTS: bool> Work for Follow<LANE, RESTS> {
    type Output = Line;

    /// Compares a line with a plain queue over many shifts, pauses and fingerprints.
    fn call<K: Kernel>(self, kernel: K) -> Line {
        let (shape, format) = (self.0, LineFormat::<LANE, RESTS>::new(self.0));
        let l = u64::from(shape.window_generations);
        let mut random = Random(shape.fingerprint_bits.into());
        let mut ring = Ring::new(1, shape.window_generations);
        let (mut line, mut plain) = ([0; LINE_WORDS], PlainLine::default());
        for _ in 0..20_000 {
            let shifts = match random.below(20) {
                0 => random.below(2 * l + 3),
                1..8 => 1,
                _ => 0,
            };
            (0..shifts).for_each(|_| ring.advance_generation());
            let now = Generation::new(&ring);
            plain.expire(ring.generation(), l);
            // Few different fingerprints, so that many match, in all their bits or only in the lane.
            let spread = (1 << (shape.fingerprint_bits - 3)) + 1;
            let fingerprint = (random.below(5) * spread) & ((1 << shape.fingerprint_bits) - 1);
            let queue = format.queue(kernel, line[HEADER], &now);
            assert_eq!(format.live(queue) as usize, plain.0.len());
            let candidates = format.candidates(kernel, &line, fingerprint);
            let same_lane = format.in_window(queue, candidates);
            let is_equal = |number: &u32| {
                same_lane >> number & 1 == 1
                    && (!format.has_rests() || format.has_equal_rest(&line, queue, *number, fingerprint))
            };
            let matching = (0..shape.entries).filter(is_equal).fold(0_u64, |all, number| all | 1 << number);
            let matches = plain.0.iter().filter(|(other, _)| *other == fingerprint);
            let ages: Vec<u64> = matches.map(|(_, generation)| ring.generation() - generation).collect();
            assert_eq!(matching.count_ones() as usize, ages.len());
            let younger = (matching != 0).then(|| format.younger(matching));
            let age = younger.map(|younger| format.age(kernel, queue, younger));
            assert_eq!(age.map(u64::from), ages.iter().copied().min());
            let of_newest = plain.0.iter().filter(|(_, generation)| *generation == ring.generation());
            assert_eq!(format.newest(queue) as usize, of_newest.count());
            let of_age = |age: u32| {
                plain.0.iter().filter(move |(_, generation)| ring.generation() - generation == u64::from(age))
            };
            let counts: Vec<_> = format.counts(queue).collect();
            assert!(counts.iter().all(|(age, count)| of_age(*age).count() == *count as usize));
            assert_eq!(counts.iter().map(|(_, count)| *count as usize).sum::<usize>(), plain.0.len());
            if random.below(8) == 0 {
                line[HEADER] = format.refreshed(queue, &now);
            } else if let Some(younger) = younger.filter(|_| random.below(2) == 0) {
                format.renew(kernel, &mut line, queue, younger, fingerprint, &now);
                let index = plain.0.len() - 1 - younger as usize;
                assert_eq!(plain.0.remove(index).map(|(renewed, _)| renewed), Some(fingerprint));
                plain.0.push_back((fingerprint, ring.generation()));
            } else if !format.is_full(queue) {
                format.append(
                    &mut line,
                    queue,
                    fingerprint,
                    LineFormat::<LANE, RESTS>::spills(queue, &now),
                    &now,
                );
                plain.0.push_back((fingerprint, ring.generation()));
            }
            assert!(format.is_valid(kernel, &line));
        }
        line
    }
}

#[test]
fn a_line_is_a_queue_with_ages_for_every_instruction_set() {
    for shape in shapes() {
        let lines: Vec<Line> = Instructions::ALL
            .iter()
            .filter_map(|instructions| AnyKernel::new(*instructions))
            .map(|kernel| match shape.fingerprint_bits {
                ..16 => kernel.call(Follow::<8, true>(shape)),
                16 => kernel.call(Follow::<16, false>(shape)),
                _ => kernel.call(Follow::<16, true>(shape)),
            })
            .collect();
        assert!(lines.iter().all(|line| *line == lines[0]), "{shape:?}");
    }
}

#[test]
fn a_spill_mark_stays_for_a_window_and_goes_before_three() {
    let shape = BinShape::new(16, 5).unwrap();
    let format = LineFormat::<16, false>::new(shape);
    for start in 0..20 {
        for steps in [1, 2, 5] {
            let mut ring = Ring::at_generation(1, 5, start);
            let mut line: Line = [0; LINE_WORDS];
            let refresh = |line: &mut Line, ring: &Ring, spill: bool| {
                let now = Generation::new(ring);
                let queue = format.queue(Portable, line[HEADER], &now);
                let written = if spill { format.spilled(queue, &now) } else { format.refreshed(queue, &now) };
                line[HEADER] = written;
            };
            refresh(&mut line, &ring, true);
            for age in 0..18 {
                if age % steps == 0 {
                    refresh(&mut line, &ring, false);
                }
                let is_marked = LineFormat::<16, false>::has_spilled(line[HEADER], &Generation::new(&ring));
                assert!(is_marked || age > 5, "start {start}, age {age}: the item is still in the window");
                assert!(!is_marked || age <= 12, "start {start}, age {age}");
                ring.advance_generation();
            }
        }
    }
}

#[test]
fn an_item_has_an_even_and_an_odd_line() {
    for lines in [2, 4, 10, 32_770, 100_000] {
        let mut hits = [false; 2];
        for item in (0..2000).map(|number| remix(number, 7)) {
            let [even, odd] = locate(item, lines).place;
            assert!(even < lines && odd < lines && even % 2 == 0 && odd % 2 == 1);
            hits[usize::from(even + 1 == odd)] = true;
        }
        assert!(hits[1] || lines > 1000);
        assert!(hits[0] || lines == 2);
    }
}

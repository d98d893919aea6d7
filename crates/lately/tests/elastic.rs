//! Time windows without a capacity: every item of the span is reported and strangers at most at the rate, while the
//! memory follows the traffic.

mod common;

use std::collections::HashMap;
use std::time::Duration;

use lately::{Filter, Overload, Window};

const RATE: f64 = 1e-3;

fn elastic(span_ms: u64) -> Filter {
    let span = Duration::from_millis(span_ms);
    Filter::builder().time_window(span).false_positive_rate(RATE).build().unwrap()
}

/// A small generator of numbers for tests.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        let mixed = (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ mixed >> 32
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Every item of the last span, by its latest time.
struct Exact {
    span_ms: u64,
    times: HashMap<u64, u64>,
}

impl Exact {
    fn insert(&mut self, item: u64, now_ms: u64) {
        self.times.insert(item, now_ms);
    }

    fn is_known(&self, item: u64, now_ms: u64) -> bool {
        self.times.get(&item).is_some_and(|time| now_ms - time <= self.span_ms)
    }

    fn forget_old(&mut self, now_ms: u64) {
        self.times.retain(|_, time| now_ms - *time <= self.span_ms);
    }
}

fn assert_no_item_is_missed(filter: &Filter, exact: &Exact, now_ms: u64, what: &str) {
    for item in exact.times.keys().filter(|item| exact.is_known(**item, now_ms)) {
        assert!(filter.contains(*item), "{what}: item {item} is missed at {now_ms}");
    }
}

/// Traffic changes by a factor of up to a thousand, pauses, repeats itself, and is interrupted by restarts.
#[test]
fn no_item_of_the_span_is_missed_whatever_the_traffic() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let span_ms = [16, 1_000, 60_000, 999_983][random.below(4) as usize];
        let (mut filter, mut exact) = (elastic(span_ms), Exact { span_ms, times: HashMap::new() });
        let (mut now_ms, mut next_item, mut most_bytes) = (1_700_000_000_000, 0, 0);
        for phase in 0..60 {
            let items = match random.below(6) {
                0 => 0,
                1 => 1,
                2 => 20_000 + random.below(30_000),
                _ => random.below(2_000),
            };
            let step_ms = match random.below(5) {
                0 => random.below(3 * span_ms),
                1 => 0,
                _ => random.below(span_ms / 8 + 1),
            };
            if phase > 0 || random.below(2) == 0 {
                now_ms += step_ms;
                filter.advance_to(now_ms);
            }
            let repeats = random.below(2) == 0;
            for _ in 0..items {
                let item = if repeats { random.below(next_item + 1) } else { next_item };
                next_item += 1;
                let known = exact.is_known(item, now_ms);
                let seen = if random.below(2) == 0 {
                    filter.check_and_insert(item)
                } else {
                    filter.contains(item) | filter.check_and_insert(item)
                };
                assert!(seen || !known, "seed {seed}: item {item} is missed at its insert");
                exact.insert(item, now_ms);
            }
            exact.forget_old(now_ms);
            if random.below(4) == 0 {
                let restored = Filter::from_bytes(&filter.to_bytes()).unwrap();
                assert!(restored == filter && restored.to_bytes() == filter.to_bytes());
                filter = restored;
            }
            assert_no_item_is_missed(&filter, &exact, now_ms, &format!("seed {seed}, phase {phase}"));
            // The answers for a later time are those of the filter at that time.
            let later_ms = now_ms + random.below(2 * span_ms);
            let view = filter.as_of(later_ms);
            let mut later = filter.clone();
            later.advance_to(later_ms);
            for item in (0..300).map(|_| random.below(next_item + 10)) {
                assert!(view.contains(item) || !exact.is_known(item, later_ms), "seed {seed}");
                // Shrinking loses nothing, but may let a stranger match.
                assert!(later.contains(item) || !view.contains(item), "seed {seed}: as_of({later_ms})");
            }
            most_bytes = most_bytes.max(filter.memory_bytes());
        }
        assert!(most_bytes > 80_000, "seed {seed}: the filter has grown");
    }
}

/// The rate of strangers right now.
fn rate(filter: &Filter, strangers: u64) -> f64 {
    let reported = (0..strangers).filter(|i| filter.contains(format!("stranger {i}").as_str())).count();
    reported as f64 / strangers as f64
}

fn trace(span_ms: u64, steps: impl Iterator<Item = (u64, u64)>, name: &str) {
    let mut filter = elastic(span_ms);
    let mut next = 0_u64;
    let mut start = None;
    let (mut sum, mut count, mut most, mut worst, mut worst_est) = (0.0, 0_u64, 0, 0.0_f64, 0.0_f64);
    for (i, (now, items)) in steps.enumerate() {
        filter.advance_to(now);
        start.get_or_insert(now);
        for _ in 0..items {
            filter.insert(next);
            next += 1;
        }
        let bytes = filter.memory_bytes();
        sum += bytes as f64;
        count += 1;
        most = most.max(bytes);
        if i % 50 == 0 {
            let statistics = filter.statistics();
            worst_est = worst_est.max(statistics.estimated_false_positive_rate);
            let measured = rate(&filter, 20_000);
            worst = worst.max(measured);
        }
    }
    println!(
        "{name}: mean {:.0} most {most} worst rate {worst:.2e} estimated {worst_est:.2e}",
        sum / count as f64
    );
}

#[test]
#[ignore]
fn show() {
    let t0 = 1_700_000_000_000_u64;
    let span = 600_000;
    trace(span, (0..6000).map(|i| (t0 + i * 1000, 100)), "steady 100/s");
    // 24 hours in steps of 10 s, 10:1
    trace(
        span,
        (0..8640).map(|i| {
            let x = (i as f64 / 8640.0 * std::f64::consts::TAU).cos();
            (t0 + i * 10_000, (1000.0 * (5.5 - 4.5 * x) / 2.0) as u64)
        }),
        "day/night",
    );
    trace(
        span,
        (0..8640).map(|i| {
            let in_burst = i % 720 < 12;
            (t0 + i * 10_000, if in_burst { 2000 } else { 100 })
        }),
        "bursts",
    );
    trace(span, (0..1500).map(|i| (t0 + i * 1_000, if i < 700 { 10 } else { 10_000 })), "jump");
    trace(span, (0..2).map(|i| (t0 + i * 1_000, 5_000_000)), "at once");
}

#[test]
#[ignore]
fn debug() {
    let mut filter = elastic(600_000);
    let t0 = 1_700_000_000_000_u64;
    let mut next = 0u64;
    for i in 0..900 {
        filter.advance_to(t0 + i * 1000);
        for _ in 0..100 {
            filter.insert(next);
            next += 1;
        }
        if i % 30 == 0 || i < 60 {
            let s = filter.statistics();
            println!(
                "{i} bytes {} rate {:.2e} distinct {:.0} fill {:.2} gen {} span {:?}",
                s.memory_bytes,
                s.estimated_false_positive_rate,
                s.estimated_distinct_items,
                s.fill_by_age.iter().sum::<f64>(),
                s.generation,
                filter.guaranteed_window()
            );
        }
    }
}

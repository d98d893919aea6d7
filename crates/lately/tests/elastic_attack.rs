//! Elastic windows under traffic that is meant to break them.

mod common;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use common::{IMPOSSIBLE, Random, chance_of};
use lately::{Filter, Instructions, Overload};

const RATE: f64 = 1e-3;
const START_MS: u64 = 1_700_000_000_000;
const SPAN_MS: u64 = 600_000;

/// The memory of a table of so many blocks, each of 64 lines, and the bytes besides.
fn memory_of(blocks: u64) -> u64 {
    blocks * 4160 + 2_000
}

fn builder() -> lately::Builder {
    Filter::builder().time_window(Duration::from_millis(SPAN_MS)).false_positive_rate(RATE)
}

/// What came before, and has left the window, must not matter.
#[test]
fn a_filter_that_has_shrunk_grows_as_a_new_one() {
    for (many, few) in [(200_000_u64, 3_000_u64), (1_000_000, 10_000)] {
        let mut filter = builder().build().unwrap();
        filter.advance_to(START_MS);
        filter.extend(0..many);
        let mut fresh = builder().build().unwrap();
        for filter in [&mut filter, &mut fresh] {
            filter.advance_to(START_MS + 3 * SPAN_MS);
        }
        for filter in [&mut filter, &mut fresh] {
            filter.extend(many..many + few);
        }
        let (bytes, of_fresh) = (filter.memory_bytes(), fresh.memory_bytes());
        assert!(
            bytes <= of_fresh + of_fresh / 4,
            "{bytes} bytes for {few} items, a new filter takes {of_fresh}"
        );
    }
}

/// The same at the limit: the second burst is small beside the capacity.
#[test]
fn a_window_that_was_full_once_is_not_overloaded_by_a_few_items() {
    for overload in [Overload::KeepWindow, Overload::KeepRate] {
        let mut filter = builder().max_memory(memory_of(32)).overload(overload).build().unwrap();
        let capacity = filter.window().items();
        filter.advance_to(START_MS);
        filter.extend(0..capacity);
        filter.advance_to(START_MS + 3 * SPAN_MS);
        let before = filter.counters().overloaded_generations;
        filter.extend(capacity..capacity + capacity / 4);
        assert_eq!(filter.counters().overloaded_generations, before, "{overload:?}");
        let rate = filter.statistics().estimated_false_positive_rate;
        assert!(rate <= RATE, "{overload:?}: {rate:e}");
    }
}

/// Not every number of lines has the room that is counted on: where one side is divided in part, lines that are not
/// divided get twice the items of the others.
#[test]
fn a_window_at_its_limit_keeps_its_rate_at_its_capacity() {
    for (blocks, overload) in
        (9..48_u64).flat_map(|blocks| Overload::ALL.iter().map(move |policy| (blocks, *policy)))
    {
        let limited = builder().false_positive_rate(1e-2).max_memory(memory_of(blocks));
        let mut filter = limited.overload(overload).build().unwrap();
        let capacity = filter.window().items();
        for step in 0..480 {
            filter.advance_to(START_MS + step * SPAN_MS / 170);
            filter.extend(step * capacity / 182..(step + 1) * capacity / 182);
            let rate = filter.statistics().estimated_false_positive_rate;
            assert!(rate <= 1e-2, "{blocks} blocks, {overload:?}: {rate:.1e}");
        }
    }
}

/// Generations of few items must not be dropped one by one for each of the many that are spilled.
#[test]
fn a_window_that_keeps_its_rate_keeps_it_when_its_oldest_generations_are_small() {
    for blocks in [2, 9, 14, 18, 20, 23, 40, 80] {
        let limited = builder().max_memory(memory_of(blocks)).overload(Overload::KeepRate);
        let mut filter = limited.build().unwrap();
        let mut next = 0;
        for minute in 0..10 {
            filter.advance_to(START_MS + minute * 60_000);
            filter.extend(next..next + 10);
            next += 10;
        }
        for second in 0..60 {
            filter.advance_to(START_MS + 590_000 + second * 100);
            filter.extend(next..next + 1_000);
            next += 1_000;
            let statistics = filter.statistics();
            let rate = statistics.estimated_false_positive_rate;
            assert!(rate <= RATE, "{blocks} blocks, second {second}: {rate:.1e}");
        }
    }
}

/// A smaller table has a smaller spare.
#[test]
fn a_table_that_shrinks_has_room_for_what_it_spilled() {
    let mut filter = builder().max_memory(memory_of(20)).build().unwrap();
    let (burst, few) = (filter.window().items() * 11 / 10, 150);
    filter.advance_to(START_MS);
    filter.extend(0..burst);
    filter.advance_to(START_MS + SPAN_MS / 10);
    filter.extend(burst..burst + few);
    // The burst leaves the window.
    filter.advance_to(START_MS + SPAN_MS + SPAN_MS / 15);
    assert!((burst..burst + few).all(|item| filter.contains(item)));
    let statistics = filter.statistics();
    let (rate, spilled) = (statistics.estimated_false_positive_rate, statistics.estimated_spilled_items);
    assert!(rate <= RATE, "{rate:.1e}, {spilled:.0} items are spilled");
}

/// Whoever knows the seed can choose items that share two lines. They take no memory, and are not forgotten.
#[test]
fn items_that_share_two_lines_neither_fill_the_memory_nor_get_lost() {
    let remix = |hash: u64| {
        let mixed = u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * 0x243f_6a88_85a3_08d3;
        (mixed as u64) ^ ((mixed >> 64) as u64)
    };
    let chosen: Vec<u64> = (0..u64::MAX)
        .map(|number| hash(number) << 9)
        .filter(|hash| remix(*hash) % 512 == 0)
        .take(3_000)
        .collect();
    let mut filter = builder().build().unwrap();
    filter.advance_to(START_MS);
    filter.insert_hash_batch(&chosen);
    assert!(chosen.iter().all(|hash| filter.contains_hash(*hash)));
    assert!(filter.memory_bytes() < 20_000, "{} bytes", filter.memory_bytes());
    // They share their lines with few others.
    let reported = (0..100_000).filter(|number| filter.contains_hash(hash(1 << 63 | number))).count();
    assert!(reported < 3_000, "{reported} of 100000 strangers");
}

/// Only inserts overload a window. A view of a later time answers as the filter will.
#[test]
fn time_alone_drops_nothing() {
    let mut filter = builder().max_memory(60_000).overload(Overload::KeepRate).build().unwrap();
    let mut next = 0;
    for second in 0..900 {
        let now_ms = START_MS + second * 1_000;
        let view = filter.as_of(now_ms);
        let in_view: Vec<bool> = (0..next).step_by(101).map(|item| view.contains(item)).collect();
        filter.advance_to(now_ms);
        let found: Vec<bool> = (0..next).step_by(101).map(|item| filter.contains(item)).collect();
        assert_eq!(found, in_view, "second {second}");
        filter.extend(next..next + 697);
        next += 697;
    }
    assert!(filter.counters().overloaded_generations > 10);
}

/// A burst, few items for a span, and a burst as large as the first, once that has left the window.
#[test]
fn two_bursts_with_few_items_between_them_fit_as_one_does() {
    for (few, overload) in
        [100, 1000, 3000].into_iter().flat_map(|few| [(few, Overload::KeepWindow), (few, Overload::KeepRate)])
    {
        let mut filter = builder().max_memory(memory_of(32)).overload(overload).build().unwrap();
        let burst = filter.window().items() * 8 / 10 - few;
        filter.advance_to(START_MS);
        filter.extend(0..burst);
        let mut next = burst;
        for minute in 1..=10 {
            filter.advance_to(START_MS + minute * SPAN_MS / 10);
            filter.extend(next..next + few / 10);
            next += few / 10;
        }
        filter.advance_to(START_MS + SPAN_MS + SPAN_MS / 15);
        filter.extend(next..next + burst);
        let what = format!("{few} items, {overload:?}");
        assert_eq!(filter.counters().overloaded_generations, 0, "{what}");
        let statistics = filter.statistics();
        let rate = statistics.estimated_false_positive_rate;
        assert!(rate <= RATE, "{what}: {rate:e}");
        let distinct = statistics.estimated_distinct_items;
        assert!(distinct <= 1.05 * (burst + few) as f64, "{what}: {distinct} items");
    }
}

#[test]
fn no_random_traffic_breaks_the_promise() {
    attack(1, 2_000_000);
}

/// `LATELY_PROBES` sets another number of probes, `LATELY_SEED` the first seed.
#[test]
#[ignore = "slow: ./test --full"]
fn no_random_traffic_breaks_the_promise_in_many_probes() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    attack(number("LATELY_SEED", 1_000), number("LATELY_PROBES", 100_000_000));
}

/// Runs streams until so many items of their windows were asked for.
fn attack(first_seed: u64, probes: u64) {
    let mut total = Totals::default();
    let mut streams = 0;
    for seed in first_seed.. {
        let mut stream = Stream::new(seed);
        stream.run();
        total.add(&stream.totals);
        streams += 1;
        if total.probes >= probes {
            break;
        }
    }
    println!("{streams} streams: {total:#?}");
    assert_eq!((total.missed, total.missed_views, total.too_old), (0, 0, 0));
    assert_eq!((total.high_estimates, total.impossible_rates), (0, 0));
}

#[derive(Debug, Default)]
struct Totals {
    inserts: u64,
    /// Questions for items of the window, and those answered with no.
    probes: u64,
    missed: u64,
    /// The same of views of later times.
    probes_of_views: u64,
    missed_views: u64,
    ages: u64,
    too_young: u64,
    too_young_overloaded: u64,
    too_old: u64,
    strangers: u64,
    reported: u64,
    expected: f64,
    /// Streams whose estimate was above their rate while they were not overloaded, and the worst ratio.
    high_estimates: u64,
    worst_estimate: f64,
    impossible_rates: u64,
    /// Streams that never had more than their capacity, and were overloaded.
    needless_overloads: u64,
    overloaded_streams: u64,
    restarts: u64,
    growths: u64,
    shrinks: u64,
    most_bytes: u64,
    /// How much more memory there was than `most_memory_bytes_after` had told.
    worst_surprise: f64,
    slowest_insert_ns: u64,
}

impl Totals {
    fn add(&mut self, other: &Self) {
        self.inserts += other.inserts;
        self.probes += other.probes;
        self.missed += other.missed;
        self.probes_of_views += other.probes_of_views;
        self.missed_views += other.missed_views;
        self.ages += other.ages;
        self.too_young += other.too_young;
        self.too_young_overloaded += other.too_young_overloaded;
        self.too_old += other.too_old;
        self.strangers += other.strangers;
        self.reported += other.reported;
        self.expected += other.expected;
        self.high_estimates += u64::from(other.high_estimates > 0);
        self.worst_estimate = self.worst_estimate.max(other.worst_estimate);
        self.impossible_rates += other.impossible_rates;
        self.needless_overloads += other.needless_overloads;
        self.overloaded_streams += other.overloaded_streams;
        self.restarts += other.restarts;
        self.growths += other.growths;
        self.shrinks += other.shrinks;
        self.worst_surprise = self.worst_surprise.max(other.worst_surprise);
        self.most_bytes = self.most_bytes.max(other.most_bytes);
        self.slowest_insert_ns = self.slowest_insert_ns.max(other.slowest_insert_ns);
    }
}

const NEVER: u64 = u64::MAX;

/// A filter, its twin, which gets every item by itself, and what they must know. Items are consecutive numbers.
struct Stream {
    seed: u64,
    random: Random,
    span_ms: u64,
    rate: f64,
    max_memory: u64,
    overload: Overload,
    filter: Filter,
    twin: Option<Filter>,
    now_ms: Option<u64>,
    inserts: u64,
    /// By item: the time and the number of its last insert.
    last: Vec<(u64, u64)>,
    /// Items in order of their inserts, with the times.
    recent: VecDeque<(u64, u64)>,
    live: u64,
    /// The phases after which the rate counts again.
    overloaded_until: u64,
    overloaded: u64,
    exceeded: bool,
    totals: Totals,
    start: u64,
}

fn one_of<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

fn hash(item: u64) -> u64 {
    Random(item).next()
}

impl Stream {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(77));
        let spans = [1, 2, 5, 16, 17, 100, 1_000, 60_000, 600_000, 999_983, 1 << 35, 1 << 40, 1 << 63];
        let span_ms = one_of(&mut random, &spans);
        let rate = one_of(&mut random, &[0.1, 1e-2, 1e-3, 1e-3, 1e-4, 1e-6, 1e-9]);
        let limits = [None, None, Some(20_000), Some(60_000), Some(100_000), Some(1 << 20), Some(4 << 20)];
        let limit = one_of(&mut random, &limits);
        let overload = one_of(&mut random, &[Overload::KeepWindow, Overload::KeepRate]);
        let mut builder = Filter::builder()
            .time_window(Duration::from_millis(span_ms))
            .false_positive_rate(rate)
            .overload(overload);
        if let Some(limit) = limit {
            builder = builder.max_memory(limit);
        }
        let mut filter = builder.build().unwrap();
        let instructions = one_of(&mut random, Instructions::ALL);
        filter.set_instructions(instructions);
        let twin = (random.below(4) == 0).then(|| {
            let mut twin = filter.clone();
            twin.set_instructions(one_of(&mut random, Instructions::ALL));
            twin
        });
        let start = one_of(&mut random, &[0, START_MS, START_MS + 12_345, u64::MAX / 2]);
        Self {
            seed,
            span_ms,
            rate,
            max_memory: limit.unwrap_or(lately::DEFAULT_ELASTIC_MEMORY),
            overload,
            filter,
            twin,
            now_ms: None,
            inserts: 0,
            last: Vec::new(),
            recent: VecDeque::new(),
            live: 0,
            overloaded_until: 0,
            overloaded: 0,
            exceeded: false,
            totals: Totals::default(),
            start,
            random,
        }
    }

    fn what(&self) -> String {
        let Self { seed, span_ms, rate, max_memory, overload, .. } = self;
        format!("seed {seed}, span {span_ms} ms, rate {rate:e}, {max_memory} bytes, {overload:?}")
    }

    fn run(&mut self) {
        let shape = self.random.below(6);
        let (mut level, mut phase) = (1 + self.random.below(300), 0);
        let phases = 40 + self.random.below(60);
        while phase < phases && self.inserts < 1_500_000 {
            level = match shape {
                // A sawtooth.
                0 => {
                    if level > 60_000 {
                        1
                    } else {
                        2 * level
                    }
                }
                // Jumps by a thousand.
                1 => match self.random.below(12) {
                    0 => (level * 1_000).min(150_000),
                    1 => (level / 1_000).max(1),
                    _ => level,
                },
                // Bursts, silence between them.
                2 => {
                    if self.random.below(9) == 0 {
                        1 + self.random.below(120_000)
                    } else {
                        self.random.below(40)
                    }
                }
                // Up slowly, then down slowly.
                3 => {
                    let at = phase as f64 / phases as f64 * std::f64::consts::TAU * 2.0;
                    (4_000.0 * (1.05 - at.cos())) as u64
                }
                4 => self.random.below(3_000),
                _ => {
                    if self.random.below(20) == 0 {
                        0
                    } else {
                        (1 + self.random.below(1 << 16)) >> self.random.below(16)
                    }
                }
            };
            let span = self.span_ms;
            let step = match self.random.below(9) {
                0 => self.random.below(span.saturating_mul(3).max(1)),
                1 => 0,
                2 => span,
                3 if self.random.below(20) == 0 => span.saturating_mul(1 + self.random.below(100_000)),
                _ => self.random.below(span / 12 + 2),
            };
            if phase > 0 || self.random.below(3) > 0 {
                self.advance(step);
            }
            if self.random.below(25) == 0
                && let Some(now_ms) = self.now_ms
            {
                // The clock goes back.
                let back = now_ms.saturating_sub(1 + self.random.below(1_000));
                self.filter.advance_to(back);
                self.twin.iter_mut().for_each(|twin| twin.advance_to(back));
            }
            self.insert(level);
            if self.random.below(4) == 0 {
                self.restart();
            }
            self.check(phase);
            phase += 1;
        }
        let counters = self.filter.counters();
        self.totals.growths += counters.growths;
        self.totals.shrinks += counters.shrinks;
        self.totals.inserts += self.inserts;
        self.totals.most_bytes = counters.peak_memory_bytes;
        self.totals.overloaded_streams += u64::from(self.overloaded > 0);
        assert!(counters.peak_memory_bytes <= self.max_memory, "{}", self.what());
        if self.overloaded > 0 && !self.exceeded {
            self.totals.needless_overloads += 1;
            println!("{}: overloaded {} times within its capacity", self.what(), self.overloaded);
        }
        let Totals { strangers, reported, .. } = self.totals;
        let is_high = reported as f64 > self.rate * strangers as f64;
        if is_high && chance_of(reported, strangers, self.rate) < IMPOSSIBLE {
            self.totals.impossible_rates += 1;
            println!("{}: {reported} of {strangers} strangers", self.what());
        }
    }

    fn advance(&mut self, step: u64) {
        let now_ms = self.now_ms.map_or(self.start, |now| now.saturating_add(step));
        if self.now_ms.is_none() {
            // What came before counts as inserted now.
            self.last.iter_mut().filter(|(time, _)| *time != NEVER).for_each(|(time, _)| *time = now_ms);
            self.recent.iter_mut().for_each(|(time, _)| *time = now_ms);
        }
        self.now_ms = Some(now_ms);
        self.filter.advance_to(now_ms);
        self.twin.iter_mut().for_each(|twin| twin.advance_to(now_ms));
        while let Some(&(time, item)) = self.recent.front() {
            // A generation longer than the span.
            if now_ms - time <= self.span_ms.saturating_add(self.span_ms / 16 + 1) {
                break;
            }
            self.recent.pop_front();
            self.live -= u64::from(self.last[item as usize].0 == time);
        }
    }

    fn time(&self) -> u64 {
        self.now_ms.unwrap_or(0)
    }

    /// Returns true if the filter must report an item at a time, given how many of the newest inserts are certain.
    fn must_know(&self, item: u64, at_ms: u64, certain: u64) -> bool {
        let Some(&(time, number)) = self.last.get(item as usize) else { return false };
        time != NEVER
            && at_ms - time <= self.span_ms
            && (self.overload == Overload::KeepWindow || number > self.inserts - certain)
    }

    fn insert(&mut self, items: u64) {
        let repeats = self.random.below(4);
        let heartbeat = self.random.below(10) == 0;
        let mut chosen: Vec<u64> = (0..items)
            .map(|_| {
                let next = self.last.len() as u64;
                let is_repeat = match repeats {
                    0 => false,
                    1 => self.random.below(2) == 0,
                    _ => self.random.below(30) == 0,
                };
                if is_repeat && next > 0 {
                    let back = next.min(1 << self.random.below(18));
                    return next - 1 - self.random.below(back);
                }
                self.last.push((NEVER, 0));
                next
            })
            .collect();
        if heartbeat {
            chosen.extend(self.recent.iter().rev().take(20_000).map(|(_, item)| *item));
        }
        let way = self.random.below(5);
        let mut rest = &chosen[..];
        while !rest.is_empty() {
            let most = [1, 1, 7, 64, 100_000][way as usize].min(rest.len() as u64);
            let (batch, others) = rest.split_at(1 + self.random.below(most) as usize);
            rest = others;
            let conditional = self.random.below(5) == 0;
            self.insert_batch(batch, conditional);
        }
    }

    fn insert_batch(&mut self, batch: &[u64], conditional: bool) {
        let certain = self.filter.guaranteed_window();
        let hashes: Vec<u64> = batch.iter().map(|item| hash(*item)).collect();
        let mut seen = vec![false; batch.len()];
        let (before, memory) = (self.filter.counters(), self.filter.memory_bytes());
        let most = self.filter.most_memory_bytes_after(batch.len() as u64);
        let start = Instant::now();
        match (batch.len(), conditional) {
            (1, false) => seen[0] = self.filter.check_and_insert_hash(hashes[0]),
            (1, true) => seen[0] = self.filter.check_or_insert_hash(hashes[0]),
            (_, false) => self.filter.check_and_insert_hash_batch(&hashes, &mut seen),
            (_, true) => self.filter.check_or_insert_hash_batch(&hashes, &mut seen),
        }
        if batch.len() == 1 {
            let took = start.elapsed().as_nanos() as u64;
            self.totals.slowest_insert_ns = self.totals.slowest_insert_ns.max(took);
        }
        let after = self.filter.counters();
        let bytes = self.filter.memory_bytes();
        let surprise = bytes as f64 / most.max(memory) as f64;
        self.totals.worst_surprise = self.totals.worst_surprise.max(surprise);
        assert!(bytes <= self.max_memory, "{}: {bytes}", self.what());
        if let Some(twin) = &mut self.twin {
            for (hash, seen) in hashes.iter().zip(&seen) {
                let of_twin = if conditional {
                    twin.check_or_insert_hash(*hash)
                } else {
                    twin.check_and_insert_hash(*hash)
                };
                assert_eq!(of_twin, *seen, "seed {}", self.seed);
            }
        }
        let is_dropping = self.overload == Overload::KeepRate
            && before.overloaded_generations != after.overloaded_generations;
        let (now_ms, first) = (self.time(), self.inserts);
        for (&item, seen) in batch.iter().zip(seen) {
            let certain = certain + (self.inserts - first);
            if !is_dropping && self.must_know(item, now_ms, certain) {
                self.totals.probes += 1;
                if !seen {
                    self.totals.missed += 1;
                    println!("{}: {item} is missed at its insert", self.what());
                }
            }
            if !conditional || !seen {
                self.inserts += 1;
                let (time, number) = &mut self.last[item as usize];
                let is_new =
                    *time == NEVER || now_ms - *time > self.span_ms.saturating_add(self.span_ms / 16 + 1);
                self.live += u64::from(is_new);
                if *time != now_ms {
                    self.recent.push_back((now_ms, item));
                }
                (*time, *number) = (now_ms, self.inserts);
            }
        }
        assert_eq!(self.filter.counters().inserts, self.inserts);
        self.exceeded |= self.live > self.filter.window().items();
    }

    fn restart(&mut self) {
        self.totals.restarts += 1;
        let restored = if self.random.below(2) == 0 {
            Filter::from_bytes(&self.filter.to_bytes()).unwrap()
        } else {
            let mut restored = Filter::from_blueprint(&self.filter.blueprint()).unwrap();
            let (mut first, words) = (0, self.filter.words());
            while first < words.len() {
                let end = (first + 1 + self.random.below(5_000) as usize).min(words.len());
                restored.set_words(first, &words[first..end]).unwrap();
                first = end;
            }
            restored
        };
        assert!(restored == self.filter && restored.to_bytes() == self.filter.to_bytes(), "{}", self.what());
        let instructions = self.filter.instructions();
        self.filter = restored;
        self.filter.set_instructions(instructions);
    }

    fn check(&mut self, phase: u64) {
        if let Some(twin) = &self.twin {
            assert!(*twin == self.filter, "{}: the twin differs in phase {phase}", self.what());
        }
        let (now_ms, certain) = (self.time(), self.filter.guaranteed_window());
        let later_ms = match self.random.below(4) {
            _ if self.now_ms.is_none() => 0,
            0 => now_ms,
            1 => now_ms.saturating_add(self.random.below(self.span_ms / 16 + 1)),
            2 => now_ms.saturating_add(self.random.below(self.span_ms.saturating_mul(2))),
            _ => now_ms.saturating_add(self.span_ms),
        };
        let view = self.filter.as_of(later_ms);
        let mut later = self.filter.clone();
        later.advance_to(later_ms);
        let certain_later = later.guaranteed_window();
        assert_eq!(view.statistics().latest_ms, later.latest_ms());
        let stride = (self.recent.len() / 8_000).max(1);
        let offset = self.random.below(stride as u64) as usize;
        for (index, &(_, item)) in self.recent.iter().enumerate().skip(offset).step_by(stride) {
            if self.must_know(item, now_ms, certain) {
                self.totals.probes += 1;
                let missed = !self.filter.contains_hash(hash(item));
                self.totals.missed += u64::from(missed);
                if missed {
                    println!("{}: {item} is missed in phase {phase}", self.what());
                }
                if index % 5 == 0 && !missed {
                    let (time, number) = self.last[item as usize];
                    let age = self.filter.age_of_hash(hash(item)).unwrap();
                    let since = self.inserts - number;
                    self.totals.ages += 1;
                    let is_too_young = *age.inserts.end() < since;
                    self.totals.too_young += u64::from(is_too_young && self.overloaded == 0);
                    self.totals.too_young_overloaded += u64::from(is_too_young && self.overloaded > 0);
                    let is_too_old = *age.inserts.start() > since
                        || age
                            .time
                            .is_some_and(|range| *range.start() > Duration::from_millis(now_ms - time));
                    if is_too_old {
                        self.totals.too_old += 1;
                        println!("{}: {item} is too old in phase {phase}", self.what());
                    }
                }
            }
            if index % 3 == 0 {
                let in_view = view.contains_hash(hash(item));
                let in_later = later.contains_hash(hash(item));
                let must_know = later_ms >= now_ms && self.must_know(item, later_ms, certain_later);
                self.totals.probes_of_views += 1;
                if must_know && !in_view || in_view && !in_later {
                    self.totals.missed_views += 1;
                    println!("{}: {item}: {in_view} {in_later} at {later_ms} in phase {phase}", self.what());
                }
            }
        }
        let counters = self.filter.counters();
        if counters.overloaded_generations > self.overloaded {
            self.overloaded = counters.overloaded_generations;
            self.overloaded_until = counters.generation + 27;
        }
        let counts = self.overload == Overload::KeepRate || counters.generation >= self.overloaded_until;
        if counts {
            let strangers = 3_000;
            let reported =
                (0..strangers).filter(|_| self.filter.contains_hash(self.random.next() | 1 << 63)).count();
            self.totals.strangers += strangers;
            self.totals.reported += reported as u64;
            self.totals.expected += self.rate * strangers as f64;
            let estimate = self.filter.statistics().estimated_false_positive_rate;
            let ratio = estimate / self.rate;
            if ratio > 1.0 {
                self.totals.high_estimates += 1;
                let s = self.filter.statistics();
                println!(
                    "{}: estimate {estimate:e} in phase {phase}, {reported}, {} live, {} spilled of {}, overloaded {}, gen {} bytes {}",
                    self.what(),
                    s.estimated_distinct_items,
                    s.estimated_spilled_items,
                    self.filter.window().items(),
                    s.overloaded_generations,
                    s.generation,
                    s.memory_bytes
                );
            }
            self.totals.worst_estimate = self.totals.worst_estimate.max(ratio);
        }
    }
}

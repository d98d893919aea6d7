//! Bins: an item of the window is never missed, at any phase, through restarts, overload and threads.
//!
//! The items are consecutive numbers, so the exact window is a range of numbers, however long a run is.
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

use common::{Random, item};
use lately::{Filter, Instructions, Segment, SharedFilter};

/// The fingerprint bits, and l.
const SHAPES: [(u32, u32); 9] =
    [(8, 1), (9, 7), (13, 13), (16, 20), (16, 42), (19, 16), (25, 3), (40, 5), (56, 5)];
const KINDS: [Kind; 4] = [
    Kind::Count,
    Kind::Time { percent_of_capacity: 50 },
    Kind::Time { percent_of_capacity: 110 },
    Kind::Time { percent_of_capacity: 300 },
];
const SPAN_MS: u64 = 600_000;
/// The probes of one filter: it is filled several times, then the next one starts from the beginning.
const PROBES_PER_FILTER: u64 = 2_000_000;

#[test]
fn items_of_the_window_are_never_missed() {
    soak(4_000_000);
}

/// `LATELY_PROBES` sets another number of probes.
#[test]
#[ignore = "slow: ./test --full"]
fn items_of_the_window_are_never_missed_in_a_billion_probes() {
    let probes =
        std::env::var("LATELY_PROBES").map(|probes| probes.parse().expect("LATELY_PROBES is a number"));
    soak(probes.unwrap_or(1_000_000_000));
}

/// Makes at least this number of probes, split evenly between shapes and kinds of window, and prints the counts.
fn soak(probes: u64) {
    let mut total = Probes::default();
    for kind in KINDS {
        let (start, mut of_kind, mut overloaded) = (Instant::now(), Probes::default(), 0);
        for (fingerprint_bits, l) in SHAPES {
            let least = probes.div_ceil((SHAPES.len() * KINDS.len()) as u64);
            let mut made = 0;
            for seed in 0.. {
                let mut stream = Stream::new(kind, fingerprint_bits, l, seed);
                let least_of_filter = PROBES_PER_FILTER.min(least - made);
                while stream.probes.made < least_of_filter {
                    stream.step();
                }
                overloaded += stream.filter.counters().overloaded_generations;
                of_kind.add(stream.probes);
                made += stream.probes.made;
                if made >= least {
                    break;
                }
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("{kind:?}: {of_kind:?}, {overloaded} overloaded generations, {seconds:.1} s");
        let expects_overload = matches!(kind, Kind::Time { percent_of_capacity: 300 });
        assert!(overloaded > 0 || !expects_overload);
        total.add(of_kind);
    }
    println!("{total:?}");
    assert!(total.made >= probes && total.missed == 0, "{total:?}");
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Count,
    /// The average number of items that come in a span.
    Time {
        percent_of_capacity: u64,
    },
}

/// Questions for items of the window.
#[derive(Clone, Copy, Debug, Default)]
struct Probes {
    made: u64,
    missed: u64,
    by_threads: u64,
}

impl Probes {
    fn add(&mut self, other: Self) {
        self.made += other.made;
        self.missed += other.missed;
        self.by_threads += other.by_threads;
    }

    /// Counts the answers about items of the window.
    fn note(&mut self, seen: &[bool]) {
        self.made += seen.len() as u64;
        self.missed += seen.iter().filter(|seen| !**seen).count() as u64;
    }
}

/// Items that came one after the other.
struct Burst {
    items: Range<u64>,
    /// When the first item came, in the unit of [`Stream::now`].
    start: u64,
}

/// A filter, and the numbers that it has been given.
struct Stream {
    kind: Kind,
    filter: Filter,
    window: u64,
    /// How far the promise goes back from `now`: inserts or milliseconds.
    reach: u64,
    random: Random,
    /// The number of inserts, or the milliseconds. Not from 0, so that a burst can be placed earlier.
    now: u64,
    /// The bursts that may still be in the window, oldest first.
    bursts: VecDeque<Burst>,
    next: u64,
    probes: Probes,
    /// Names the filter in messages.
    name: String,
}

impl Stream {
    fn new(kind: Kind, fingerprint_bits: u32, l: u32, seed: u64) -> Self {
        let window = [300, 4_000, 30_000][(seed as usize + fingerprint_bits as usize) % 3];
        let builder = match kind {
            Kind::Count => Filter::builder().window(window),
            Kind::Time { .. } => {
                Filter::builder().time_window(Duration::from_millis(SPAN_MS)).capacity(window)
            }
        };
        let builder = builder.shape(1, l).segment(Segment::Bins { fingerprint_bits }).seed(seed);
        let filter = builder.build().unwrap();
        let name = format!("{kind:?}, {fingerprint_bits} bits, l = {l}, window {window}, seed {seed}");
        let reach = match kind {
            Kind::Count => filter.guaranteed_window(),
            Kind::Time { .. } => SPAN_MS,
        };
        assert!(matches!(kind, Kind::Time { .. }) || reach >= window, "{name}: {reach}");
        Self {
            kind,
            filter,
            window,
            reach,
            random: Random(seed << 32 | u64::from(fingerprint_bits) << 16 | u64::from(l)),
            now: 1 << 40,
            bursts: VecDeque::new(),
            next: 0,
            probes: Probes::default(),
            name,
        }
    }

    fn is_timed(&self) -> bool {
        matches!(self.kind, Kind::Time { .. })
    }

    /// Lets the time pass or not, inserts some new and old items, and asks for items of the window.
    fn step(&mut self) {
        let count = self.pass_time_and_count_arrivals();
        match self.random.below(8) {
            0 => self.insert_by_threads(count),
            1 => self.restart(),
            _ => self.insert(count),
        }
        self.assert_none_is_missed("by threads");
        self.forget_bursts();
        self.repeat();
        self.assert_none_is_missed("by a repeat");
        self.ask();
        self.assert_none_is_missed("by a query");
    }

    fn assert_none_is_missed(&self, by: &str) {
        assert_eq!(self.probes.missed, 0, "{by}, {}: {:?}, next item {}", self.name, self.probes, self.next);
    }

    /// Returns the number of items that come now. Small and large numbers are about equally frequent, so that
    /// generations end at any place in a burst.
    fn pass_time_and_count_arrivals(&mut self) -> u64 {
        let shift = self.random.below(8);
        match self.kind {
            Kind::Count => self.random.below(((self.window / 4) >> shift).max(2)),
            Kind::Time { percent_of_capacity } => {
                // Sometimes nothing comes for so long that all items leave the window.
                let most_ms = if self.random.below(500) == 0 { 3 * SPAN_MS } else { (SPAN_MS / 4) >> shift };
                let passed = self.random.below(most_ms);
                self.now += passed;
                self.filter.advance_to(self.now);
                let expected = passed.min(SPAN_MS) * self.window * percent_of_capacity / 100 / SPAN_MS;
                self.random.below(2 * expected + 2)
            }
        }
    }

    /// Continues with a filter that was saved and loaded, perhaps on a slower machine.
    fn restart(&mut self) {
        self.filter = Filter::from_bytes(&self.filter.to_bytes()).unwrap();
        let all = Instructions::ALL;
        let on_any = all[self.random.below(all.len() as u64) as usize];
        self.filter.set_instructions(on_any);
    }

    fn insert(&mut self, count: u64) {
        let items: Vec<_> = (self.next..self.next + count).map(item).collect();
        match self.random.below(3) {
            0 => items.iter().for_each(|item| self.filter.insert(item)),
            1 => self.filter.insert_batch(&items),
            _ => self.filter.check_and_insert_batch(&items, &mut vec![false; items.len()]),
        }
        self.came(count, self.now);
        if !self.is_timed() {
            self.now += count;
        }
    }

    fn came(&mut self, count: u64, start: u64) {
        self.bursts.push_back(Burst { items: self.next..self.next + count, start });
        self.next += count;
    }

    /// Two threads insert at the same time, let the time pass, and ask for their own items and for old ones.
    fn insert_by_threads(&mut self, count: u64) {
        const AT_ONCE: u64 = 100;
        let threads = 2;
        let inserts = threads * count;
        let (start, passed) = if self.is_timed() {
            (self.now, self.random.below(SPAN_MS / 8))
        } else {
            (self.now - inserts, inserts)
        };
        let (now, later) = (self.now, self.now + passed);
        let old = self.sample(later);
        let shared = &SharedFilter::try_from(self.filter.clone()).unwrap();
        let (is_timed, next) = (self.is_timed(), self.next);
        let work = |thread: u64| {
            let old = &old;
            move || {
                let mut probes = Probes::default();
                let own: Vec<_> = (0..count).map(|number| item(next + thread * count + number)).collect();
                let mut inserted = 0;
                for chunk in own.chunks(AT_ONCE as usize) {
                    if is_timed {
                        shared.advance_to(now + passed * inserted as u64 / count);
                    }
                    match inserted % 3 {
                        0 => shared.insert_batch(chunk),
                        1 => shared.check_and_insert_batch(chunk, &mut vec![false; chunk.len()]),
                        _ => chunk.iter().for_each(|item| shared.insert(item)),
                    }
                    inserted += chunk.len();
                    for items in [&own[inserted.saturating_sub(3 * AT_ONCE as usize)..inserted], &old[..]] {
                        let mut seen = vec![false; items.len()];
                        shared.contains_batch(items, &mut seen);
                        probes.note(&seen);
                    }
                }
                if is_timed {
                    shared.advance_to(later);
                }
                probes
            }
        };
        let made = std::thread::scope(|scope| {
            let threads = [0, 1].map(|thread| scope.spawn(work(thread)));
            threads.map(|thread| thread.join().unwrap())
        });
        made.iter().for_each(|&probes| self.probes.add(Probes { by_threads: probes.made, ..probes }));
        self.filter = shared.to_filter();
        // The threads insert in any order. The burst is placed so early that no item counts as younger than it is.
        self.came(inserts, start);
        self.now = later;
    }

    /// Inserts items of the window again. Only the filter takes them for younger than before.
    fn repeat(&mut self) {
        if self.random.below(4) != 0 {
            return;
        }
        let (most, counts) = (self.window / 16, !self.is_timed());
        // Repeats count as inserts, so items may leave the window before it is their turn.
        let mut items = self.sample(if counts { self.now + most } else { self.now });
        items.retain(|_| self.random.below(8) == 0);
        items.truncate(most as usize);
        let mut seen = vec![false; items.len()];
        if self.random.below(2) == 0 {
            self.filter.check_or_insert_batch(&items, &mut seen);
        } else {
            self.filter.check_and_insert_batch(&items, &mut seen);
            self.now += if counts { items.len() as u64 } else { 0 };
        }
        self.probes.note(&seen);
    }

    fn ask(&mut self) {
        let later = if self.is_timed() { self.now + self.random.below(SPAN_MS) } else { self.now };
        let items = self.sample(self.now);
        let mut seen = vec![false; items.len()];
        match self.random.below(4) {
            0 => {
                let of_later = self.sample(later);
                seen.truncate(of_later.len());
                self.filter.as_of(later).contains_batch(&of_later, &mut seen);
            }
            1 => items.iter().zip(&mut seen).for_each(|(item, seen)| *seen = self.filter.contains(item)),
            _ => self.filter.contains_batch(&items, &mut seen),
        }
        self.probes.note(&seen);
    }

    /// Returns items of the window as it will be at `later` if nothing else comes: the oldest, the newest, and some
    /// from everywhere between.
    fn sample(&mut self, later: u64) -> Vec<[u8; 8]> {
        const ENDS: u64 = 50;
        const BETWEEN: u64 = 900;
        let window = self.oldest(later)..self.next;
        let count = window.end - window.start;
        if count <= BETWEEN {
            return window.map(item).collect();
        }
        let offset = self.random.below(count);
        let between = (0..BETWEEN).map(|number| window.start + (number * count + offset) / BETWEEN);
        let ends = (window.start..window.start + ENDS).chain(window.end - ENDS..window.end);
        ends.chain(between).map(item).collect()
    }

    /// Returns the oldest item that is in the window at `later`, or the next one that will come.
    fn oldest(&self, later: u64) -> u64 {
        let of_window = |burst: &Burst| self.of_window(burst, later).next();
        self.bursts.iter().find_map(of_window).unwrap_or(self.next)
    }

    /// Returns the items of the burst that are in the window at `later`.
    fn of_window(&self, burst: &Burst, later: u64) -> Range<u64> {
        let from = later - self.reach;
        let left = match self.kind {
            Kind::Count => from.saturating_sub(burst.start).min(burst.items.end - burst.items.start),
            Kind::Time { .. } if burst.start >= from => 0,
            Kind::Time { .. } => burst.items.end - burst.items.start,
        };
        burst.items.start + left..burst.items.end
    }

    fn forget_bursts(&mut self) {
        while self.bursts.front().is_some_and(|burst| self.of_window(burst, self.now).is_empty()) {
            self.bursts.pop_front();
        }
    }
}

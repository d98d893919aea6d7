//! The cost of sharing a filter for one thread, and its gain for two: every operation, one key at a time and
//! in batches, in alternating rounds.

use std::time::Instant;

use lately::{Builder, Filter, Layout, Segment, SharedFilter};
use serde_json::{Value, json};

use super::ratios::{Ratio, median};
use super::{KEYS, warm_ups};

/// The work that one thread and two threads are compared with, in nanoseconds of one thread: some ten
/// milliseconds for each of two, so that it matters little if the system starts both on one core.
const WORK: f64 = 2e7;
/// The fewest and the most batches of this work.
const BATCHES: (u64, u64) = (8, 64);

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Insert,
    ContainsKnown,
    ContainsNew,
    CheckAndInsert,
    CheckOrInsert,
}

/// An operation, one key at a time or in batches.
#[derive(Clone, Copy)]
struct Task {
    operation: Operation,
    is_batched: bool,
}

impl Task {
    fn all() -> impl Iterator<Item = Self> {
        let operations = [
            Operation::Insert,
            Operation::ContainsKnown,
            Operation::ContainsNew,
            Operation::CheckAndInsert,
            Operation::CheckOrInsert,
        ];
        operations
            .into_iter()
            .flat_map(|operation| [false, true].map(|is_batched| Self { operation, is_batched }))
    }

    fn name(self) -> String {
        let name = match self.operation {
            Operation::Insert => "insert",
            Operation::ContainsKnown => "contains, known",
            Operation::ContainsNew => "contains, new",
            Operation::CheckAndInsert => "check_and_insert",
            Operation::CheckOrInsert => "check_or_insert",
        };
        if self.is_batched { format!("{name}, batched") } else { name.into() }
    }

    fn inserts(self) -> bool {
        !matches!(self.operation, Operation::ContainsKnown | Operation::ContainsNew)
    }

    /// Asserts that the answers for a batch are right.
    fn check(self, seen: &[bool]) {
        let reported = seen.iter().filter(|&&seen| seen).count();
        match self.operation {
            Operation::Insert => {}
            Operation::ContainsKnown => assert_eq!(reported, seen.len(), "a false negative"),
            // 50 of 50 000 are promised.
            _ => assert!(reported < 200, "{reported} of {} new keys are reported", seen.len()),
        }
    }
}

/// Performs a task on a `Filter` or a `SharedFilter`: both have the methods, but under different `self`s.
macro_rules! perform {
    ($filter:expr, $task:expr, $keys:expr, $seen:expr) => {{
        let (filter, keys, seen) = ($filter, $keys, $seen);
        let single = keys.iter().zip(seen.iter_mut());
        match ($task.operation, $task.is_batched) {
            (Operation::Insert, false) => keys.iter().for_each(|key| filter.insert(key)),
            (Operation::Insert, true) => filter.insert_batch(keys),
            (Operation::ContainsKnown | Operation::ContainsNew, false) => {
                single.for_each(|(key, seen)| *seen = filter.contains(key));
            }
            (Operation::ContainsKnown | Operation::ContainsNew, true) => filter.contains_batch(keys, seen),
            (Operation::CheckAndInsert, false) => {
                single.for_each(|(key, seen)| *seen = filter.check_and_insert(key));
            }
            (Operation::CheckAndInsert, true) => filter.check_and_insert_batch(keys, seen),
            (Operation::CheckOrInsert, false) => {
                single.for_each(|(key, seen)| *seen = filter.check_or_insert(key));
            }
            (Operation::CheckOrInsert, true) => filter.check_or_insert_batch(keys, seen),
        }
    }};
}

fn on_filter(filter: &mut Filter, task: Task, keys: &[Key], seen: &mut [bool]) {
    perform!(filter, task, keys, seen);
}

fn on_shared(filter: &SharedFilter, task: Task, keys: &[Key], seen: &mut [bool]) {
    perform!(filter, task, keys, seen);
}

type Key = [u8; 8];
type Batch = Vec<Key>;

/// Measures a `Filter`, and a `SharedFilter` with one and two threads. Blocks and slices are measured for
/// information: in one window, in fewer rounds.
pub(crate) fn measure(window: u64, rounds: usize) -> Vec<Value> {
    let builder = Filter::builder().window(window);
    let promised = builder.clone().false_positive_rate(1e-3);
    let rows = Segment::Rows { row_bytes: 64, parts: 2 };
    let mut layouts = vec![
        ("bins", promised.clone().layout(Layout::Bins), rounds),
        ("rows of 64 bytes", promised.shape(5, 10).segment(rows), rounds),
    ];
    if window == 10_000_000 {
        let blocks = Segment::Blocks { block_bits: 512, bits_per_block: 4 };
        let few = rounds.div_ceil(4).max(5);
        layouts.push(("blocks (3, 5, 512, 4)", builder.clone().shape(3, 5).segment(blocks), few));
        layouts.push(("slices (12, 14)", builder.shape(12, 14), few));
    }
    let of_layout = |(name, builder, rounds): (&str, Builder, usize)| {
        eprintln!("window {window}: threads, {name}");
        let mut pair = Pair::filled(&builder, window);
        Task::all().map(|task| pair.measure(task, rounds).to_json(name, task, window)).collect::<Vec<_>>()
    };
    layouts.into_iter().flat_map(of_layout).collect()
}

/// A filter and a shared one, with the same keys.
struct Pair {
    own: Filter,
    shared: SharedFilter,
    window: u64,
    /// All keys below this one have been inserted into both.
    next: u64,
    /// Keys from here on have not been asked for.
    next_stranger: u64,
}

/// Nanoseconds per key, for each round.
#[derive(Default)]
struct Times {
    /// Of one batch.
    own: Vec<f64>,
    shared: Vec<f64>,
    /// Of many batches, in the same shared filter.
    one_thread: Vec<f64>,
    two_threads: Vec<f64>,
}

impl Pair {
    fn filled(builder: &Builder, window: u64) -> Self {
        let own = builder.build().expect("a valid promise");
        let shared = builder.build_shared().expect("a valid promise");
        let mut pair = Self { own, shared, window, next: 0, next_stranger: 1 << 50 };
        pair.insert(3 * window);
        pair
    }

    /// Inserts at least this many new keys into both, in order.
    fn insert(&mut self, keys: u64) {
        for _ in 0..keys.div_ceil(KEYS) {
            let batch = self.new_keys();
            self.own.insert_batch(&batch);
            self.shared.insert_batch(&batch);
        }
    }

    fn new_keys(&mut self) -> Batch {
        self.next += KEYS;
        (self.next - KEYS..self.next).map(u64::to_le_bytes).collect()
    }

    /// Returns batches of keys for a task.
    fn batches(&mut self, task: Task, count: u64) -> Vec<Batch> {
        let known = |pair: &Self, batch: u64| -> Batch {
            // Keys of all ages, up to half a window; the step is a prime.
            let places = (batch * KEYS..(batch + 1) * KEYS).map(|i| i * 7_919 % (pair.window / 2));
            places.map(|place| (pair.next - 1 - place).to_le_bytes()).collect()
        };
        let strangers = |pair: &mut Self| -> Batch {
            pair.next_stranger += KEYS;
            (pair.next_stranger - KEYS..pair.next_stranger).map(u64::to_le_bytes).collect()
        };
        let batch = |number| match task.operation {
            Operation::ContainsKnown => known(self, number),
            Operation::ContainsNew => strangers(self),
            _ => self.new_keys(),
        };
        (0..count).map(batch).collect()
    }

    fn measure(&mut self, task: Task, rounds: usize) -> Times {
        // Two threads may have inserted the last keys in any order, and one of them its own long after the
        // other. The known keys of a task are in the window for certain.
        self.insert(self.window / 2);
        self.check(task);
        let mut times = Times::default();
        let mut count = BATCHES.0;
        for round in 0..rounds {
            let batches = self.batches(task, warm_ups(self.window) + 1);
            let own = timed(&batches, task, |batch, seen| on_filter(&mut self.own, task, batch, seen));
            let shared = timed(&batches, task, |batch, seen| on_shared(&self.shared, task, batch, seen));
            times.own.extend(own.last());
            times.shared.extend(shared.last());
            if round == 0 {
                let batches = (WORK / (median(&shared) * KEYS as f64)) as u64;
                count = batches.clamp(BATCHES.0, BATCHES.1).next_multiple_of(2);
            }
            times.one_thread.push(self.time_threads(task, count, on_one_thread));
            times.two_threads.push(self.time_threads(task, count, on_two_threads));
        }
        times
    }

    /// Returns the nanoseconds per key that threads take for this many batches.
    fn time_threads(&mut self, task: Task, count: u64, work: fn(&SharedFilter, Task, &[Batch])) -> f64 {
        let batches = self.batches(task, count);
        let start = Instant::now();
        work(&self.shared, task, &batches);
        let ns = start.elapsed().as_nanos() as f64 / (count * KEYS) as f64;
        self.catch_up(task, &batches);
        ns
    }

    /// Gives the keys that threads have inserted to the other filter.
    fn catch_up(&mut self, task: Task, batches: &[Batch]) {
        if task.inserts() {
            batches.iter().for_each(|batch| self.own.insert_batch(batch));
        }
    }

    /// Asserts that two threads give right answers and lose no key: the batches have fewer keys than the
    /// window, so all must be reported. `check_or_insert` does not insert a new key that it mistakes for a
    /// known one, and forgets it with that one.
    fn check(&mut self, task: Task) {
        let batches = self.batches(task, BATCHES.0);
        on_two_threads(&self.shared, task, &batches);
        self.catch_up(task, &batches);
        let mut seen = vec![false; KEYS as usize];
        for batch in batches.iter().filter(|_| task.inserts()) {
            self.shared.contains_batch(batch, &mut seen);
            let lost = seen.iter().filter(|&&seen| !seen).count();
            let most = if task.operation == Operation::CheckOrInsert { 200 } else { 0 };
            assert!(lost <= most, "{}: {lost} false negatives", task.name());
        }
    }
}

/// Performs the task on all batches.
fn on_one_thread(shared: &SharedFilter, task: Task, batches: &[Batch]) {
    timed(batches, task, |batch, seen| on_shared(shared, task, batch, seen));
}

/// Performs the task on all batches; each thread takes half of them.
fn on_two_threads(shared: &SharedFilter, task: Task, batches: &[Batch]) {
    let (one, other) = batches.split_at(batches.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| on_one_thread(shared, task, one));
        on_one_thread(shared, task, other);
    });
}

/// Returns the nanoseconds per key for each batch, and checks the answers.
fn timed(batches: &[Batch], task: Task, mut perform: impl FnMut(&[Key], &mut [bool])) -> Vec<f64> {
    let mut seen = vec![false; KEYS as usize];
    let time_of = |batch: &Batch| {
        let start = Instant::now();
        perform(batch, &mut seen);
        let ns = start.elapsed().as_nanos() as f64 / KEYS as f64;
        task.check(&seen);
        ns
    };
    batches.iter().map(time_of).collect()
}

impl Times {
    fn to_json(&self, layout: &str, task: Task, window: u64) -> Value {
        json!({
            "layout": layout,
            "operation": task.name(),
            "window": window,
            "filter_ns": median(&self.own),
            "shared_ns": median(&self.shared),
            "one_thread_over_filter": Ratio::new(&self.shared, &self.own).to_json(),
            "one_thread_ns": median(&self.one_thread),
            "two_threads_ns": median(&self.two_threads),
            "two_threads_speedup": Ratio::new(&self.one_thread, &self.two_threads).to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_measured_on_every_layout_and_answers_are_right() {
        let window = 500_000;
        let builder = Filter::builder().window(window).false_positive_rate(1e-3);
        for layout in [Layout::Bins, Layout::Rows] {
            let mut pair = Pair::filled(&builder.clone().layout(layout), window);
            for task in Task::all() {
                let times = pair.measure(task, 1);
                let Times { own, shared, one_thread, two_threads } = &times;
                assert!([own, shared, one_thread, two_threads].iter().all(|times| times.len() == 1));
                assert!(times.to_json("", task, window)["two_threads_speedup"]["median"].is_f64());
            }
        }
        let names: std::collections::HashSet<String> = Task::all().map(Task::name).collect();
        assert_eq!(names.len(), 10);
    }
}

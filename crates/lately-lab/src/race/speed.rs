//! The time of an insert and of a query. Contenders take turns, round by round; the result is the median over
//! short stretches of the rounds. A busy machine puts a thread to sleep every few milliseconds, which hits
//! few stretches this short. Then single operations are timed one by one, to find the slowest in a thousand.

use std::hint::black_box;
use std::time::Instant;

use super::streams::STRANGERS;
use crate::rivals::{Random, Rival, hash_of};

/// Nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speed {
    pub(super) insert: Times,
    /// Half of them for items of the window, half for strangers.
    pub(super) query: Times,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) mean: f64,
    /// 99.9% of single operations take at most this long, including the clock's own time.
    pub(super) p999: f64,
}

/// The number of operations to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    /// Operations per round.
    pub(super) operations: usize,
    /// Operations timed one by one.
    pub(super) singles: usize,
}

/// `hashes` is the stream up to the last insert that the rivals have seen.
pub(super) fn measure(
    rivals: &mut [Box<dyn Rival>],
    hashes: &[u64],
    window: u64,
    effort: Effort,
) -> Vec<Speed> {
    let mut rounds: Vec<[Vec<f64>; 2]> = rivals.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    let mut random = Random::new(9);
    let mut fresh = Fresh(STRANGERS * 2);
    let mut stranger = Fresh(STRANGERS * 3);
    for _ in 0..effort.rounds {
        let queries = queries(hashes, window, effort.operations, &mut random, &mut stranger);
        let inserts = fresh.take(effort.operations);
        for (rival, [insert, query]) in rivals.iter_mut().zip(&mut rounds) {
            // Queries first: a filter that never forgets must not be queried when it is overfull.
            query.extend(nanos_each(&queries, |stretch| {
                black_box(rival.count_contained(stretch));
            }));
            insert.extend(nanos_each(&inserts, |stretch| rival.insert_all(stretch)));
        }
    }
    let queries = queries(hashes, window, effort.singles, &mut random, &mut stranger);
    let inserts = fresh.take(effort.singles);
    let singles = rivals.iter_mut().map(|rival| {
        let query = slowest(&queries, |hash| {
            black_box(rival.contains(hash));
        });
        (slowest(&inserts, |hash| rival.insert(hash)), query)
    });
    let singles: Vec<(f64, f64)> = singles.collect();
    let results = rounds.into_iter().zip(singles);
    results
        .map(|([insert, query], (slow_insert, slow_query))| Speed {
            insert: Times { mean: median(insert), p999: slow_insert },
            query: Times { mean: median(query), p999: slow_query },
        })
        .collect()
}

/// Returns the time that it takes to time nothing.
pub(super) fn clock_nanos() -> f64 {
    let starts: Vec<f64> = (0..10_001).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
    median(starts)
}

/// Generates items that were not used before.
struct Fresh(u64);

impl Fresh {
    fn take(&mut self, count: usize) -> Vec<u64> {
        let first = self.0;
        self.0 += count as u64;
        (first..self.0).map(hash_of).collect()
    }
}

/// Returns queries for known items and strangers in turn. Known items are from the newer half of the window,
/// so that they do not expire during rounds of inserts.
fn queries(
    hashes: &[u64],
    window: u64,
    count: usize,
    random: &mut Random,
    strangers: &mut Fresh,
) -> Vec<u64> {
    let mut queries = strangers.take(count);
    for query in queries.iter_mut().step_by(2) {
        *query = hashes[hashes.len() - 1 - random.below(window as usize / 2)];
    }
    queries
}

/// Returns the nanoseconds per operation for each stretch.
fn nanos_each(operations: &[u64], mut run: impl FnMut(&[u64])) -> Vec<f64> {
    const STRETCH: usize = 500;
    let time = |stretch: &[u64]| {
        let start = Instant::now();
        run(stretch);
        start.elapsed().as_nanos() as f64 / stretch.len() as f64
    };
    operations.chunks(STRETCH).map(time).collect()
}

/// Returns the nanoseconds that 99.9% of the operations do not exceed.
fn slowest(operations: &[u64], mut run: impl FnMut(u64)) -> f64 {
    let time = |&hash: &u64| {
        let start = Instant::now();
        run(hash);
        start.elapsed().as_nanos() as f64
    };
    let mut times: Vec<f64> = operations.iter().map(time).collect();
    times.sort_by(f64::total_cmp);
    times[(times.len() * 999 / 1000).min(times.len() - 1)]
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

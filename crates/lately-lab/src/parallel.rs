//! Runs jobs on one thread per core.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all jobs; returns the results in the order of the jobs.
pub(crate) fn in_parallel<'a, T: Sync, R: Send>(jobs: &'a [T], run: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { return };
                    let result = run(job);
                    *results[i].lock().expect("no other thread holds this lock") = Some(result);
                }
            });
        }
    });
    let taken = results.into_iter().map(|result| result.into_inner().expect("no thread has panicked"));
    taken.map(|result| result.expect("every job was taken")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..1000).collect();
        let squares: Vec<u64> = jobs.iter().map(|job| job * job).collect();
        assert_eq!(in_parallel(&jobs, |job| job * job), squares);
        assert!(in_parallel(&[], |job: &u64| *job).is_empty());
    }
}

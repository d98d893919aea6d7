//! The questions of a race: at some moments of a stream, about items of the window, items that have left it,
//! and strangers.

use std::collections::HashMap;

use super::streams::STRANGERS;
use crate::rivals::hash_of;

/// The number of questions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    pub(super) moments: usize,
    /// How far back questions go beyond the window, in windows. Reports of even older items do not count as
    /// slack.
    pub(super) slack_windows: usize,
    /// The maximum at each moment, as in the fields below.
    pub(super) window_items: usize,
    pub(super) expired_items: usize,
    pub(super) strangers: usize,
    /// Additional questions for contenders that report few strangers.
    pub(super) more_strangers: usize,
}

/// The questions at one moment, by their true answers.
pub(super) struct Moment {
    /// The number of inserts made so far.
    pub(super) inserts: usize,
    /// All of these are in the window.
    pub(super) window: Vec<u64>,
    /// For each of these, the number of inserts after its last one.
    pub(super) window_ages: Vec<u64>,
    /// None of these is in the window, but all were inserted at most `slack_windows` windows before it.
    pub(super) expired: Vec<u64>,
    /// The number of all these items; `expired` may be a sample of them.
    pub(super) expired_in_all: usize,
    pub(super) strangers: Vec<u64>,
    pub(super) more_strangers: Vec<u64>,
}

/// Returns the number of inserts after which all moments have passed.
pub(super) fn stream_length(window: u64, sampling: &Sampling) -> usize {
    (sampling.slack_windows + 2) * window as usize
}

/// Returns moments spread evenly over the last window of a stream. They meet all phases of a contender's
/// generations, however long these are, because multiples of the golden ratio leave no gaps.
pub(super) fn moments(items: &[u64], window: u64, sampling: &Sampling) -> Vec<Moment> {
    let window = window as usize;
    let first = (sampling.slack_windows + 1) * window;
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    let mut times: Vec<usize> = (1..=sampling.moments)
        .map(|i| first + ((i as f64 * golden).fract() * window as f64) as usize)
        .collect();
    times.sort_unstable();
    let history = History { items, next: next_sightings(items) };
    times.iter().enumerate().map(|(i, &time)| history.moment(window, time, i, sampling)).collect()
}

struct History<'a> {
    items: &'a [u64],
    /// For each arrival, the next arrival of the same item.
    next: Vec<usize>,
}

fn next_sightings(items: &[u64]) -> Vec<usize> {
    let mut later = HashMap::new();
    let mut next: Vec<usize> =
        (0..items.len()).rev().map(|i| later.insert(items[i], i).unwrap_or(usize::MAX)).collect();
    next.reverse();
    next
}

impl History<'_> {
    fn moment(&self, window: usize, inserts: usize, number: usize, sampling: &Sampling) -> Moment {
        // Only the last sighting of each item up to now.
        let last_sightings = |from: usize, to: usize| -> Vec<usize> {
            let arrivals = (inserts - to..inserts - from).rev();
            arrivals.filter(|&i| self.next[i] >= inserts).collect()
        };
        let hashes = |arrivals: &[usize]| arrivals.iter().map(|&i| hash_of(self.items[i])).collect();
        let in_window = evenly(&last_sightings(0, window), sampling.window_items);
        let expired = last_sightings(window, (sampling.slack_windows + 1) * window);
        let all_strangers = (sampling.strangers + sampling.more_strangers) as u64;
        let first_stranger = STRANGERS + number as u64 * all_strangers;
        let mut strangers: Vec<u64> = (first_stranger..first_stranger + all_strangers).map(hash_of).collect();
        let more_strangers = strangers.split_off(sampling.strangers);
        Moment {
            inserts,
            window: hashes(&in_window),
            window_ages: in_window.iter().map(|&i| (inserts - 1 - i) as u64).collect(),
            expired_in_all: expired.len(),
            expired: hashes(&evenly(&expired, sampling.expired_items)),
            strangers,
            more_strangers,
        }
    }
}

/// Returns at most `count` arrivals, spread evenly over `all`, with the first and the last among them.
fn evenly(all: &[usize], count: usize) -> Vec<usize> {
    let chosen = count.min(all.len());
    (0..chosen).map(|i| all[i * (all.len() - 1) / (chosen - 1).max(1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::streams::Stream;
    use crate::rivals::{ExactWindow, Rival as _};

    #[test]
    fn an_exact_window_answers_all_questions_correctly() {
        let sampling = Sampling {
            moments: 5,
            slack_windows: 3,
            window_items: 400,
            expired_items: 900,
            strangers: 50,
            more_strangers: 20,
        };
        for stream in Stream::ALL {
            let items = stream.items(500, stream_length(500, &sampling));
            let moments = moments(&items, 500, &sampling);
            assert_eq!(moments.len(), 5);
            let mut exact = ExactWindow::new(500);
            let mut inserted = 0;
            for moment in moments {
                items[inserted..moment.inserts].iter().for_each(|&item| exact.insert(hash_of(item)));
                inserted = moment.inserts;
                assert!(moment.window.iter().all(|&hash| exact.contains(hash)), "{stream:?}");
                assert!(!moment.expired.iter().any(|&hash| exact.contains(hash)), "{stream:?}");
                assert!(
                    !moment.strangers.iter().chain(&moment.more_strangers).any(|&hash| exact.contains(hash)),
                    "{stream:?}"
                );
                for (hash, &age) in moment.window.iter().zip(&moment.window_ages) {
                    let last = items[..inserted].iter().rposition(|&item| hash_of(item) == *hash);
                    assert_eq!(last, Some(inserted - 1 - age as usize), "{stream:?}");
                }
                assert!(moment.window.len() <= 400 && moment.expired.len() <= 900);
                assert!(stream != Stream::Distinct || moment.expired_in_all == 1500);
            }
        }
    }
}

//! The accuracy of one contender in one stream: the items that it reports wrongly, and those that it fails to
//! report.

use std::ops::RangeInclusive;

use super::moments::Moment;
use crate::rivals::Rival;

/// Questions and reports over all moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Accuracy {
    pub(super) window_queries: u64,
    pub(super) false_negatives: u64,
    pub(super) stranger_queries: u64,
    pub(super) false_positives: u64,
    /// Just-expired items that are reported, divided by the window: mean and maximum over the moments. `None`
    /// for filters that never forget.
    pub(super) slack: Option<Slack>,
    /// `None` for filters that tell no ages.
    pub(super) ages: Option<AgeErrors>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slack {
    pub(super) mean: f64,
    pub(super) peak: f64,
}

/// How far the ages that a contender tells for items of the window are off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AgeErrors {
    pub(super) told: u64,
    /// The number of ranges that do not contain the true age.
    pub(super) wrong: u64,
    /// The sum of the distances, in inserts, from the middle of the range to the true age.
    distances: f64,
    largest: f64,
}

impl AgeErrors {
    fn add(&mut self, range: &RangeInclusive<u64>, age: u64) {
        let distance = (range.start().midpoint(*range.end()) as f64 - age as f64).abs();
        self.told += 1;
        self.wrong += u64::from(!range.contains(&age));
        self.distances += distance;
        self.largest = self.largest.max(distance);
    }

    /// Returns the mean distance, in inserts.
    pub(super) fn mean(&self) -> f64 {
        self.distances / self.told as f64
    }

    /// Returns the largest distance, in inserts.
    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    pub(super) fn wrong_share(&self) -> f64 {
        self.wrong as f64 / self.told as f64
    }
}

/// Contenders that report fewer strangers than this at the first moment get more stranger queries at the
/// others.
const RARE: u64 = 10;

impl Accuracy {
    fn ask_ages(&mut self, rival: &dyn Rival, moment: &Moment) {
        for (&hash, &age) in moment.window.iter().zip(&moment.window_ages) {
            if let Some(range) = rival.age_of(hash) {
                self.ages.get_or_insert_default().add(&range, age);
            }
        }
    }

    /// Returns how many of them are reported.
    fn ask_strangers(&mut self, rival: &dyn Rival, strangers: &[u64]) -> u64 {
        let reported = rival.count_contained(strangers);
        self.stranger_queries += strangers.len() as u64;
        self.false_positives += reported;
        reported
    }

    pub(super) fn false_negative_rate(&self) -> f64 {
        self.false_negatives as f64 / self.window_queries as f64
    }

    pub(super) fn false_positive_rate(&self) -> f64 {
        self.false_positives as f64 / self.stranger_queries as f64
    }
}

/// Feeds the stream and asks at every moment.
pub(super) fn measure(rival: &mut dyn Rival, hashes: &[u64], window: u64, moments: &[Moment]) -> Accuracy {
    if !rival.forgets() {
        return measure_once(rival, hashes, window, moments);
    }
    let mut accuracy = Accuracy::default();
    let mut slacks = Vec::new();
    let mut inserted = 0;
    let mut is_rarely_mistaken = false;
    for moment in moments {
        rival.insert_all(&hashes[inserted..moment.inserts]);
        inserted = moment.inserts;
        accuracy.window_queries += moment.window.len() as u64;
        accuracy.false_negatives += moment.window.len() as u64 - rival.count_contained(&moment.window);
        accuracy.ask_ages(rival, moment);
        let strangers = accuracy.ask_strangers(rival, &moment.strangers);
        if is_rarely_mistaken {
            accuracy.ask_strangers(rival, &moment.more_strangers);
        }
        // Decided once, so that the number of questions does not depend on later answers.
        is_rarely_mistaken |= slacks.is_empty() && strangers < RARE;
        let reported = rival.count_contained(&moment.expired) as f64 / moment.expired.len() as f64;
        // Expired items are false positives as often as strangers are; these do not count as slack.
        let mistaken = strangers as f64 / moment.strangers.len() as f64;
        let excess = (reported - mistaken).max(0.0) * moment.expired_in_all as f64;
        slacks.push(excess / window as f64);
    }
    let mean = slacks.iter().sum::<f64>() / slacks.len() as f64;
    accuracy.slack = Some(Slack { mean, peak: slacks.iter().copied().fold(0.0, f64::max) });
    accuracy
}

/// A filter that never forgets gets only the last window, and is queried at the end, about the strangers of
/// all moments.
fn measure_once(rival: &mut dyn Rival, hashes: &[u64], window: u64, moments: &[Moment]) -> Accuracy {
    let last = &moments[moments.len() - 1];
    rival.insert_all(&hashes[last.inserts - window as usize..last.inserts]);
    let mut accuracy = Accuracy {
        window_queries: last.window.len() as u64,
        false_negatives: last.window.len() as u64 - rival.count_contained(&last.window),
        ..Accuracy::default()
    };
    for moment in moments {
        accuracy.ask_strangers(rival, &moment.strangers);
        accuracy.ask_strangers(rival, &moment.more_strangers);
    }
    accuracy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::moments::{Sampling, moments, stream_length};
    use crate::race::streams::Stream;
    use crate::rivals::{CATALOGUE, Contender, hash_of};

    const WINDOW: u64 = 2000;

    fn of(contender: &Contender, stream: Stream) -> Option<Accuracy> {
        let sampling = Sampling {
            moments: 9,
            slack_windows: 3,
            window_items: 2000,
            expired_items: 6000,
            strangers: 5000,
            more_strangers: 5000,
        };
        let items = stream.items(WINDOW, stream_length(WINDOW, &sampling));
        let moments = moments(&items, WINDOW, &sampling);
        let hashes: Vec<u64> = items.iter().map(|&item| hash_of(item)).collect();
        let budget = crate::rivals::Budget { memory_bits: 48 * WINDOW, window: WINDOW };
        let mut rival = (contender.build)(budget)?;
        Some(measure(&mut *rival, &hashes, WINDOW, &moments))
    }

    fn by_name(name: &str) -> &'static Contender {
        CATALOGUE.iter().find(|contender| contender.name == name).expect("in the catalogue")
    }

    #[test]
    fn contenders_that_promise_a_window_keep_it_in_every_stream() {
        for contender in CATALOGUE {
            let budget = crate::rivals::Budget { memory_bits: 48 * WINDOW, window: WINDOW };
            let promises = (contender.build)(budget).is_some_and(|rival| rival.own_window().is_some());
            for stream in Stream::ALL.into_iter().filter(|_| promises) {
                let accuracy = of(contender, stream).expect("fits");
                assert_eq!(accuracy.false_negatives, 0, "{}, {}", contender.name, stream.name());
            }
        }
    }

    #[test]
    fn the_exact_window_makes_no_mistake() {
        for stream in Stream::ALL {
            let exact = of(by_name("exact map and ring"), stream).expect("fits");
            assert_eq!((exact.false_negatives, exact.false_positives), (0, 0));
            assert_eq!(exact.slack, Some(Slack { mean: 0.0, peak: 0.0 }));
        }
    }

    #[test]
    fn measured_slack_is_as_the_structure_predicts() {
        // Two filters of one window each: the slack is between zero and a whole window, half a window on
        // average.
        let slack = |name| of(by_name(name), Stream::Distinct).expect("fits").slack.expect("forgets");
        let cell = slack("2 Bloom filters (cell)");
        assert!((cell.mean - 0.5).abs() < 0.1 && (0.8..=1.05).contains(&cell.peak), "{cell:?}");
        // At most one generation of five.
        let six = slack("6 Bloom filters");
        assert!((six.mean - 0.1).abs() < 0.04 && (0.13..=0.21).contains(&six.peak), "{six:?}");
        let swamp = slack("SWAMP");
        assert!(swamp.peak < 0.01, "{swamp:?}");
    }

    #[test]
    fn told_ages_are_near_the_true_ones() {
        let ages = |name, stream| of(by_name(name), stream).expect("fits").ages;
        for stream in Stream::ALL {
            // Bins tell the generation of a fingerprint, which only another item's fingerprint can hide.
            let bins = ages("Bins", stream).expect("tells ages");
            assert!(bins.wrong_share() < 0.001, "{bins:?}");
            assert!(bins.mean() < 0.1 * WINDOW as f64, "{bins:?}");
            let rows = ages("Rows", stream).expect("tells ages");
            assert!(rows.wrong_share() < 0.05 && rows.mean() < 0.2 * WINDOW as f64, "{rows:?}");
            let inferred = ages("inferential timing", stream).expect("tells ages");
            assert!(inferred.mean() < 0.1 * WINDOW as f64, "{inferred:?}");
        }
        assert_eq!(ages("SWAMP", Stream::Distinct), None);
    }

    #[test]
    fn filters_that_decay_lose_items_of_the_window() {
        for name in ["scope decay", "generalized", "reservoir sampling", "biased sampling", "stable"] {
            let accuracy = of(by_name(name), Stream::Distinct).expect("fits");
            assert!(accuracy.false_negative_rate() > 0.001, "{name}: {accuracy:?}");
        }
    }
}

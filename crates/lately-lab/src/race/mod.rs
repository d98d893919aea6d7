//! `race`: every contender gets the same memory, the same streams and the same questions, and is timed.
//!
//! Several threads, one per core, feed the streams, each to one contender. Times are measured afterwards by a
//! single thread, with nothing else running.

mod accuracy;
mod moments;
mod present;
mod speed;
mod streams;

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use accuracy::Accuracy;
use moments::Sampling;
use serde_json::{Value, json};
use speed::{Effort, Speed};
use streams::Stream;
pub(crate) use streams::Zipf;

use crate::parallel::in_parallel;
use crate::report;
use crate::rivals::{Budget, CATALOGUE, Contender, Family, Rival, hash_of};

/// Memory per item of the window, in bits.
const BITS_PER_ITEM: [u64; 4] = [16, 24, 32, 48];

/// The outcome of one contender in one stream with one amount of memory.
struct Outcome {
    contender: &'static Contender,
    stream: Stream,
    window: u64,
    /// The memory given.
    bits_per_item: u64,
    slack_windows: usize,
    /// `None` if it was not raced; `note` says why.
    result: Option<Measured>,
    note: &'static str,
}

struct Measured {
    parameters: String,
    memory_bits: u64,
    own_window: Option<u64>,
    accuracy: Accuracy,
    /// `None` if this stream was not timed.
    speed: Option<Speed>,
}

/// One stream and one window. Contenders with any amount of memory get the same questions.
struct Course {
    stream: Stream,
    window: u64,
    sampling: Sampling,
    effort: Option<Effort>,
}

/// A quick race skips the large window for all streams but the first, asks fewer questions (in the large
/// window also less far back), and times only the first stream.
fn courses(is_quick: bool) -> Vec<Course> {
    let course = |stream: Stream, window: u64| {
        let is_large = window > 100_000;
        let is_first = stream == Stream::Distinct;
        if is_quick && is_large && !is_first {
            return None;
        }
        let more = if is_quick { 1 } else { 8 };
        let sampling = Sampling {
            moments: 16,
            slack_windows: if is_quick && is_large { 2 } else { 3 },
            window_items: 10_000 * more.min(4),
            expired_items: 15_000 * more,
            strangers: if is_large { 15_000 } else { 30_000 } * more,
            more_strangers: if is_large { 75_000 } else { 150_000 } * more,
        };
        let effort = Effort {
            rounds: 3 + 4 * more,
            operations: (window as usize / 50).min(10_000),
            singles: if is_quick { 20_000 } else { 100_000 },
        };
        Some(Course { stream, window, sampling, effort: (is_first || !is_quick).then_some(effort) })
    };
    let all = [10_000, 1_000_000].into_iter().flat_map(|window| Stream::ALL.map(|stream| (stream, window)));
    all.filter_map(|(stream, window)| course(stream, window)).collect()
}

/// Runs the race, and writes `race.json` and the report's section into `directory`.
pub(crate) fn run(directory: &Path, is_quick: bool) -> io::Result<()> {
    report::make_directory(directory)?;
    let start = Instant::now();
    let mut outcomes = Vec::new();
    let courses = courses(is_quick);
    for (i, course) in courses.iter().enumerate() {
        eprintln!(
            "[{:>4.0} s] course {} of {}: {}, window {}",
            start.elapsed().as_secs_f64(),
            i + 1,
            courses.len(),
            course.stream.name(),
            course.window
        );
        outcomes.extend(course.race());
    }
    let seconds = start.elapsed().as_secs_f64();
    fs::write(directory.join("race.json"), to_json(&outcomes, is_quick))?;
    present::section(&outcomes, is_quick).write(directory)?;
    eprintln!("[{seconds:>4.0} s] race.json and report.html are in {}", directory.display());
    Ok(())
}

/// One result per line, so that two races can be compared line by line.
fn to_json(outcomes: &[Outcome], is_quick: bool) -> String {
    let results: Vec<String> = outcomes.iter().map(|outcome| outcome.to_json().to_string()).collect();
    format!(
        "{{\"quick\": {is_quick}, \"clock_ns\": {}, \"results\": [\n{}\n]}}\n",
        speed::clock_nanos(),
        results.join(",\n")
    )
}

/// Four digits: more would be noise.
fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().expect("a number that was just written")
}

impl Course {
    fn race(&self) -> Vec<Outcome> {
        let items = self.stream.items(self.window, moments::stream_length(self.window, &self.sampling));
        let moments = moments::moments(&items, self.window, &self.sampling);
        let end = moments[moments.len() - 1].inserts;
        let hashes: Vec<u64> = items[..end].iter().map(|&item| hash_of(item)).collect();
        let mut outcomes = Vec::new();
        for bits_per_item in BITS_PER_ITEM {
            let entries = in_parallel(CATALOGUE, |contender| {
                self.enter(contender, bits_per_item, |rival| {
                    accuracy::measure(rival, &hashes, self.window, &moments)
                })
            });
            outcomes.extend(self.time(entries, &hashes));
            eprintln!("         {bits_per_item} bits per item done");
        }
        outcomes
    }

    /// Builds and measures a contender. Returns its outcome and, if it could be built, the contender itself.
    fn enter(
        &self,
        contender: &'static Contender,
        bits_per_item: u64,
        measure: impl Fn(&mut dyn Rival) -> Accuracy,
    ) -> (Outcome, Option<Box<dyn Rival>>) {
        let budget = Budget { memory_bits: bits_per_item * self.window, window: self.window };
        let outcome = |result, note| Outcome {
            contender,
            stream: self.stream,
            window: self.window,
            bits_per_item,
            slack_windows: self.sampling.slack_windows,
            result,
            note,
        };
        if self.window > contender.largest_window {
            return (outcome(None, "inserts are too slow for a window of this size"), None);
        }
        if contender.family == Family::Exact && bits_per_item != BITS_PER_ITEM[0] {
            return (outcome(None, "takes as much memory as it needs: see 16 bits per item"), None);
        }
        let Some(mut rival) = (contender.build)(budget) else {
            return (outcome(None, "does not fit into this little memory"), None);
        };
        let accuracy = measure(&mut *rival);
        let measured = Measured {
            parameters: rival.parameters(),
            memory_bits: rival.memory_bits(),
            own_window: rival.own_window(),
            accuracy,
            speed: None,
        };
        (outcome(Some(measured), ""), Some(rival))
    }

    fn time(&self, entries: Vec<(Outcome, Option<Box<dyn Rival>>)>, hashes: &[u64]) -> Vec<Outcome> {
        let (mut outcomes, rivals): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        if let Some(effort) = self.effort {
            let mut present: Vec<Box<dyn Rival>> = rivals.into_iter().flatten().collect();
            let speeds = speed::measure(&mut present, hashes, self.window, effort);
            let results = outcomes.iter_mut().filter_map(|outcome| outcome.result.as_mut());
            results.zip(speeds).for_each(|(result, speed)| result.speed = Some(speed));
        }
        outcomes
    }
}

impl Outcome {
    fn to_json(&self) -> Value {
        let mut value = json!({
            "contender": self.contender.name,
            "family": self.contender.family.name(),
            "stream": self.stream.name(),
            "window": self.window,
            "bits_per_item": self.bits_per_item,
            "slack_windows": self.slack_windows,
        });
        let Some(measured) = &self.result else {
            value["note"] = self.note.into();
            return value;
        };
        let accuracy = &measured.accuracy;
        let more = json!({
            "parameters": measured.parameters,
            "own_window": measured.own_window,
            "memory_bits": measured.memory_bits,
            "bits_per_item_used": digits(measured.memory_bits as f64 / self.window as f64),
            "window_queries": accuracy.window_queries,
            "false_negatives": accuracy.false_negatives,
            "false_negative_rate": digits(accuracy.false_negative_rate()),
            "stranger_queries": accuracy.stranger_queries,
            "false_positives": accuracy.false_positives,
            "false_positive_rate": digits(accuracy.false_positive_rate()),
            "npws": accuracy.slack.map(|slack| digits(slack.mean)),
            "peak_npws": accuracy.slack.map(|slack| digits(slack.peak)),
            "ages": accuracy.ages.map(|ages| json!({
                "told": ages.told,
                "wrong": ages.wrong,
                "mean_error": digits(ages.mean() / self.window as f64),
                "largest_error": digits(ages.largest() / self.window as f64),
            })),
            "insert_ns": measured.speed.map(|speed| digits(speed.insert.mean)),
            "insert_p999_ns": measured.speed.map(|speed| digits(speed.insert.p999)),
            "query_ns": measured.speed.map(|speed| digits(speed.query.mean)),
            "query_p999_ns": measured.speed.map(|speed| digits(speed.query.p999)),
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn race_json_is_json_with_a_result_per_line() {
        let course = |window| Course {
            stream: Stream::Distinct,
            window,
            sampling: Sampling {
                moments: 1,
                slack_windows: 3,
                window_items: 10,
                expired_items: 10,
                strangers: 10,
                more_strangers: 0,
            },
            effort: None,
        };
        let enter = |contender, bits, window| {
            course(window)
                .enter(contender, bits, |_| Accuracy {
                    window_queries: 3,
                    stranger_queries: 3,
                    ..Accuracy::default()
                })
                .0
        };
        let too_slow =
            CATALOGUE.iter().find(|contender| contender.largest_window < u64::MAX).expect("the decaying one");
        let outcomes = [enter(&CATALOGUE[0], 32, 1000), enter(too_slow, 32, 1_000_000)];
        let text = to_json(&outcomes, true);
        let parsed: Value = serde_json::from_str(&text).expect("valid");
        assert_eq!(parsed["results"].as_array().map(Vec::len), Some(2));
        assert_eq!(text.lines().count(), 4);
        assert_eq!(parsed["results"][0]["false_negatives"], 0);
        assert!(parsed["results"][1]["note"].is_string());
        assert!((digits(1.234_56e-5) - 1.235e-5).abs() < 1e-12);
    }

    #[test]
    fn a_quick_race_has_every_stream_and_both_windows() {
        let quick = courses(true);
        assert_eq!((quick.len(), courses(false).len()), (5, 8));
        assert!(Stream::ALL.iter().all(|stream| quick.iter().any(|course| course.stream == *stream)));
    }
}

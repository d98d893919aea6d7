//! Elastic windows beside windows of fixed memory that knew the future: memory, rate and time, for traffic that changes.

use std::time::{Duration, Instant};

use lately::{Builder, Filter};
use serde_json::{Value, json};

use super::ratios::Ratio;

const RATE: f64 = 1e-3;
const SPAN: Duration = Duration::from_secs(600);
const START_MS: u64 = 1_700_000_000_000;
/// The rate is measured once in so many steps.
const STEPS_PER_LOOK: usize = 100;
const STRANGERS: u64 = 20_000;

/// Traffic: the number of new keys in each step.
struct Traffic {
    name: &'static str,
    steps_per_span: usize,
    keys: Vec<u64>,
}

fn traffics() -> [Traffic; 4] {
    // Twelve hours of day and night: the busiest minute has ten times the keys of the quietest.
    let of_day = |step: u32| 55.0 - 45.0 * (f64::from(step) / 2_160.0 * std::f64::consts::TAU).cos();
    let of = |name, steps_per_span, keys| Traffic { name, steps_per_span, keys };
    [
        of("day and night, 10 to 1", 30, (0..4_320).map(|step| (80.0 * of_day(step)) as u64).collect()),
        of(
            "bursts of 20 times, two minutes in two hours",
            600,
            (0..21_600).map(|s| if s % 7_200 < 120 { 2_000 } else { 100 }).collect(),
        ),
        of("a jump by 1000", 600, (0..2_400).map(|s| if s < 600 { 2 } else { 2_000 }).collect()),
        of("steady, a million in a span", 600, vec![1_667; 3_000]),
    ]
}

fn promise() -> Builder {
    Filter::builder().time_window(SPAN).false_positive_rate(RATE)
}

fn bytes_of_fixed(capacity: u64) -> f64 {
    promise().capacity(capacity).plan().expect("a valid promise").memory_bytes as f64
}

impl Traffic {
    /// The most keys of so many consecutive steps.
    fn busiest(&self, steps: usize) -> u64 {
        let steps = steps.min(self.keys.len());
        self.keys.windows(steps).map(|keys| keys.iter().sum()).max().expect("there are steps")
    }

    /// The memory is compared with that of two fixed filters: one for the busiest span, one for a span that is as busy
    /// as the busiest minute throughout.
    fn measure(&self) -> Value {
        let steps_per_minute = self.steps_per_span / 10;
        let fixed = bytes_of_fixed(self.busiest(self.steps_per_span));
        let for_minute = bytes_of_fixed(self.busiest(steps_per_minute) * 10);
        let mut filter = promise().build().expect("a valid promise");
        let (mut next, mut sum, mut peak, mut worst_rate) = (0, 0.0, 0.0_f64, 0.0_f64);
        for (step, &keys) in self.keys.iter().enumerate() {
            filter.advance_to(START_MS + (step * SPAN.as_millis() as usize / self.steps_per_span) as u64);
            filter.extend(next..next + keys);
            next += keys;
            let bytes = filter.memory_bytes() as f64;
            (sum, peak) = (sum + bytes, peak.max(bytes));
            if step % STEPS_PER_LOOK == 0 {
                let first =
                    self.keys[step.saturating_sub(self.steps_per_span - 1)..=step].iter().sum::<u64>();
                assert!(
                    (next - first..next).all(|key| filter.contains(key)),
                    "a key of the window is forgotten"
                );
                let first = (1 << 50) + step as u64 * STRANGERS;
                let mistaken = (first..first + STRANGERS).filter(|key| filter.contains(*key)).count();
                worst_rate = worst_rate.max(mistaken as f64 / STRANGERS as f64);
            }
        }
        let mean = sum / self.keys.len() as f64;
        json!({
            "traffic": self.name,
            "mean_bytes": mean,
            "peak_bytes": peak,
            "fixed_bytes": fixed,
            "fixed_bytes_for_busiest_minute": for_minute,
            "mean_over_fixed": mean / fixed,
            "peak_over_fixed": peak / fixed,
            "peak_over_fixed_for_busiest_minute": peak / for_minute,
            "worst_measured_rate": worst_rate,
            "growths": filter.counters().growths,
            "shrinks": filter.counters().shrinks,
        })
    }
}

/// Batched check-and-insert at a steady million keys in a span, in turn with a fixed window of the same promise.
fn times(rounds: usize) -> Value {
    const STEPS: u64 = 60;
    let keys_per_step = 1_000_000 / 600;
    let mut filters = [
        promise().build().expect("a valid promise"),
        promise().capacity(1_100_000).build().expect("a valid promise"),
    ];
    let mut seen = vec![false; keys_per_step as usize];
    let (mut second, mut times) = (0, [Vec::new(), Vec::new()]);
    for round in 0..rounds + 20 {
        for (filter, times) in filters.iter_mut().zip(&mut times) {
            let mut nanos = 0;
            for step in second..second + STEPS {
                let keys: Vec<u64> = (step * keys_per_step..(step + 1) * keys_per_step).collect();
                filter.advance_to(START_MS + step * 1_000);
                let start = Instant::now();
                filter.check_and_insert_batch(&keys, &mut seen);
                nanos += start.elapsed().as_nanos();
            }
            // The first rounds fill the window, and a little more.
            if round >= 20 {
                times.push(nanos as f64 / (STEPS * keys_per_step) as f64);
            }
        }
        second += STEPS;
    }
    let [elastic, fixed] = &times;
    json!({
        "elastic_ns": super::median(elastic),
        "fixed_ns": super::median(fixed),
        "elastic_over_fixed": Ratio::new(elastic, fixed).to_json(),
    })
}

pub(crate) fn measure(rounds: usize) -> Value {
    json!({
        "rate_asked": RATE,
        "span_seconds": SPAN.as_secs(),
        "traffics": traffics().each_ref().map(Traffic::measure),
        "steady_batches": times(rounds),
    })
}

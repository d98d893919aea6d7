//! Time windows without a capacity: every item of the span is reported and strangers at most at the rate, while the
//! memory follows the traffic.

mod common;

use std::collections::HashMap;
use std::time::Duration;

use common::{IMPOSSIBLE, Random, chance_of};
use lately::{ConfigError, Filter, Instructions, Layout, Overload, SharedFilter, SnapshotError, Window};

const RATE: f64 = 1e-3;
const START_MS: u64 = 1_700_000_000_000;
const TEN_MINUTES_MS: u64 = 600_000;

fn builder(span_ms: u64) -> lately::Builder {
    Filter::builder().time_window(Duration::from_millis(span_ms)).false_positive_rate(RATE)
}

fn elastic(span_ms: u64) -> Filter {
    builder(span_ms).build().unwrap()
}

/// The latest time of every item of the last span.
struct Exact {
    span_ms: u64,
    times: HashMap<u64, u64>,
}

impl Exact {
    fn is_known(&self, item: u64, now_ms: u64) -> bool {
        self.times.get(&item).is_some_and(|time| now_ms - time <= self.span_ms)
    }
}

#[track_caller]
fn assert_none_is_missed(filter: &Filter, exact: &Exact, now_ms: u64, what: &str) {
    for item in exact.times.keys().filter(|item| exact.is_known(**item, now_ms)) {
        assert!(filter.contains(*item), "{what}: item {item} is missed at {now_ms}");
    }
}

/// Fails if strangers are reported so often that it is impossible at the requested rate.
#[track_caller]
fn assert_rate_is_kept(filter: &Filter, what: &str) {
    const STRANGERS: u64 = 40_000;
    let reported = (0..STRANGERS).filter(|i| filter.contains(("stranger", *i))).count() as u64;
    let is_high = reported as f64 > RATE * STRANGERS as f64;
    let chance = chance_of(reported, STRANGERS, RATE);
    assert!(!is_high || chance > IMPOSSIBLE, "{what}: {reported} of {STRANGERS} strangers are reported");
    let estimated = filter.statistics().estimated_false_positive_rate;
    assert!(estimated <= RATE, "{what}: the estimate is {estimated:.1e}");
}

/// Traffic changes by a factor of up to a thousand, pauses, repeats itself, and is interrupted by restarts.
#[test]
fn no_item_of_the_span_is_missed_whatever_the_traffic() {
    for seed in 1..=12 {
        let mut random = Random(seed);
        let span_ms = [16, 1_000, 60_000, 999_983][random.below(4) as usize];
        let (mut filter, mut exact) = (elastic(span_ms), Exact { span_ms, times: HashMap::new() });
        let (mut now_ms, mut next_item, mut most_bytes) = (START_MS, 0, 0);
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
            // Some filters have items before their clock is set.
            if phase > 0 || random.below(2) == 0 {
                now_ms += step_ms;
                filter.advance_to(now_ms);
            }
            let repeats = random.below(2) == 0;
            for _ in 0..items {
                let item = if repeats { random.below(next_item + 1) } else { next_item };
                next_item += 1;
                let seen = if random.below(2) == 0 {
                    filter.check_and_insert(item)
                } else {
                    filter.contains(item) | filter.check_and_insert(item)
                };
                assert!(seen || !exact.is_known(item, now_ms), "seed {seed}: {item} is missed at its insert");
                exact.times.insert(item, now_ms);
            }
            exact.times.retain(|_, time| now_ms - *time <= span_ms);
            if random.below(4) == 0 {
                let restored = Filter::from_bytes(&filter.to_bytes()).unwrap();
                assert!(restored == filter && restored.to_bytes() == filter.to_bytes());
                filter = restored;
            }
            assert_none_is_missed(&filter, &exact, now_ms, &format!("seed {seed}, phase {phase}"));
            // A view of a later time answers as the filter will; but if that shrinks, strangers may match.
            let later_ms = now_ms + random.below(2 * span_ms);
            let view = filter.as_of(later_ms);
            let mut later = filter.clone();
            later.advance_to(later_ms);
            for item in (0..300).map(|_| random.below(next_item + 10)) {
                assert!(
                    view.contains(item) || !exact.is_known(item, later_ms),
                    "seed {seed}: as_of({later_ms})"
                );
                assert!(later.contains(item) || !view.contains(item), "seed {seed}: as_of({later_ms})");
            }
            most_bytes = most_bytes.max(filter.memory_bytes());
        }
        assert!(most_bytes > 80_000, "seed {seed}: the filter has not grown");
    }
}

/// How much memory a traffic takes.
struct Traffic {
    mean_bytes: f64,
    most_bytes: f64,
    /// The memory of a filter that was planned for the busiest span.
    fixed_bytes: f64,
}

/// Sends so many items in each step, and checks every item of the span and the rate now and then.
fn run(steps_per_span: u64, steps: impl Iterator<Item = u64>, what: &str) -> Traffic {
    let mut filter = elastic(TEN_MINUTES_MS);
    let (mut sum, mut most_bytes, mut most_items, mut next_item) = (0, 0, 0, 0);
    let mut arrivals: Vec<u64> = Vec::new();
    for (step, items) in steps.enumerate() {
        filter.advance_to(START_MS + step as u64 * TEN_MINUTES_MS / steps_per_span);
        filter.extend(next_item..next_item + items);
        next_item += items;
        arrivals.push(items);
        let of_span: u64 = arrivals.iter().rev().take(steps_per_span as usize).sum();
        most_items = most_items.max(of_span);
        sum += filter.memory_bytes();
        most_bytes = most_bytes.max(filter.memory_bytes());
        if step % 97 == 0 {
            assert_rate_is_kept(&filter, &format!("{what}, step {step}"));
            let missed = (next_item - of_span..next_item).find(|item| !filter.contains(*item));
            assert_eq!(missed, None, "{what}, step {step}");
        }
    }
    let mean_bytes = sum as f64 / arrivals.len() as f64;
    Traffic { mean_bytes, most_bytes: most_bytes as f64, fixed_bytes: fixed_bytes(most_items) }
}

/// The memory of a filter that was planned for so many items in a span.
fn fixed_bytes(items: u64) -> f64 {
    builder(TEN_MINUTES_MS).capacity(items).plan().unwrap().memory_bytes as f64
}

#[test]
fn memory_follows_the_traffic_and_the_rate_holds() {
    // A day; its busiest time has ten times the traffic of its quietest.
    let at = |step: u32| 55.0 - 45.0 * (f64::from(step) / 4_320.0 * std::f64::consts::TAU).cos();
    let day = run(30, (0..4_320).map(|step| (8.0 * at(step)) as u64), "day and night");
    assert!(day.mean_bytes < day.fixed_bytes && day.most_bytes < 1.5 * day.fixed_bytes);

    // Bursts of twenty times the traffic, for a fifth of the span.
    let bursts = run(600, (0..3_000).map(|step| if step % 1_500 < 120 { 400 } else { 20 }), "bursts");
    assert!(bursts.mean_bytes < bursts.fixed_bytes && bursts.most_bytes < fixed_bytes(400 * 600));

    // A jump by a factor of a thousand, which stays.
    let jump = run(600, (0..1_400).map(|step| if step < 200 { 1 } else { 1_000 }), "jump");
    assert!(jump.mean_bytes < 1.5 * jump.fixed_bytes && jump.most_bytes < 1.6 * jump.fixed_bytes);
}

/// While the table grows, half of its lines are divided and the others are full. Items must not go into the spare then,
/// because a table hands its spare on to the larger one.
#[test]
fn a_jump_keeps_the_rate_all_along() {
    for (few, many) in [(20, 20_000), (3, 700), (1, 5_000)] {
        let (mut filter, mut next_item) = (elastic(TEN_MINUTES_MS), 0_u64);
        for second in 0..760 {
            filter.advance_to(START_MS + second * 1_000);
            let items = if second < 600 { few } else { many };
            filter.extend(next_item..next_item + items);
            next_item += items;
            let estimate = filter.as_of(START_MS + second * 1_000).estimate(1 << 18);
            let rate = estimate.estimated_false_positive_rate;
            assert!(rate <= RATE, "from {few} to {many}, second {second}: {rate:.1e}");
            if second % 40 == 0 {
                assert_rate_is_kept(&filter, &format!("from {few} to {many}, second {second}"));
            }
        }
        let statistics = filter.statistics();
        assert!(statistics.growths > 4 && statistics.peak_memory_bytes >= filter.memory_bytes());
    }
}

#[test]
fn a_million_items_at_once_keep_the_rate() {
    let mut filter = elastic(TEN_MINUTES_MS);
    filter.advance_to(START_MS);
    filter.extend(0..1_000_000_u64);
    assert!((0..1_000_000_u64).all(|item| filter.contains(item)));
    assert_rate_is_kept(&filter, "at once");
    assert_eq!(filter.counters().overloaded_generations, 0);
    let grown = filter.memory_bytes();
    filter.advance_to(START_MS + 2 * TEN_MINUTES_MS);
    assert!(filter.memory_bytes() * 100 < grown, "an idle filter gives its memory back");
    let counters = filter.counters();
    assert!(counters.growths > 5 && counters.shrinks > 0 && counters.peak_memory_bytes == grown);
    assert!(!(0..1000_u64).any(|item| filter.contains(item)));
}

/// Repeats need no room.
#[test]
fn memory_depends_on_different_items_only() {
    let mut filter = elastic(TEN_MINUTES_MS);
    for step in 0..2_000 {
        filter.advance_to(START_MS + step * 1_000);
        filter.extend(0..1_000_u64);
    }
    assert!(filter.memory_bytes() < 40_000, "{} bytes for 1000 items", filter.memory_bytes());
    assert_rate_is_kept(&filter, "repeats");
}

#[test]
fn a_window_that_may_not_grow_keeps_its_span_or_its_rate() {
    let limited = |overload| {
        let mut filter = builder(TEN_MINUTES_MS).max_memory(100_000).overload(overload).build().unwrap();
        let mut next_item = 0_u64;
        for step in 0..900 {
            filter.advance_to(START_MS + step * 1_000);
            filter.extend(next_item..next_item + 200);
            next_item += 200;
            assert!(filter.memory_bytes() <= 100_000);
            let guaranteed = filter.guaranteed_window();
            assert!((next_item - guaranteed..next_item).all(|item| filter.contains(item)), "step {step}");
            if overload == Overload::KeepRate && step % 50 == 0 {
                assert_rate_is_kept(&filter, "limited");
            }
        }
        assert!(filter.counters().overloaded_generations > 0);
        filter
    };
    let kept = limited(Overload::KeepWindow);
    assert_eq!(kept.guaranteed_span(), Some(Duration::from_millis(TEN_MINUTES_MS)));
    assert!(kept.guaranteed_window() >= 120_000);

    let shortened = limited(Overload::KeepRate);
    let span = shortened.guaranteed_span().unwrap();
    assert!(span < Duration::from_secs(300) && span > Duration::from_secs(60), "{span:?}");
    // Once the traffic is lower, the span is whole again.
    let mut recovered = shortened;
    for step in 900..2_000 {
        recovered.advance_to(START_MS + step * 1_000);
        recovered.insert(step);
    }
    assert_eq!(recovered.guaranteed_span(), Some(Duration::from_millis(TEN_MINUTES_MS)));
}

#[test]
fn a_burst_at_the_limit_leaves_a_part_of_the_window() {
    let promise = builder(TEN_MINUTES_MS).max_memory(100_000);
    let mut filter = promise.overload(Overload::KeepRate).build().unwrap();
    filter.advance_to(START_MS);
    filter.extend(0..500_000_u64);
    let guaranteed = filter.guaranteed_window();
    assert!(guaranteed > 8_000, "{guaranteed} inserts are left");
    assert!((500_000 - guaranteed..500_000).all(|item| filter.contains(item)));
    assert_rate_is_kept(&filter, "burst at the limit");
}

/// A batch is the same calls one by one, and every instruction set gives the same bits.
#[test]
fn batches_and_instructions_leave_the_same_filter() {
    let mut one_by_one = elastic(60_000);
    assert!(one_by_one.set_instructions(Instructions::Portable));
    let mut others: Vec<Filter> = Instructions::ALL
        .iter()
        .filter_map(|instructions| {
            let mut filter = elastic(60_000);
            filter.set_instructions(*instructions).then_some(filter)
        })
        .collect();
    let mut random = Random(5);
    for step in 0..200_u64 {
        let now_ms = START_MS + step * 700;
        let items: Vec<u64> =
            (0..random.below(1_500)).map(|_| random.below(20_000 * (step / 40 + 1))).collect();
        one_by_one.advance_to(now_ms);
        let expected: Vec<bool> = items.iter().map(|item| one_by_one.check_and_insert(*item)).collect();
        for filter in &mut others {
            filter.advance_to(now_ms);
            let mut seen = vec![false; items.len()];
            filter.check_and_insert_batch(&items, &mut seen);
            assert!(seen == expected && *filter == one_by_one, "step {step}, {:?}", filter.instructions());
        }
    }
    assert!(one_by_one.memory_bytes() > 30_000);
}

#[test]
fn ages_are_exact_to_a_generation() {
    let mut filter = elastic(60_000);
    let inserted_at = |item: u64| START_MS + item * 100;
    for item in 0..3_000 {
        filter.advance_to(inserted_at(item));
        filter.insert(item);
    }
    let now_ms = inserted_at(2_999);
    for item in 2_400..3_000 {
        let age = filter.age_of(item).unwrap();
        let since = Duration::from_millis(now_ms - inserted_at(item));
        let time = age.time.unwrap();
        assert!(time.contains(&since) && age.inserts.contains(&(2_999 - item)), "item {item}: {time:?}");
        assert!(*time.end() <= *time.start() + Duration::from_millis(60_000 / 16 + 100));
    }
    let statistics = filter.statistics();
    assert!((580.0..660.0).contains(&statistics.estimated_distinct_items), "{statistics:?}");
}

#[test]
fn a_cleared_filter_is_like_a_new_one_and_a_copy_like_its_original() {
    let mut filter = elastic(60_000);
    filter.advance_to(START_MS);
    filter.extend(0..50_000_u64);
    let copy = filter.try_clone().unwrap();
    assert!(copy == filter && copy.memory_bytes() == filter.memory_bytes());
    let from_parts = {
        let mut parts = Filter::from_blueprint(&filter.blueprint()).unwrap();
        parts.set_words(0, filter.words()).unwrap();
        parts
    };
    assert!(from_parts == filter);
    filter.clear();
    assert!(filter == elastic(60_000) && filter.memory_bytes() < 11_000);
    let planned = builder(60_000).plan().unwrap();
    let hash_function = filter.hash_function();
    assert_eq!(planned.blueprint(hash_function), filter.blueprint());
}

/// No flipped bit is accepted that would make the filter panic, or that it would not write itself.
#[test]
fn damaged_snapshots_are_refused_or_harmless() {
    let mut filter = elastic(60_000);
    for step in 0..40 {
        filter.advance_to(START_MS + step * 2_000);
        filter.extend(step * 300..step * 300 + 400);
    }
    let bytes = filter.to_bytes();
    let head = bytes.len() - filter.words().len() * 8 - 8;
    let mut refused = 0;
    for bit in (0..head * 8).chain((head * 8..bytes.len() * 8 - 64).step_by(331)) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (content, checksum) = damaged.split_at_mut(bytes.len() - 8);
        checksum.copy_from_slice(&xxhash_rust::xxh3::xxh3_64(content).to_le_bytes());
        match Filter::from_bytes(&damaged) {
            Err(_) => refused += 1,
            Ok(mut other) => {
                assert!(other.to_bytes() == damaged, "bit {bit}");
                (0..200_u64).for_each(|item| assert!(other.insert_and_find(item), "bit {bit}"));
                other.advance_to(u64::MAX);
                let _ = (other.statistics(), other.age_of(1_u64), other.guaranteed_span());
                other.clear();
            }
        }
    }
    assert!(refused > 300, "{refused} refused");
}

trait InsertAndFind {
    fn insert_and_find(&mut self, item: u64) -> bool;
}

impl InsertAndFind for Filter {
    fn insert_and_find(&mut self, item: u64) -> bool {
        self.insert(item);
        self.contains(item)
    }
}

#[test]
fn the_plan_describes_the_window_at_its_largest() {
    let plan = builder(TEN_MINUTES_MS).plan().unwrap();
    assert!(plan.memory_bytes <= lately::DEFAULT_ELASTIC_MEMORY && plan.false_positive_rate <= RATE);
    assert!(plan.memory_bytes > lately::DEFAULT_ELASTIC_MEMORY - 10_000);
    let Window::Elastic { capacity, overload: Overload::KeepWindow, .. } = plan.window else {
        panic!("{plan:?}")
    };
    assert!((70_000_000..80_000_000).contains(&capacity), "{capacity}");
    assert_eq!((plan.layout(), plan.shape.window_generations), (Layout::Bins, 16));
    for rate in [0.1, 1e-2, 1e-4, 1e-6, 1e-9] {
        let plan = builder(TEN_MINUTES_MS).false_positive_rate(rate).plan().unwrap();
        assert!(plan.false_positive_rate <= rate);
    }
    let short = builder(5).build().unwrap();
    assert_eq!(short.plan().shape.window_generations, 5);
}

#[test]
fn what_cannot_be_elastic_is_refused_with_a_remedy() {
    let refusal = |builder: lately::Builder| builder.build().unwrap_err().to_string();
    let span = builder(TEN_MINUTES_MS);
    assert!(refusal(span.clone().layout(Layout::Rows)).contains("give a capacity"));
    assert!(refusal(span.clone().shape(1, 8)).contains("give a capacity"));
    assert!(refusal(span.clone().false_positive_rate(1e-13)).contains("or give a capacity"));
    assert!(refusal(span.clone().max_memory(5_000)).contains("raise it to 10272"));
    assert!(refusal(span.clone().max_slack(0.01)).contains("0.0625"));
    assert!(refusal(builder(0)).contains("0 ms"));
    let no_rate = Filter::builder().time_window(Duration::from_secs(1)).build();
    assert_eq!(no_rate.unwrap_err(), ConfigError::MissingRate);
    assert_eq!(span.build_shared().unwrap_err(), ConfigError::SharedElastic);
    let bytes = elastic(1_000).to_bytes();
    assert!(matches!(SharedFilter::from_bytes(&bytes), Err(SnapshotError::SharedElastic)));
}

/// A caller that must not run out of memory can ask for it before the inserts.
#[test]
fn the_memory_that_inserts_may_need_is_known_before_them() {
    for seed in 1..=6 {
        let mut random = Random(seed);
        let (mut filter, mut next_item) = (elastic(60_000), 0);
        let (mut certain, mut surprises) = (0, 0);
        for step in 0..400 {
            filter.advance_to(START_MS + step * 500);
            let items = if random.below(10) == 0 { 1 + random.below(40_000) } else { 1 + random.below(50) };
            let (before, most) = (filter.memory_bytes(), filter.most_memory_bytes_after(items));
            certain += u32::from(most == before);
            filter.extend(next_item..next_item + items);
            next_item += items;
            let after = filter.memory_bytes();
            // It grows by a half if many items find both their lines full.
            assert!(after <= most.max(before / 2 * 3), "seed {seed}, step {step}: {after} bytes, not {most}");
            surprises += u32::from(after > most);
        }
        assert!(
            certain > 250 && surprises < 10,
            "seed {seed}: {certain} steps with room, {surprises} surprises"
        );
    }
    let fixed = builder(60_000).capacity(1_000).build().unwrap();
    assert_eq!(fixed.most_memory_bytes_after(u64::MAX), fixed.memory_bytes());
    let limited = builder(60_000).max_memory(100_000).build().unwrap();
    assert!(limited.most_memory_bytes_after(u64::MAX) <= 100_000);
}

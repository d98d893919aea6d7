//! Laws that hold for any sequence of operations, checked against an exact window.

mod common;

use std::time::Duration;

use common::generations::Generations;
use common::{ExactWindow, item, shapes, with_shape};
use lately::{Filter, Instructions, Layout, Overload, Shape, Window};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    CheckAndInsert(u64),
    CheckOrInsert(u64),
    InsertBatch(Vec<u64>),
    Batch(Vec<u64>),
    BatchOfNew(Vec<u64>),
    Advance(u64),
    GoBack(u64),
    Restore,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 0..300_u64;
    // Some are longer than the prefetch distance, contain equal items, or have a shift inside.
    let numbers = || prop::collection::vec(0..300_u64, 0..90);
    prop_oneof![
        6 => number().prop_map(Step::Insert),
        6 => number().prop_map(Step::CheckAndInsert),
        6 => number().prop_map(Step::CheckOrInsert),
        2 => numbers().prop_map(Step::InsertBatch),
        3 => numbers().prop_map(Step::Batch),
        3 => numbers().prop_map(Step::BatchOfNew),
        4 => (0..70_u64).prop_map(Step::Advance),
        1 => (0..5_000_u64).prop_map(Step::Advance),
        1 => (0..100_u64).prop_map(Step::GoBack),
        2 => Just(Step::Restore),
        1 => Just(Step::Clear),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    prop::sample::select(shapes())
}

/// A filter, and an exact window with the same inserts.
struct Pair {
    filter: Filter,
    exact: ExactWindow,
    generations: Generations,
    now_ms: u64,
    is_portable: bool,
}

impl Pair {
    fn new(mut filter: Filter, is_portable: bool) -> Self {
        if is_portable {
            filter.set_instructions(Instructions::Portable);
        }
        let generations = Generations::new(filter.window(), &filter.plan().shape);
        Self { filter, exact: ExactWindow::default(), generations, now_ms: 0, is_portable }
    }

    fn note_insert(&mut self, number: u64) {
        self.exact.insert(number, self.now_ms);
        self.generations.insert(number);
    }

    fn advance_to(&mut self, now_ms: u64) {
        self.filter.advance_to(now_ms);
        self.generations.advance_to(now_ms);
    }

    /// Returns the items that the filter must report now: those of the window that was asked for, and all others of
    /// the generations that are kept whole. What the filter says about itself plays no part.
    fn guaranteed(&self) -> Vec<u64> {
        let kept = self.generations.kept();
        match self.filter.window() {
            Window::Count { inserts } => kept.chain(self.exact.of_last(inserts)).collect(),
            // An item that is exactly a span old is not in the window.
            Window::Time { span, overload: Overload::KeepWindow, .. } => {
                let first_ms = (self.now_ms + 1).saturating_sub(span.as_millis() as u64);
                kept.chain(self.exact.since(first_ms)).collect()
            }
            _ => kept.collect(),
        }
    }

    fn check_one(&mut self, number: u64, every_sighting: bool) -> Result<(), TestCaseError> {
        let known = self.guaranteed().contains(&number);
        let reported = if every_sighting {
            self.filter.check_and_insert(item(number))
        } else {
            self.filter.check_or_insert(item(number))
        };
        prop_assert!(reported || !known, "{number} is in the window but not reported");
        if every_sighting || !reported {
            self.note_insert(number);
        }
        Ok(())
    }

    fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Insert(number) => {
                self.filter.insert(item(*number));
                self.note_insert(*number);
            }
            Step::CheckAndInsert(number) => self.check_one(*number, true)?,
            Step::CheckOrInsert(number) => self.check_one(*number, false)?,
            Step::InsertBatch(numbers) => {
                let items: Vec<_> = numbers.iter().map(|&number| item(number)).collect();
                let mut batched = self.filter.clone();
                batched.insert_batch(&items);
                for &number in numbers {
                    self.filter.insert(item(number));
                    self.note_insert(number);
                }
                prop_assert!(batched == self.filter, "a batch leaves the same bits as single calls");
                let mut seen = vec![false; items.len()];
                batched.contains_batch(&items, &mut seen);
                let one_by_one: Vec<_> = items.iter().map(|item| self.filter.contains(item)).collect();
                prop_assert_eq!(seen, one_by_one, "a batch gives the same answers as single calls");
            }
            Step::Batch(numbers) | Step::BatchOfNew(numbers) => {
                let every_sighting = matches!(step, Step::Batch(_));
                let items: Vec<_> = numbers.iter().map(|&number| item(number)).collect();
                let mut batched = self.filter.clone();
                let mut seen = vec![false; items.len()];
                if every_sighting {
                    batched.check_and_insert_batch(&items, &mut seen);
                } else {
                    batched.check_or_insert_batch(&items, &mut seen);
                }
                for (&number, seen) in numbers.iter().zip(&seen) {
                    prop_assert_eq!(
                        *seen,
                        self.filter.contains(item(number)),
                        "a batch gives the same answers as single calls"
                    );
                    self.check_one(number, every_sighting)?;
                }
                prop_assert!(batched == self.filter, "a batch leaves the same bits as single calls");
            }
            Step::Advance(millis) => {
                self.now_ms += millis;
                self.advance_to(self.now_ms);
            }
            Step::GoBack(millis) => self.advance_to(self.now_ms.saturating_sub(*millis)),
            Step::Restore => {
                let restored = Filter::from_bytes(&self.filter.to_bytes());
                let restored = restored.map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert!(restored == self.filter);
                self.filter = restored;
                if self.is_portable {
                    self.filter.set_instructions(Instructions::Portable);
                }
            }
            Step::Clear => {
                self.filter.clear();
                self.generations.clear();
                self.advance_to(self.now_ms);
                self.exact = ExactWindow::default();
            }
        }
        Ok(())
    }

    /// Asserts that `as_of` a later time answers like a copy that was advanced to that time.
    fn check_as_of(&self, later_ms: u64) -> Result<(), TestCaseError> {
        let now_ms = self.now_ms + later_ms;
        let mut told = self.filter.clone();
        told.advance_to(now_ms);
        let as_of = self.filter.as_of(now_ms);
        for number in 0..300 {
            prop_assert_eq!(
                as_of.contains(item(number)),
                told.contains(item(number)),
                "{} at {}",
                number,
                now_ms
            );
            prop_assert_eq!(
                as_of.age_of(item(number)),
                told.age_of(item(number)),
                "{} at {}",
                number,
                now_ms
            );
        }
        let items: Vec<_> = (0..300).map(item).collect();
        let mut seen = [vec![false; 300], vec![false; 300]];
        as_of.contains_batch(&items, &mut seen[0]);
        told.contains_batch(&items, &mut seen[1]);
        prop_assert_eq!(&seen[0], &seen[1]);
        prop_assert_eq!(as_of.statistics(), told.statistics());
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.filter.guaranteed_window(), self.generations.guaranteed_window());
        if let Window::Time { span, overload: Overload::KeepWindow, .. } = self.filter.window() {
            prop_assert_eq!(self.filter.guaranteed_span(), Some(span));
        }
        for number in self.guaranteed() {
            prop_assert!(self.filter.contains(item(number)), "{number} is lost");
            let age = self.filter.age_of(item(number));
            prop_assert!(age.is_some(), "{number} has no age");
            let since = self.exact.inserts_since(number).unwrap_or(0);
            let age = age.unwrap().inserts;
            prop_assert!(
                *age.start() <= since,
                "{number} is {since} inserts old, but age_of returns {age:?}"
            );
        }
        Ok(())
    }
}

fn run(filter: Filter, is_portable: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut pair = Pair::new(filter, is_portable);
    pair.advance_to(0);
    for step in steps {
        pair.apply(step)?;
        pair.check()?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(17),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_count_window_never_forgets(
        shape in shape(),
        window in 1..200_u64,
        is_portable in any::<bool>(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        run(with_shape(&shape).window(window).build().unwrap(), is_portable, &steps)?;
    }

    #[test]
    fn a_time_window_never_forgets(
        shape in shape(),
        span in 14..2_000_u64,
        capacity in 1..200_u64,
        keep_rate in any::<bool>(),
        is_portable in any::<bool>(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let overload = if keep_rate { Overload::KeepRate } else { Overload::KeepWindow };
        let window = with_shape(&shape).time_window(Duration::from_millis(span)).capacity(capacity).overload(overload);
        run(window.build().unwrap(), is_portable, &steps)?;
    }

    #[test]
    fn as_of_a_later_time_answers_like_a_copy_advanced_to_that_time(
        shape in shape(),
        span in 14..2_000_u64,
        is_timed in any::<bool>(),
        steps in prop::collection::vec(step(), 1..40),
        later in prop::collection::vec(prop_oneof![0..100_u64, 0..3_000_u64, Just(1 << 40)], 1..4),
    ) {
        let builder = with_shape(&shape);
        let builder = if is_timed {
            builder.time_window(Duration::from_millis(span)).capacity(100)
        } else {
            builder.window(100)
        };
        let mut pair = Pair::new(builder.build().unwrap(), false);
        pair.check_as_of(later[0])?;
        for step in &steps {
            pair.apply(step)?;
        }
        for later_ms in later {
            pair.check_as_of(later_ms)?;
        }
    }

    #[test]
    fn the_same_input_gives_the_same_filter_and_clear_forgets_everything(
        shape in shape(), numbers in prop::collection::vec(any::<u64>(), 0..300),
    ) {
        let fresh = with_shape(&shape).window(50).build().unwrap();
        let mut filter = fresh.clone();
        numbers.iter().for_each(|&number| filter.insert(item(number)));
        let first = filter.to_bytes();
        filter.clear();
        prop_assert!(filter == fresh);
        numbers.iter().for_each(|&number| filter.insert(item(number)));
        prop_assert_eq!(filter.to_bytes(), first);
    }

    #[test]
    fn operations_on_hashes_and_on_items_give_the_same_results(
        numbers in prop::collection::vec(0..100_u64, 0..200),
    ) {
        let mut by_item = Filter::builder().window(40).shape(5, 10).layout(Layout::Rows).build().unwrap();
        let mut by_hash = by_item.clone();
        let hashes: Vec<u64> = numbers.iter().map(|&number| by_item.hash_of(item(number))).collect();
        let items: Vec<_> = numbers.iter().map(|&number| item(number)).collect();
        let (mut seen_items, mut seen_hashes) = (vec![false; items.len()], vec![false; items.len()]);
        by_item.check_and_insert_batch(&items, &mut seen_items);
        by_hash.check_and_insert_hash_batch(&hashes, &mut seen_hashes);
        prop_assert_eq!(&seen_items, &seen_hashes);
        by_item.check_or_insert_batch(&items, &mut seen_items);
        by_hash.check_or_insert_hash_batch(&hashes, &mut seen_hashes);
        prop_assert_eq!(&seen_items, &seen_hashes);
        by_item.insert_batch(&items);
        by_hash.insert_hash_batch(&hashes);
        by_item.contains_batch(&items, &mut seen_items);
        by_hash.contains_hash_batch(&hashes, &mut seen_hashes);
        prop_assert_eq!(&seen_items, &seen_hashes);
        for &hash in &hashes {
            prop_assert_eq!(by_item.check_and_insert_hash(hash), by_hash.check_and_insert_hash(hash));
            prop_assert_eq!(by_item.check_or_insert_hash(hash), by_hash.check_or_insert_hash(hash));
            prop_assert_eq!(by_item.age_of_hash(hash), by_hash.age_of_hash(hash));
        }
        prop_assert!(by_item == by_hash);
    }
}

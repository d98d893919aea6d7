//! Helpers for the rivals' tests.

use super::decay_model::Outlook;
use super::queued::{Counters, Queued};
use super::{Budget, Random, Rival, hash_of};

/// A small window with plenty of memory, so that chance plays a small part.
pub(super) const BUDGET: Budget = Budget { memory_bits: 64 * 3000, window: 3000 };

/// Keys from here on are never inserted.
pub(super) const STRANGERS: u64 = 1 << 40;

/// Returns a stream in which a third of the arrivals repeat one of the last 2000.
fn stream(length: u64) -> Vec<u64> {
    let mut random = Random::new(7);
    let mut keys: Vec<u64> = Vec::new();
    for i in 0..length as usize {
        let key =
            if i > 2000 && random.happens(1.0 / 3.0) { keys[i - 1 - random.below(2000)] } else { i as u64 };
        keys.push(key);
    }
    keys
}

/// Feeds a stream with repeats, and queries all items of the window again and again, at all phases.
#[track_caller]
pub(super) fn assert_never_forgets_the_window(rival: &mut dyn Rival) {
    let window = BUDGET.window;
    assert!(rival.own_window().is_some_and(|own| own >= window), "promises {:?}", rival.own_window());
    let stream: Vec<u64> = stream(6 * window).into_iter().map(hash_of).collect();
    for (i, &hash) in stream.iter().enumerate() {
        rival.insert(hash);
        // Query the oldest item of the window at every step, and all items now and then (a prime step meets
        // all phases).
        let oldest = (i + 1).saturating_sub(window as usize);
        assert!(rival.contains(stream[oldest]), "insert {oldest} is forgotten after insert {i}");
        if i % 1009 == 0 {
            let lost = (oldest..=i).find(|&j| !rival.contains(stream[j]));
            assert_eq!(lost, None, "forgotten after insert {i}");
        }
    }
    assert!(rival.memory_bits() <= BUDGET.memory_bits, "{} bits", rival.memory_bits());
}

/// Asserts that items of this age (in inserts) or older are reported as rarely as strangers, give or take 1%
/// of the items and a quarter of the strangers reported.
#[track_caller]
pub(super) fn assert_forgets_after(rival: &mut dyn Rival, age: u64) {
    let inserts = (8 * BUDGET.window).max(age + BUDGET.window) + 17;
    (0..inserts).for_each(|key| rival.insert(hash_of(key)));
    let old = (0..2000).filter(|back| rival.contains(hash_of(inserts - 1 - age - back))).count();
    let strange = strangers_reported(rival, 2000);
    assert!(old <= strange + 20 + strange / 4, "{old} of 2000 old items, {strange} of 2000 strangers");
}

/// Inserts one item once, and then only another one, which overwrites none of its traces. Asserts that the
/// first item is never reported again after it has left the last `age` inserts, however often clocks wrap.
#[track_caller]
pub(super) fn assert_never_reports_again_after(rival: &mut dyn Rival, age: u64) {
    rival.insert(hash_of(1));
    for inserts in 1..20 * BUDGET.window {
        assert!(inserts <= age || !rival.contains(hash_of(1)), "still reported after {inserts} inserts");
        rival.insert(hash_of(2));
    }
}

pub(super) fn strangers_reported(rival: &dyn Rival, number: u64) -> usize {
    (0..number).filter(|key| rival.contains(hash_of(STRANGERS + key))).count()
}

/// Asserts that the filter, in its steady state, has the rates that the choice of parameters assumed.
#[track_caller]
pub(super) fn assert_behaves_as(outlook: Outlook, rival: &mut dyn Rival) {
    let near = |measured: f64, supposed: f64| (measured / supposed - 1.0).abs() < 0.1;
    let settled = forgotten_by_window(rival, 60).split_off(40);
    let lost = settled.iter().sum::<f64>() / settled.len() as f64;
    assert!(near(lost, outlook.false_negative_rate), "{lost} lost, {outlook:?}");
    let rate = strangers_reported(rival, 100_000) as f64 / 1e5;
    assert!(near(rate, outlook.false_positive_rate), "{rate} reported, {outlook:?}");
}

/// Returns the share of the last `window` inserts that are not reported, after a stream of distinct items.
pub(super) fn forgotten_in_window(rival: &mut dyn Rival) -> f64 {
    forgotten_by_window(rival, 10)[9]
}

/// The same, after each of `windows` windows.
fn forgotten_by_window(rival: &mut dyn Rival, windows: u64) -> Vec<f64> {
    let forgotten = |number: u64| {
        let keys = number * BUDGET.window..(number + 1) * BUDGET.window;
        keys.clone().for_each(|key| rival.insert(hash_of(key)));
        keys.filter(|&key| !rival.contains(hash_of(key))).count() as f64 / BUDGET.window as f64
    };
    (0..windows).map(forgotten).collect()
}

/// Asserts that a filter with a queue forgets exactly what has left the window; that after ten windows of distinct
/// items, only those of the last have raised counters; and that items that come often leave no false negative.
#[track_caller]
pub(super) fn assert_window_is_exact<C: Counters>() {
    let new = || Queued::<C>::new(BUDGET).expect("fits");
    assert_never_forgets_the_window(&mut new());
    assert_forgets_after(&mut new(), BUDGET.window);
    let mut distinct = new();
    (0..10 * BUDGET.window).for_each(|key| distinct.insert(hash_of(key)));
    assert_counters_are_those_of_the_window(&distinct);
    assert_often_inserted_items_leave_no_false_negative(&mut new());
}

#[track_caller]
pub(super) fn assert_counters_are_those_of_the_window<C: Counters>(filter: &Queued<C>) {
    let (raised, expected) = filter.raised();
    assert!((raised / expected - 1.0).abs() < 0.03, "{raised}, expected {expected}");
}

/// Inserts one item a hundred times, then others that may share its counters while it leaves. Asserts that no
/// item of the window is forgotten.
#[track_caller]
pub(super) fn assert_often_inserted_items_leave_no_false_negative(rival: &mut dyn Rival) {
    (0..100).for_each(|_| rival.insert(hash_of(0)));
    for key in 1..3 * BUDGET.window {
        rival.insert(hash_of(key));
        assert!(rival.contains(hash_of(key)));
        assert!(key < BUDGET.window || rival.contains(hash_of(key + 1 - BUDGET.window)));
    }
}

//! Promise 1: each of the last `window` inserts is reported, at every phase, in every layout, and after a
//! restore.

mod common;

use common::{ExactWindow, Random, item, shapes, with_shape};
use lately::Filter;

/// Windows for a shape: with g = 1, with a larger g, and one that l does not divide.
fn windows(window_generations: u32) -> [u64; 3] {
    let l = u64::from(window_generations);
    [l, 7 * l, 12 * l - l / 2]
}

/// Returns enough inserts for several full turns of the ring.
fn turns(filter: &Filter) -> u64 {
    let plan = filter.plan();
    3 * u64::from(plan.shape.segments()) * plan.items_per_generation + 1
}

#[test]
fn every_insert_of_the_window_is_reported_at_every_phase() {
    for shape in shapes() {
        for window in windows(shape.window_generations) {
            let mut filter = with_shape(&shape).window(window).build().unwrap();
            let guaranteed = filter.guaranteed_window();
            assert!(guaranteed >= window, "{shape}: {guaranteed} < {window}");
            for newest in 0..turns(&filter) {
                filter.insert(item(newest));
                for old in (newest + 1).saturating_sub(guaranteed)..=newest {
                    assert!(
                        filter.contains(item(old)),
                        "{shape} g*l={guaranteed}: {old} lost after {newest}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_insert_of_the_window_is_reported_when_items_repeat() {
    for shape in shapes() {
        let window = windows(shape.window_generations)[2];
        let mut filter = with_shape(&shape).window(window).seed(7).build().unwrap();
        let mut exact = ExactWindow::default();
        let mut random = Random(u64::from(shape.segments()));
        for _ in 0..turns(&filter) {
            let number = random.below(window * 2);
            let known = exact.inserts_since(number).is_some_and(|since| since < filter.guaranteed_window());
            let reported = filter.check_and_insert(item(number));
            assert!(reported || !known, "{shape}: {number} is in the window but not reported");
            exact.insert(number, 0);
            for old in exact.of_last(filter.guaranteed_window()) {
                assert!(filter.contains(item(old)), "{shape}: {old} lost");
            }
        }
    }
}

#[test]
fn a_restored_filter_keeps_the_window_and_goes_on_bit_for_bit_at_every_phase() {
    for shape in shapes() {
        let window = windows(shape.window_generations)[1];
        let mut filter = with_shape(&shape).window(window).build().unwrap();
        for newest in 0..turns(&filter) / 2 {
            filter.insert(item(newest));
            let mut restored = Filter::from_bytes(&filter.to_bytes()).unwrap();
            assert!(restored == filter, "{shape} after {newest}");
            restored.insert("next");
            let mut continued = filter.clone();
            continued.insert("next");
            assert!(restored == continued, "{shape} after {newest}");
        }
    }
}

#[test]
fn the_window_is_l_generations_and_not_one_more() {
    // Right after a shift, items inserted l + 1 generations ago have lost a segment. If none of many is
    // missing, the window is larger than promised, and memory is wasted.
    for shape in shapes() {
        let mut filter = with_shape(&shape).window(40 * u64::from(shape.window_generations)).build().unwrap();
        let g = filter.plan().items_per_generation;
        assert_eq!(filter.guaranteed_window(), g * u64::from(shape.window_generations));
        let inserts = u64::from(shape.segments()) * g + 1;
        (0..inserts).for_each(|number| filter.insert(item(number)));
        let expired = inserts - 1 - filter.guaranteed_window() - g..inserts - 1 - filter.guaranteed_window();
        assert!(expired.clone().any(|number| !filter.contains(item(number))), "{shape}: nothing forgotten");
    }
}

#[test]
fn check_or_insert_of_a_repeat_neither_ages_nor_refreshes() {
    for shape in shapes() {
        let mut filter = with_shape(&shape).window(100).build().unwrap();
        assert!(!filter.check_or_insert("first"));
        let before = filter.clone();
        for _ in 0..1000 {
            assert!(filter.check_or_insert("first"));
        }
        assert!(filter == before);
        // Only new items count towards the window.
        let lifetime = u64::from(shape.segments() + 1) * filter.plan().items_per_generation;
        let mut fresh = 0;
        while filter.statistics().inserts < lifetime {
            filter.check_or_insert(item(fresh));
            fresh += 1;
        }
        assert_eq!(filter.statistics().inserts, lifetime);
    }
}

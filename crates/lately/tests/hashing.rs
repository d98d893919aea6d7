//! Positions derived from one hash behave like independent hash functions, even if slices are small and many
//! of them must match. There, plain double hashing reports several times too many strangers.

mod common;

use common::{assert_rate_is, item, with_shape};
use lately::{Filter, HashFunction, Segment, Shape};

/// Compares how many strangers freshly filled filters report with the exact model, which assumes independent
/// hashes.
fn check(shape: &Shape, window: u64, hash_function: HashFunction, hits: f64, name: impl Fn(u64) -> Vec<u8>) {
    let mut filter: Filter = with_shape(shape).window(window).hash_function(hash_function).build().unwrap();
    let plan = filter.plan();
    let inserts = u64::from(shape.segments()) * plan.items_per_generation;
    let fillings = 100;
    let trials = (hits / plan.false_positive_rate) as u64 / fillings;
    let mut reported = 0;
    for filling in 0..fillings {
        filter.clear();
        let first = filling << 32;
        (first..first + inserts).for_each(|number| filter.insert(name(number)));
        let strangers = first + (1 << 31)..first + (1 << 31) + trials;
        reported += strangers.filter(|&number| filter.contains(name(number))).count() as u64;
    }
    let what = format!("{shape} m={} {hash_function:?}", plan.cells);
    assert_rate_is(reported, trials * fillings, plan.false_positive_rate, &what);
}

#[test]
fn small_slices_with_many_matches_have_the_rate_of_independent_hashes() {
    // k = 20 and m close to 2000, where the floor of double hashing shows.
    let shape = Shape::slices(20, 33);
    let window = 67 * 33;
    let m = with_shape(&shape).window(window).plan().unwrap().cells;
    assert!((1_900..2_000).contains(&m), "{m}");
    check(&shape, window, HashFunction::default(), 250.0, |number| item(number).to_vec());
}

#[test]
fn small_slices_of_several_parts_have_the_rate_of_independent_hashes() {
    let shape = Shape { required_matches: 5, window_generations: 7, segment: Segment::Slices { parts: 2 } };
    for window in [70, 700] {
        check(&shape, window, HashFunction::default(), 3_000.0, |number| item(number).to_vec());
    }
}

#[test]
fn few_blocks_have_the_rate_of_independent_hashes() {
    for shape in [Shape::blocks(3, 5, 512, 4), Shape::blocks(3, 5, 64, 4), Shape::blocks(2, 5, 64, 8)] {
        check(&shape, 1_000, HashFunction::default(), 2_000.0, |number| item(number).to_vec());
    }
}

#[test]
fn many_blocks_have_the_rate_of_independent_hashes() {
    // Block index and bits in the block must not share hash bits: here they take 17 and 48 of them.
    let shape = Shape::blocks(1, 2, 512, 8);
    let mut filter = with_shape(&shape).window(16_000_000).build().unwrap();
    assert!(filter.plan().cells > 1 << 17);
    let inserts = common::fill_to_worst_moment(&mut filter, 0);
    let trials = 4_000_000;
    let reported = (inserts..inserts + trials).filter(|&number| filter.contains(item(number))).count() as u64;
    assert_rate_is(reported, trials, filter.plan().false_positive_rate, "2^17 blocks");
}

#[test]
fn rows_have_the_rate_of_independent_hashes() {
    // Each segment takes its bits from its own part of the hash. One mask for all segments of a row would
    // report several times as many strangers.
    let rows = |k, l, row_bytes, parts| Shape {
        required_matches: k,
        window_generations: l,
        segment: Segment::Rows { row_bytes, parts },
    };
    for shape in [rows(5, 10, 64, 2), rows(7, 24, 128, 2)] {
        check(&shape, 20_000, HashFunction::default(), 2_000.0, |number| item(number).to_vec());
    }
}

#[test]
fn seeds_keys_and_the_form_of_items_do_not_change_the_rate() {
    let shape = Shape::slices(10, 7);
    let text = |number: u64| format!("https://example.org/order/{number}?page=1").into_bytes();
    check(&shape, 2_000, HashFunction::Xxh3 { seed: u64::MAX }, 2_000.0, text);
    check(&shape, 2_000, HashFunction::SipHash13 { key: [7; 16] }, 2_000.0, text);
    check(&shape, 2_000, HashFunction::SipHash13 { key: [0; 16] }, 2_000.0, |number| item(number).to_vec());
}

#[test]
fn no_debug_output_has_the_secret_key() {
    let hash_function = HashFunction::SipHash13 { key: [0xab; 16] };
    let builder = Filter::builder().window(100).false_positive_rate(1e-3).hash_function(hash_function);
    let (filter, shared) = (builder.build().unwrap(), builder.build_shared().unwrap());
    let texts =
        [format!("{hash_function:?}"), format!("{builder:?}"), format!("{filter:?}"), format!("{shared:?}")];
    for text in texts {
        assert!(!text.is_empty() && !text.contains("171") && !text.to_lowercase().contains("abab"), "{text}");
    }
    assert_eq!(format!("{hash_function:?}"), "SipHash13 { .. }");
    assert_eq!(format!("{:?}", HashFunction::default()), "Xxh3 { seed: 0 }");
}

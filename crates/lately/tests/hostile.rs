//! Senders who know the algorithm, but not the key, cannot raise the rate of a keyed filter above its promise, or make it
//! spill or grow. The same items break a filter whose seed they know.

mod common;

use std::time::Duration;

use common::{assert_rate_is, chosen};
use lately::{Builder, Filter, HashFunction, Layout};

const RATE: f64 = 1e-3;
const KEYED: HashFunction = HashFunction::SipHash13 { key: *b"nobody knows it!" };
const STRANGERS: u64 = 400_000;

/// The strangers of 400 000 that the filter reports. They are not chosen by anybody.
fn mistaken(filter: &Filter) -> u64 {
    (0..STRANGERS).filter(|number| filter.contains(format!("stranger {number}"))).count() as u64
}

fn filled(builder: &Builder, hash_function: HashFunction, items: &[u64]) -> Filter {
    let mut filter = builder.clone().hash_function(hash_function).build().unwrap();
    filter.advance_to(1);
    filter.insert_batch(items);
    filter
}

fn attack(count: usize) {
    let (items, others) = (chosen(count), (0..count as u64).collect::<Vec<_>>());
    for &layout in &common::LAYOUTS {
        let builder = Filter::builder().window(count as u64).false_positive_rate(RATE).layout(layout);
        let keyed = filled(&builder, KEYED, &items);
        let reported = mistaken(&keyed);
        // The rate of these bits, which is below that of the worst moment, and of small filters that are unlucky.
        let told = keyed.statistics().estimated_false_positive_rate;
        assert!(told <= RATE * 1.1, "{layout}: {told:e}");
        assert_rate_is(reported, STRANGERS, told, &format!("{layout}, keyed"));
        assert!(items.iter().all(|item| keyed.contains(item)));
        if [Layout::Rows, Layout::Bins].contains(&layout) {
            let known = filled(&builder, HashFunction::default(), &items);
            let rate = mistaken(&known) as f64 / STRANGERS as f64;
            println!("{layout}, {count} items: {rate:.1e} with a known seed, {told:.1e} with a key");
            assert!(rate > 10.0 * RATE, "{layout}: the attack on a known seed does not work: {rate:e}");
            assert!(items.iter().all(|item| known.contains(item)), "nothing is lost even then");
        }
        if layout == Layout::Bins {
            let spilled = |items: &[u64], hash| {
                let bins = filled(&builder, hash, items);
                bins.statistics().estimated_spilled_items / items.len() as f64
            };
            let [keyed, known, usual] = [
                spilled(&items, KEYED),
                spilled(&items, HashFunction::default()),
                spilled(&others, HashFunction::default()),
            ];
            println!(
                "spilled: {known:.1e} with a known seed, {keyed:.1e} with a key, {usual:.1e} of other items"
            );
            assert!(known > 0.01 && keyed < 2.0 * usual + 1e-3, "{known:e} {keyed:e} {usual:e}");
        }
    }
    let elastic = Filter::builder().time_window(Duration::from_secs(60)).false_positive_rate(RATE);
    let [keyed, known, usual] = [
        filled(&elastic, KEYED, &items),
        filled(&elastic, HashFunction::default(), &items),
        filled(&elastic, HashFunction::default(), &others),
    ];
    let [keyed_bytes, known_bytes, usual_bytes] = [&keyed, &known, &usual].map(Filter::memory_bytes);
    let [keyed_rate, known_rate] = [&keyed, &known].map(|filter| mistaken(filter) as f64 / STRANGERS as f64);
    println!(
        "elastic: {known_bytes} bytes and {known_rate:.1e} with a known seed, {keyed_bytes} and {keyed_rate:.1e} with a key"
    );
    assert!(
        keyed_bytes <= usual_bytes + usual_bytes / 50,
        "{keyed_bytes} bytes, {usual_bytes} for other items"
    );
    assert!(
        common::chance_of((keyed_rate * STRANGERS as f64) as u64, STRANGERS, RATE) > common::IMPOSSIBLE
            || keyed_rate <= RATE
    );
}

#[test]
fn chosen_items_break_a_known_seed_and_no_key() {
    attack(20_000);
}

#[test]
#[ignore = "slow: ./test --full"]
fn a_million_chosen_items_break_a_known_seed_and_no_key() {
    attack(1_000_000);
}

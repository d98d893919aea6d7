//! Items: the same bytes for the same values in every form, one at a time and many, in both kinds of filter.

mod common;

use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};
use std::rc::Rc;
use std::sync::Arc;

use common::{Random, item};
use lately::{AnyFilter, CompositeKey, Filter, HashFunction, Item, SharedFilter, UnseenExt};
use proptest::prelude::*;

fn bytes_of(item: impl Item) -> Vec<u8> {
    item.with_bytes(<[u8]>::to_vec)
}

fn filter() -> Filter {
    Filter::new(10_000, 1e-9).unwrap()
}

#[test]
fn text_and_bytes_are_their_bytes_behind_any_pointer() {
    let owned = String::from("order-17");
    for bytes in [
        bytes_of("order-17"),
        bytes_of(&owned),
        bytes_of(owned.clone()),
        bytes_of(*b"order-17"),
        bytes_of(b"order-17"),
        bytes_of(b"order-17".to_vec()),
        bytes_of(&b"order-17"[..]),
        bytes_of(owned.clone().into_boxed_str()),
        bytes_of(Rc::<str>::from("order-17")),
        bytes_of(Arc::<str>::from("order-17")),
        bytes_of(Cow::from("order-17")),
    ] {
        assert_eq!(bytes, b"order-17");
    }
}

#[test]
fn integers_of_every_type_are_their_decimal_text() {
    macro_rules! check {
        ($($type:ty),+) => {$(
            for number in [<$type>::MIN, 0, 1, 9, 10, 99, <$type>::MAX] {
                assert_eq!(bytes_of(number), number.to_string().as_bytes());
            }
        )+};
    }
    check!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
}

#[test]
fn tuples_are_netstrings_of_their_values() {
    assert_eq!(bytes_of(("user-5", 17)), b"6:user-5,2:17,");
    assert_eq!(bytes_of((b"", -1_i8, "a,b:c")), b"0:,2:-1,5:a,b:c,");
    assert_eq!(bytes_of((1, 2, 3, 4, 5, 6)), b"1:1,1:2,1:3,1:4,1:5,1:6,");
    assert_eq!(bytes_of((("a", "b"), "c")), b"8:1:a,1:b,,1:c,");
    assert_eq!(CompositeKey::new().as_bytes(), b"");
}

proptest! {
    /// Decodes the key by the rule in docs/format.md, so no two lists of values can have the same key.
    #[test]
    fn a_key_tells_its_values(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..6)) {
        let mut key = CompositeKey::new();
        values.iter().for_each(|value| key.push(value));
        let (mut rest, mut decoded) = (key.as_bytes(), Vec::new());
        while !rest.is_empty() {
            let colon = rest.iter().position(|&byte| byte == b':').unwrap();
            let length: usize = std::str::from_utf8(&rest[..colon]).unwrap().parse().unwrap();
            let value = &rest[colon + 1..][..length];
            prop_assert_eq!(rest[colon + 1 + length], b',');
            decoded.push(value.to_vec());
            rest = &rest[colon + 2 + length..];
        }
        prop_assert_eq!(decoded, values);
    }
}

#[test]
fn hashes_are_those_of_the_bytes() {
    for hash_function in
        [HashFunction::default(), HashFunction::Xxh3 { seed: 7 }, HashFunction::SipHash13 { key: [3; 16] }]
    {
        assert_eq!(hash_function.hash_of(17_u64), hash_function.hash(b"17"));
        assert_eq!(hash_function.hash_of(("a", 1)), hash_function.hash(b"1:a,1:1,"));
    }
}

#[test]
fn extending_equals_inserting() {
    for count in [0, 1, 255, 256, 257, 5_000] {
        let (mut extended, mut inserted) = (filter(), filter());
        extended.extend((0..count).map(|number| ("order", number)));
        (0..count).for_each(|number| inserted.insert(("order", number)));
        assert!(extended == inserted);
        let mut shared = SharedFilter::try_from(filter()).unwrap();
        shared.extend((0..count).map(|number| ("order", number)));
        assert!(shared.to_filter() == inserted);
    }
}

/// The numbers of a random stream, and those that are new in it.
fn stream() -> (Vec<u64>, Vec<u64>) {
    let mut random = Random(5);
    let numbers: Vec<u64> = (0..3_000).map(|_| random.below(1_000)).collect();
    let mut seen = std::collections::HashSet::new();
    let new = numbers.iter().copied().filter(|number| seen.insert(*number)).collect();
    (numbers, new)
}

#[test]
fn unseen_passes_each_item_of_the_window_once() {
    let (numbers, new) = stream();
    let mut own = filter();
    assert!(numbers.iter().unseen(&mut own).copied().eq(new.iter().copied()));
    assert_eq!(numbers.iter().unseen(&mut own).count(), 0, "the filter remembers them");
    let shared = SharedFilter::try_from(filter()).unwrap();
    assert!(numbers.iter().copied().unseen_by(&shared, |number| item(*number)).eq(new));
    assert_eq!(shared.counters().inserts, 3_000, "every sighting refreshes");
    assert_eq!((0..9).unseen(&shared).size_hint(), (0, Some(9)));
}

#[cfg(feature = "futures")]
#[test]
fn unseen_streams_equal_unseen_iterators() {
    use futures::executor::block_on_stream;
    use lately::UnseenStreamExt;

    let (numbers, new) = stream();
    let mut own = filter();
    let unseen = UnseenStreamExt::unseen(futures::stream::iter(numbers.clone()), &mut own);
    assert!(block_on_stream(unseen).eq(new.iter().copied()));
    let shared = SharedFilter::try_from(filter()).unwrap();
    let unseen = futures::stream::iter(numbers);
    let unseen = UnseenStreamExt::unseen_by(unseen, &shared, |number| ("order", *number));
    assert!(block_on_stream(unseen).eq(new));
}

/// Calls every method of the trait; returns what they say.
fn tour(mut filter: impl AnyFilter) -> Vec<String> {
    let items: Vec<u64> = (0..500).collect();
    let hashes: Vec<u64> = items.iter().map(|item| filter.hash_of(item)).collect();
    let mut seen = vec![false; items.len()];
    let mut told = Vec::new();
    filter.advance_to(1_000);
    filter.insert("a");
    filter.insert_hash(hashes[0]);
    filter.insert_batch(&items[..100]);
    filter.insert_hash_batch(&hashes[100..200]);
    told.push(format!("{:?}", (filter.check_and_insert("a"), filter.check_and_insert_hash(hashes[0]))));
    told.push(format!("{:?}", (filter.check_or_insert("b"), filter.check_or_insert_hash(hashes[1]))));
    told.push(format!("{:?}", (filter.contains("b"), filter.contains_hash(hashes[499]))));
    filter.check_and_insert_batch(&items[..300], &mut seen[..300]);
    told.push(format!("{seen:?}"));
    filter.check_or_insert_batch(&items[..350], &mut seen[..350]);
    filter.check_and_insert_hash_batch(&hashes[..400], &mut seen[..400]);
    filter.check_or_insert_hash_batch(&hashes[..450], &mut seen[..450]);
    told.push(format!("{seen:?}"));
    filter.contains_batch(&items, &mut seen);
    told.push(format!("{seen:?}"));
    filter.contains_hash_batch(&hashes, &mut seen);
    told.push(format!("{seen:?} {:?} {:?}", filter.age_of("a"), filter.age_of_hash(hashes[0])));
    told.push(format!("{:?} {:?}", filter.latest_ms(), filter.next_shift_ms()));
    told.push(format!("{:?} {:?}", filter.guaranteed_window(), filter.guaranteed_span()));
    told.push(format!("{:?} {:?} {}", filter.window(), filter.plan(), filter.memory_bytes()));
    told.push(format!("{:?} {:?}", filter.counters(), filter.statistics()));
    filter.clear();
    told.push(format!("{:?} {}", filter.hash_function(), filter.contains("a")));
    told
}

#[test]
fn every_kind_of_filter_is_any_filter() {
    let span = std::time::Duration::from_secs(60);
    let builder = Filter::builder().time_window(span).capacity(10_000).false_positive_rate(1e-9);
    let mut own = builder.build().unwrap();
    let told = tour(&mut own.clone());
    assert_eq!(told, tour(own.clone()));
    assert_eq!(told, tour(&mut &mut own));
    assert_eq!(told, tour(builder.build_shared().unwrap()));
    assert_eq!(told, tour(&builder.build_shared().unwrap()));
    assert_eq!(told, tour(Arc::new(builder.build_shared().unwrap())));
}

#[test]
fn threads_extend_a_shared_filter_through_references() {
    let shared = SharedFilter::try_from(filter()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let mut shared = &shared;
            scope.spawn(move || shared.extend((0..1_000).map(|number| (thread, number))));
        }
    });
    assert!((0..3).all(|thread| (0..1_000).all(|number| shared.contains((thread, number)))));
}

#[test]
fn keys_compare_collect_and_print_as_their_bytes() {
    let key: CompositeKey = ["user-5", "17"].into_iter().collect();
    let mut same = CompositeKey::new();
    same.extend(["user-5"]);
    same.push(&17);
    assert_eq!(key, same);
    let other: CompositeKey = ["user-5", "18"].into_iter().collect();
    assert_ne!(key, other);
    let hash = |key: &CompositeKey| {
        let mut hasher = std::hash::DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish()
    };
    assert!(hash(&key) == hash(&same) && hash(&key) != hash(&other));
    assert_eq!(format!("{key:?}"), "CompositeKey(\"6:user-5,2:17,\")");
    assert_ne!(
        bytes_of(["a"].into_iter().collect::<CompositeKey>()),
        bytes_of("a"),
        "one value is not a list"
    );
}

/// A struct can hold the adapters and the views of filters.
#[test]
fn adapters_and_views_are_ordinary_values() {
    struct Pipeline {
        unseen: lately::Unseen<std::vec::IntoIter<u64>, Filter>,
    }
    fn is_copy<T: Copy>(_: T) {}

    let mut pipeline = Pipeline { unseen: vec![1, 2, 1].into_iter().unseen(filter()) };
    assert!(pipeline.unseen.by_ref().eq([1, 2]));
    assert!(format!("{:?}", pipeline.unseen).starts_with("Unseen"));
    let (rest, filter) = pipeline.unseen.into_parts();
    assert!(rest.len() == 0 && filter.contains(2));
    is_copy(filter.as_of(5));
    let shared = SharedFilter::try_from(filter).unwrap();
    is_copy(shared.as_of(5));
}

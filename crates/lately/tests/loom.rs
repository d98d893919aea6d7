//! Threads that share a filter, in every interleaving that loom finds (up to three preemptions, with memory
//! reordering).
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test --release --test loom`. Most filters are as small as possible,
//! so that every insert causes a shift, and two items share one row.
#![cfg(loom)]

use std::time::Duration;

use lately::{Filter, Segment, SharedFilter};
use loom::sync::Arc;
use loom::thread;

const ROWS: Segment = Segment::Rows { row_bytes: 64, parts: 1 };
const BINS: Segment = Segment::Bins { fingerprint_bits: 16 };
const SLICES: Segment = Segment::Slices { parts: 1 };
const BLOCKS: Segment = Segment::Blocks { block_bits: 64, bits_per_block: 1 };

/// k = 1, l = 2 and g = 1: the last two inserts are always reported, and nearly every insert causes a shift.
fn template(segment: Segment, inserts: u64) -> Filter {
    let mut filter = Filter::builder().window(2).shape(1, 2).segment(segment).build().unwrap();
    assert_eq!(filter.guaranteed_window(), 2);
    (0..inserts).for_each(|number| filter.insert_hash(hash(100 + number)));
    filter
}

/// The low bits are well mixed and the high bits are equal, so that all items are in one row.
fn hash(number: u64) -> u64 {
    (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(0x2545_f491_4f6c_dd1d) >> 12
}

/// Readers are spawned, because loom finds few interleavings of a reader on the main thread.
fn check(template: &Filter, run: impl Fn(Arc<SharedFilter>) + Sync + Send + 'static) {
    // An item of bins has two lines of eight words, which takes loom far longer.
    let is_bins = matches!(template.plan().shape.segment, Segment::Bins { .. });
    check_up_to(if is_bins { 2 } else { 3 }, template, run);
}

fn check_up_to(
    preemptions: usize,
    template: &Filter,
    run: impl Fn(Arc<SharedFilter>) + Sync + Send + 'static,
) {
    let template = template.clone();
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || run(Arc::new(SharedFilter::try_from(template.clone()).unwrap())));
}

fn spawn<T: 'static>(
    filter: &Arc<SharedFilter>,
    run: impl FnOnce(&SharedFilter) -> T + 'static,
) -> thread::JoinHandle<T> {
    let filter = filter.clone();
    thread::spawn(move || run(&filter))
}

/// Two concurrent inserts, each of which causes a shift: when both have returned, both items are reported.
#[test]
fn two_concurrent_inserts_are_both_reported() {
    for segment in [ROWS, BINS, SLICES, BLOCKS] {
        // For rows: fresh rows, rows that are one generation behind, and rows that are behind by more than
        // all generations.
        for inserts in [0, 1, 5] {
            check(&template(segment, inserts), |filter| {
                let other = spawn(&filter, |filter| filter.insert_hash(hash(1)));
                filter.insert_hash(hash(2));
                other.join().unwrap();
                assert!(filter.contains_hash(hash(1)) && filter.contains_hash(hash(2)));
            });
        }
    }
}

/// A query during one insert: the item inserted just before is still in the window.
#[test]
fn a_query_during_an_insert_finds_the_items_of_the_window() {
    for segment in [ROWS, BINS, SLICES, BLOCKS] {
        for inserts in [1, 2, 6] {
            check(&template(segment, inserts), move |filter| {
                let query = spawn(&filter, move |filter| filter.contains_hash(hash(100 + inserts - 1)));
                filter.insert_hash(hash(1));
                assert!(query.join().unwrap());
            });
        }
    }
}

/// An item that is inserted again and again never leaves the window, however many shifts happen during a
/// query.
#[test]
fn a_query_finds_an_item_that_is_refreshed_in_time() {
    for segment in [ROWS, BINS, SLICES, BLOCKS] {
        let mut template = template(segment, 3);
        template.insert_hash(hash(1));
        // Three inserts, each with a shift, during a query; more preemptions would take hours.
        check_up_to(1, &template, |filter| {
            let query = spawn(&filter, |filter| filter.contains_hash(hash(1)));
            let inserts = spawn(&filter, |filter| (0..3).for_each(|_| filter.insert_hash(hash(1))));
            assert!(query.join().unwrap());
            inserts.join().unwrap();
        });
    }
}

/// A thread finds its own item while another thread's insert shifts.
#[test]
fn a_thread_finds_its_own_insert() {
    for segment in [ROWS, BINS, SLICES] {
        check(&template(segment, 3), |filter| {
            let other = spawn(&filter, |filter| filter.insert_hash(hash(1)));
            filter.insert_hash(hash(2));
            assert!(filter.contains_hash(hash(2)));
            other.join().unwrap();
        });
    }
}

/// In rows and bins, if two threads check and insert the same new item at once, exactly one is told that it is
/// new.
#[test]
fn exactly_one_of_two_threads_is_told_that_an_item_is_new() {
    for (segment, inserts) in [(ROWS, 0), (ROWS, 3), (BINS, 0), (BINS, 3)] {
        check(&template(segment, inserts), |filter| {
            let other = spawn(&filter, |filter| filter.check_and_insert_hash(hash(1)));
            let seen = filter.check_or_insert_hash(hash(1));
            assert_ne!(seen, other.join().unwrap());
        });
    }
}

/// In bins, an item that comes again moves others of its line. A query meanwhile finds them, and so does a thread
/// that inserts them at the same time.
#[test]
fn items_that_move_in_their_line_are_found() {
    let mut template = Filter::builder().window(400).shape(1, 2).segment(BINS).build().unwrap();
    // A full line: all items have the same even line, so nearly all are in it.
    let room = template.plan().items_per_generation;
    (0..room).for_each(|number| template.insert_hash(hash(number % 8)));
    template.insert_hash(hash(8));
    assert_eq!(template.counters().generation, 1, "the first eight items are a generation old");
    for action in [SharedFilter::contains_hash, SharedFilter::check_and_insert_hash] {
        check_up_to(2, &template, move |filter| {
            let others = spawn(&filter, move |filter| [3, 7].map(|number| action(filter, hash(number))));
            filter.insert_hash(hash(0));
            assert_eq!(others.join().unwrap(), [true; 2]);
            assert!((0..9).all(|number| filter.contains_hash(hash(number))));
        });
    }
}

/// Bins at the time 10, with all lines full and a few items in the spare, and two items that will be spilled. They
/// have different even lines, and share cells of the spare.
fn template_that_spills() -> (Filter, [u64; 2]) {
    let narrow = Segment::Bins { fingerprint_bits: 12 };
    let builder = Filter::builder().time_window(Duration::from_millis(2)).capacity(60).shape(1, 2);
    let mut filter = builder.segment(narrow).build().unwrap();
    filter.advance_to(10);
    let spilled = |filter: &Filter| filter.statistics().estimated_spilled_items;
    let mut number = 100;
    while spilled(&filter) < 4.0 {
        filter.insert_hash(hash(number) | number << 63);
        number += 1;
    }
    let items = [hash(1), hash(2) | 1 << 63];
    for item in items {
        let mut after = filter.clone();
        assert!(
            !after.check_and_insert_hash(item) && spilled(&after) > spilled(&filter),
            "the item is spilled"
        );
    }
    (filter, items)
}

/// One item is spilled beside a shift, another one after it: no cell of the second one becomes older, so it stays for a
/// whole span.
#[test]
fn an_item_that_is_spilled_after_a_shift_stays_for_the_whole_span() {
    let (template, [beside, after]) = template_that_spills();
    check_up_to(3, &template, move |filter| {
        let other = spawn(&filter, move |filter| filter.insert_hash(beside));
        filter.advance_to(11);
        filter.insert_hash(after);
        other.join().unwrap();
        filter.advance_to(13);
        assert!(filter.contains_hash(after));
    });
}

/// A query beside a shift and the spill of another item finds an item that was spilled earlier, and so does an insert.
#[test]
fn a_query_beside_a_spill_finds_what_was_spilled_earlier() {
    let (mut template, [earlier, item]) = template_that_spills();
    template.insert_hash(earlier);
    for action in [SharedFilter::contains_hash, SharedFilter::check_and_insert_hash] {
        check_up_to(3, &template, move |filter| {
            let query = spawn(&filter, move |filter| action(filter, earlier));
            filter.advance_to(11);
            filter.insert_hash(item);
            assert!(query.join().unwrap());
            assert!(filter.contains_hash(earlier) && filter.contains_hash(item));
        });
    }
}

/// Of two threads that spill the same item, exactly one is told that it is new, even if a shift happens meanwhile.
#[test]
fn exactly_one_of_two_threads_that_spill_an_item_is_told_that_it_is_new() {
    let (template, [item, _]) = template_that_spills();
    for shifts in [0, 1] {
        check_up_to(3, &template, move |filter| {
            let other = spawn(&filter, move |filter| filter.check_and_insert_hash(item));
            filter.advance_to(10 + shifts);
            let seen = filter.check_or_insert_hash(item);
            assert_ne!(seen, other.join().unwrap());
        });
    }
}

/// A batch holds rows while it claims the next one. Two batches that want each other's rows both finish, and
/// so does a batch that wants the same row twice. Each item is new to exactly one of the batches.
#[test]
fn batches_on_the_same_rows_do_not_deadlock() {
    let (first_row, last_row) = ([hash(1), hash(2)], hash(3) | 1 << 63);
    let cases = [ROWS, BINS].map(|segment| [(segment, [first_row[0], last_row]), (segment, first_row)]);
    for (segment, items) in cases.into_iter().flatten() {
        let template = Filter::builder().window(100).shape(1, 2).segment(segment).build().unwrap();
        assert!(template.plan().cells > 1);
        check(&template, move |filter| {
            let seen_in = |filter: &SharedFilter, items: [u64; 2]| {
                let mut seen = [false; 2];
                filter.check_and_insert_hash_batch(&items, &mut seen);
                seen
            };
            let other = spawn(&filter, move |filter| seen_in(filter, [items[1], items[0]]));
            let [first, second] = seen_in(&filter, items);
            let [other_second, other_first] = other.join().unwrap();
            assert!(first != other_first && second != other_second);
        });
    }
}

/// A shift while a batch holds rows and claims the next one. Another insert brings the new generation to that
/// row first, or its housekeeping waits for the row: both threads finish, and no item is lost.
#[test]
fn a_shift_in_the_middle_of_a_batch_loses_nothing() {
    let mut template = Filter::builder().window(100).shape(1, 2).segment(ROWS).build().unwrap();
    assert!(template.plan().cells > 1);
    let (first_row, last_row) = (hash(1), [hash(2) | 1 << 63, hash(3) | 1 << 63]);
    // The batch completes the generation.
    let room = template.plan().items_per_generation - 2;
    (0..room).for_each(|number| template.insert_hash(hash(100 + number % 3)));
    check(&template, move |filter| {
        let other = spawn(&filter, move |filter| filter.insert_hash(last_row[0]));
        filter.insert_hash_batch(&[first_row, last_row[1]]);
        other.join().unwrap();
        assert!([first_row, last_row[0], last_row[1]].map(|item| filter.contains_hash(item)) == [true; 3]);
    });
}

/// A batch that has to wait for a row reads the generation after the wait: the thread that held the row may
/// have started a new generation meanwhile, and have written to the row again.
#[test]
fn a_shift_while_a_batch_waits_for_a_row_loses_nothing() {
    let mut template = Filter::builder().window(100).shape(1, 2).segment(ROWS).build().unwrap();
    let (first_row, last_row) = (hash(1), [2, 3, 4].map(|number| hash(number) | 1 << 63));
    // The batch and one more insert complete the generation.
    let room = template.plan().items_per_generation - 3;
    (0..room).for_each(|number| template.insert_hash(hash(100 + number % 3)));
    check_up_to(2, &template, move |filter| {
        let other =
            spawn(&filter, move |filter| last_row[..2].iter().for_each(|&item| filter.insert_hash(item)));
        filter.insert_hash_batch(&[first_row, last_row[2]]);
        other.join().unwrap();
        assert!(last_row.into_iter().chain([first_row]).all(|item| filter.contains_hash(item)));
    });
}

/// A snapshot taken during an insert contains the items inserted before.
#[test]
fn a_snapshot_during_an_insert_contains_earlier_items() {
    for segment in [ROWS, BINS, SLICES] {
        // With more preemptions, the test would take hours, because a snapshot reads many words.
        check_up_to(1, &template(segment, 3), |filter| {
            let copying = spawn(&filter, |filter| filter.to_filter());
            filter.insert_hash(hash(1));
            assert!(copying.join().unwrap().contains_hash(hash(102)));
            let copy = filter.to_filter();
            assert!(copy.contains_hash(hash(1)) && copy.contains_hash(hash(102)));
        });
    }
}

/// A thread clears and then inserts, while another inserts: its own item is reported.
///
/// Only rows. In slices and blocks the other insert may set its bit in a segment that the clear recycles, and
/// loom lets a later load return the value of that read-modify-write although the clearing store came after
/// it. The memory model forbids that. `tests/shared.rs` tries all layouts.
#[test]
fn an_insert_after_a_clear_is_reported() {
    check_up_to(2, &template(ROWS, 1), |filter| {
        let other = spawn(&filter, |filter| filter.insert_hash(hash(1)));
        filter.clear();
        filter.insert_hash(hash(2));
        assert!(filter.contains_hash(hash(2)));
        other.join().unwrap();
        assert!(filter.contains_hash(hash(2)), "the other insert is the only later one");
    });
}

//! `SharedFilter`: with one thread it equals a `Filter`, bit for bit; with many threads it keeps promise 1,
//! checked against an exact shadow.
#![cfg(not(loom))]

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::{Random, assert_rate_is, fewer, item, shapes, with_shape};
use lately::{
    Builder, Clock, Filter, HashFunction, Instructions, Layout, Overload, Segment, Shape, SharedFilter,
};

const THREADS: u64 = 4;

/// What other threads wait for. It is set even if the thread that sets it panics: they would wait for ever.
#[derive(Default)]
struct Flag(AtomicBool);

struct SetWhenDropped<'a>(&'a Flag);

impl Flag {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set_when_dropped(&self) -> SetWhenDropped<'_> {
        SetWhenDropped(self)
    }
}

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Release);
    }
}

/// Returns shapes with rows of each size, slices and blocks.
fn shapes_to_stress() -> Vec<Shape> {
    let is_chosen = |shape: &Shape| {
        let k_and_l = (shape.required_matches, shape.window_generations);
        // Miri interprets: one shape of each layout.
        if cfg!(miri) {
            return match shape.segment {
                Segment::Rows { .. } => k_and_l == (4, 17),
                Segment::Bins { .. } => k_and_l == (1, 42),
                _ => k_and_l == (3, 5) || k_and_l == (7, 4),
            };
        }
        match shape.segment {
            Segment::Rows { row_bytes: 64, .. } => matches!(k_and_l, (5, 10) | (1, 1)),
            Segment::Rows { .. } => matches!(k_and_l, (4, 17) | (2, 8)),
            Segment::Blocks { .. } => k_and_l == (3, 5),
            _ => matches!(k_and_l, (12, 14) | (1, 1)),
        }
    };
    shapes().into_iter().filter(is_chosen).collect()
}

/// Builds the filter for the machine's fastest instruction set and, for rows and bins, for all slower ones too: they
/// read and write shared memory differently.
fn on_all_instructions(builder: &Builder) -> Vec<SharedFilter> {
    let mut filter = builder.build().unwrap();
    let mut all = vec![SharedFilter::try_from(filter.clone()).unwrap()];
    let fastest = filter.instructions();
    for &slower in Instructions::ALL.iter().filter(|&&instructions| instructions < fastest) {
        if [Layout::Rows, Layout::Bins].contains(&filter.plan().layout()) && filter.set_instructions(slower) {
            all.push(SharedFilter::try_from(filter.clone()).unwrap());
        }
    }
    all
}

#[test]
fn with_one_thread_answers_and_bits_equal_those_of_a_filter() {
    for shape in shapes() {
        let span = Duration::from_secs(2);
        let keep_rate = with_shape(&shape).time_window(span).capacity(700).overload(Overload::KeepRate);
        for builder in
            [with_shape(&shape).window(700), with_shape(&shape).time_window(span).capacity(700), keep_rate]
        {
            one_thread_gets_a_filter(&builder);
        }
    }
}

/// A blueprint may have any generation, and rows and lines that say they were last written in generation 0.
#[test]
fn sharing_the_filter_of_a_blueprint_changes_no_bit() {
    for shape in shapes() {
        for shifts in [1, 2, 40, 300, 40_000] {
            let mut blueprint = with_shape(&shape).window(700).build().unwrap().blueprint();
            blueprint[112..120].copy_from_slice(&u64::to_le_bytes(shifts));
            let content = blueprint.len() - 8;
            let checksum = xxhash_rust::xxh3::xxh3_64(&blueprint[..content]);
            blueprint[content..].copy_from_slice(&checksum.to_le_bytes());
            let empty = Filter::from_blueprint(&blueprint).unwrap();
            assert_eq!(empty.counters().generation, shifts);
            let shared = SharedFilter::try_from(empty.clone()).unwrap();
            assert!(shared.to_filter() == empty, "{shape} after {shifts} shifts");
        }
    }
}

#[test]
fn a_shared_filter_has_the_settings_of_its_filter_and_is_saved_like_it() {
    let key = *b"sixteen secret b";
    let builder =
        Filter::builder().time_window(Duration::from_secs(60)).capacity(1_000).false_positive_rate(1e-3);
    let shared = builder.hash_function(HashFunction::SipHash13 { key }).build_shared().unwrap();
    assert_eq!(shared.hash_function(), HashFunction::SipHash13 { key });
    assert_eq!(shared.clock(), Clock::Unset);
    shared.set_clock(Clock::Events);
    assert_eq!(shared.clock(), Clock::Events);
    shared.advance_to(1_000);
    (0..500).for_each(|number| shared.insert(item(number)));
    let path = std::env::temp_dir().join(format!("lately-shared-{}.lately", std::process::id()));
    shared.save(&path).unwrap();
    let loaded = Filter::load(&path);
    std::fs::remove_file(&path).unwrap();
    assert!(loaded.unwrap() == shared.to_filter());
}

/// Items stay for a span and a generation at most, also for views of later times.
#[test]
fn a_view_of_a_later_time_forgets_what_is_too_old_by_then() {
    for layout in common::LAYOUTS {
        let builder = Filter::builder().time_window(Duration::from_secs(60)).capacity(1_000).layout(layout);
        let shared = builder.false_positive_rate(1e-9).build_shared().unwrap();
        shared.advance_to(1_000);
        shared.insert("early");
        for (later, expected) in [(0, true), (61_000, true), (200_000, false), (u64::MAX, false)] {
            let (view, mut seen) = (shared.as_of(later), [!expected, true]);
            view.contains_batch(&["early", "never"], &mut seen);
            assert_eq!((view.contains("early"), seen), (expected, [expected, false]), "{layout} at {later}");
        }
    }
}

fn one_thread_gets_a_filter(builder: &Builder) {
    for shared in on_all_instructions(builder) {
        let mut own = builder.build().unwrap();
        let shape = own.plan().shape;
        let mut random = Random(7);
        let mut now = 1_000_000;
        for step in 0..fewer(3_000) {
            now += random.below(3);
            let told = now - random.below(2);
            own.advance_to(told);
            shared.advance_to(told);
            let key = item(random.below(step + 1));
            assert_eq!(own.contains(key), shared.contains(key));
            assert_eq!(own.age_of(key), shared.age_of(key));
            match step % 4 {
                0 => {
                    own.insert(key);
                    shared.insert(key);
                }
                1 => assert_eq!(own.check_or_insert(key), shared.check_or_insert(key)),
                2 => assert_eq!(own.check_and_insert(key), shared.check_and_insert(key)),
                _ => {
                    let keys: Vec<_> = (0..random.below(90)).map(|_| item(random.below(step + 1))).collect();
                    let mut answers = [vec![false; keys.len()], vec![false; keys.len()]];
                    let [ours, theirs] = &mut answers;
                    match step % 3 {
                        0 => {
                            own.check_and_insert_batch(&keys, ours);
                            shared.check_and_insert_batch(&keys, theirs);
                        }
                        1 => {
                            own.check_or_insert_batch(&keys, ours);
                            shared.check_or_insert_batch(&keys, theirs);
                        }
                        _ => {
                            own.insert_batch(&keys);
                            shared.insert_batch(&keys);
                            own.contains_batch(&keys, ours);
                            shared.contains_batch(&keys, theirs);
                        }
                    }
                    assert_eq!(answers[0], answers[1], "{shape} step {step}");
                }
            }
            assert_eq!(own.guaranteed_window(), shared.guaranteed_window());
            assert_eq!(own.guaranteed_span(), shared.guaranteed_span());
            assert_eq!(own.counters(), shared.counters());
            assert_eq!(own.latest_ms(), shared.latest_ms());
            assert_eq!(own.next_shift_ms(), shared.next_shift_ms());
            let later = now + random.below(3_000);
            assert_eq!(own.as_of(later).contains(key), shared.as_of(later).contains(key));
            assert_eq!(own.as_of(later).age_of(key), shared.as_of(later).age_of(key), "{shape} step {step}");
            if step % 250 == 0 {
                assert_eq!(own.as_of(later).statistics(), shared.as_of(later).statistics());
                for at in [now, later] {
                    let keys: Vec<_> = (0..200).map(|_| item(random.below(step + 1))).collect();
                    let mut answers = [vec![false; keys.len()], vec![false; keys.len()]];
                    own.as_of(at).contains_batch(&keys, &mut answers[0]);
                    shared.as_of(at).contains_batch(&keys, &mut answers[1]);
                    assert_eq!(answers[0], answers[1], "{shape} step {step}");
                }
                assert!(own.to_bytes() == shared.to_bytes(), "{shape} step {step}");
                assert_eq!(own.statistics(), shared.statistics());
                assert!(SharedFilter::from_bytes(&own.to_bytes()).unwrap().to_filter() == own);
            }
        }
    }
}

/// Other threads insert all the time. A thread clears, then inserts: what it inserted before is gone, what it
/// inserted after is there.
#[test]
fn clearing_forgets_what_was_inserted_before_and_nothing_after() {
    for shape in shapes_to_stress() {
        for shared in
            on_all_instructions(&with_shape(&shape).window(if cfg!(miri) { 1_000 } else { 100_000 }))
        {
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                for thread in 1..3 {
                    let (shared, is_over) = (&shared, &is_over);
                    scope.spawn(move || {
                        for number in 0..40_000 {
                            if is_over.load(Ordering::Relaxed) {
                                break;
                            }
                            shared.insert(item(thread << 40 | number));
                        }
                    });
                }
                for round in 0..fewer(20) {
                    let ours = |number: u64| item(1 << 50 | round << 20 | number);
                    (0..50).for_each(|number| shared.insert(ours(number)));
                    shared.clear();
                    let reported = (0..50).filter(|&number| shared.contains(ours(number))).count();
                    assert!(reported <= 5, "{shape}: {reported} of 50 are still reported");
                    (100..150).for_each(|number| shared.insert(ours(number)));
                    assert!((100..150).all(|number| shared.contains(ours(number))), "{shape} round {round}");
                }
                is_over.store(true, Ordering::Relaxed);
            });
            shared.clear();
            assert!(shared.statistics().estimated_distinct_items < 1e-9, "{shape}");
        }
    }
}

/// Every insert shifts, and there are more shifts than the stamp of a row can count.
#[test]
fn with_one_thread_bits_equal_those_of_a_filter_after_stamps_have_wrapped() {
    for shape in shapes_to_stress() {
        let builder = with_shape(&shape).window(shape.window_generations.into());
        for shared in on_all_instructions(&builder) {
            let mut own = builder.build().unwrap();
            for first in (0..fewer(40_000)).step_by(1_000) {
                let items: Vec<_> = (first..first + 1_000).map(item).collect();
                own.insert_batch(&items);
                shared.insert_batch(&items);
                assert!(own == shared.to_filter(), "{shape} after {first} inserts");
            }
            let wrapped = own.counters().generation > 1 << 15;
            assert!(wrapped || fewer(40_000) < 40_000, "{shape}: {:?}", own.counters());
        }
    }
}

/// The exact shadow of a count window that threads share. Every thread notes for each of its items how many
/// inserts had begun when its own began.
struct Shadow {
    begun: AtomicU64,
}

impl Shadow {
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst)
    }

    /// Returns true if a query that has ended must have reported the item, because fewer than `window`
    /// inserts have begun since its own. Other threads may have begun one insert each here that they have not
    /// yet begun in the filter.
    fn is_certain(&self, noted: u64, window: u64) -> bool {
        self.begun.load(Ordering::SeqCst) - noted + THREADS <= window
    }
}

#[test]
fn threads_never_miss_an_item_of_the_window() {
    for shape in shapes_to_stress() {
        let l = u64::from(shape.window_generations);
        // Short windows have few rows, where threads collide all the time, and a shift every few inserts. In
        // the shortest window every insert shifts, and the stamps of rows wrap.
        for window in [l, 48, 700] {
            for shared in on_all_instructions(&with_shape(&shape).window(window)) {
                let checked = stress(&shared);
                // In the shortest windows few answers are certain, or none.
                let needed = if shared.guaranteed_window() >= 10 * THREADS { fewer(40_000) } else { 0 };
                assert!(checked >= needed, "{shape} window {window}: only {checked} answers were certain");
            }
        }
    }
}

/// Runs threads that insert and query, and checks the answers against the shadow. Returns the number of
/// certain answers.
fn stress(shared: &SharedFilter) -> u64 {
    let window = shared.guaranteed_window();
    let shadow = Shadow { begun: AtomicU64::new(0) };
    let checked = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (shadow, checked) = (&shadow, &checked);
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut noted: Vec<u64> = Vec::new();
                let key = |number: usize| item(thread << 32 | number as u64);
                for number in 0..fewer(12_000) as usize {
                    noted.push(shadow.begin());
                    match number % 3 {
                        0 => shared.insert(key(number)),
                        1 => _ = shared.check_and_insert(key(number)),
                        // A false positive: the item may not have been inserted.
                        _ if shared.check_or_insert(key(number)) => {
                            noted[number] = shadow.begin();
                            shared.insert(key(number));
                        }
                        _ => {}
                    }
                    // Items of all ages, and the oldest that are certain.
                    let oldest = noted.partition_point(|&noted| !shadow.is_certain(noted, window));
                    let some = random.below((number - oldest.min(number) + 1) as u64) as usize;
                    let asked = [oldest, oldest + 1, number, oldest + some];
                    for asked in asked.into_iter().filter(|&asked| asked <= number) {
                        let reported = shared.contains(key(asked));
                        if shadow.is_certain(noted[asked], window) {
                            assert!(reported, "{shared:?}: {asked} of {number}");
                            checked.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    checked.into_inner()
}

/// One thread inserts an item so often that it never leaves the window, and strangers in between. The other
/// threads must always find it, so no shadow is needed: they query it all the time, during shifts and during
/// writes to its row.
#[test]
fn readers_never_miss_an_item_that_is_refreshed_in_time() {
    for shape in shapes_to_stress().into_iter().filter(|shape| shape.window_generations > 1) {
        // A shift with every insert, or with every second one.
        for items_per_generation in [1, 2] {
            let window = u64::from(shape.window_generations) * items_per_generation;
            for shared in on_all_instructions(&with_shape(&shape).window(window)) {
                assert_eq!(shared.guaranteed_window(), window);
                let (known, all_there, done) = (item(u64::MAX), Barrier::new(3), Flag::default());
                shared.insert(known);
                std::thread::scope(|scope| {
                    let done_at_the_end = done.set_when_dropped();
                    let ask = || {
                        let mut seen = [false; 50];
                        all_there.wait();
                        while !done.is_set() {
                            shared.contains_batch(&[known; 50], &mut seen);
                            assert_eq!(seen, [true; 50], "{shape} window {window}");
                            assert!(shared.contains(known), "{shape} window {window}");
                        }
                    };
                    (0..2).for_each(|_| _ = scope.spawn(ask));
                    all_there.wait();
                    for number in 0..fewer(150_000) {
                        // As old as possible. One less than the window, because an insert in progress may
                        // have shifted the item out before it writes it again.
                        let is_due = number % (window - 1) == window - 2;
                        shared.insert(if is_due { known } else { item(number) });
                    }
                    drop(done_at_the_end);
                });
            }
        }
    }
}

#[test]
fn threads_never_miss_an_item_of_the_window_in_batches() {
    const BATCH: usize = 100;
    let batches = fewer(2_000);
    let builders = shapes_to_stress().into_iter().map(|shape| with_shape(&shape).window(5_000));
    for shared in builders.flat_map(|builder| on_all_instructions(&builder)) {
        let (shape, window) = (shared.plan().shape, shared.guaranteed_window());
        let begun = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (shared, begun) = (&shared, &begun);
                scope.spawn(move || {
                    let mut noted: Vec<u64> = Vec::new();
                    let batch = |number: usize| -> Vec<_> {
                        (0..BATCH).map(|i| item(thread << 32 | (number * BATCH + i) as u64)).collect()
                    };
                    let mut seen = [false; BATCH];
                    for number in 0..batches as usize {
                        noted.push(begun.fetch_add(BATCH as u64, Ordering::SeqCst));
                        shared.check_and_insert_batch(&batch(number), &mut seen);
                        for asked in [number, number.saturating_sub(number % 14)] {
                            shared.contains_batch(&batch(asked), &mut seen);
                            let since = begun.load(Ordering::SeqCst) - noted[asked];
                            if since + THREADS * BATCH as u64 <= window {
                                assert_eq!(seen, [true; BATCH], "{shape}: batch {asked} of {number}");
                            }
                        }
                    }
                });
            }
        });
        let statistics = shared.statistics();
        assert_eq!(statistics.inserts, THREADS * batches * BATCH as u64);
        // No generation is shorter than its share. None is longer by more than an eighth plus the inserts
        // that threads begin at once.
        let (shifts, g) = (statistics.generation, shared.plan().items_per_generation);
        assert!(shifts <= statistics.inserts / g, "{shape}: {shifts} shifts");
        let longest = g + g / 8 + THREADS * 32;
        assert!((shifts + 1) * longest >= statistics.inserts, "{shape}: {shifts} shifts of {g} inserts");
    }
}

/// An item that runs the caller's code before it passes on its bytes.
struct Delayed<F>([u8; 8], F);

impl<F: Fn()> lately::Item for Delayed<F> {
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        self.1();
        use_bytes(&self.0)
    }
}

/// The caller's code may use the same filter: it would wait forever for a row that the batch holds.
#[test]
fn a_batch_holds_no_row_while_it_reads_the_bytes_of_items() {
    for shape in shapes_to_stress() {
        // Few rows, so that the items meet in all of them.
        for shared in on_all_instructions(&with_shape(&shape).window(60)) {
            let others: Vec<_> = (1_000..1_030).map(item).collect();
            let delayed: Vec<_> =
                (0..100).map(|number| Delayed(item(number), || shared.insert_batch(&others))).collect();
            let mut seen = [false; 100];
            shared.insert_batch(&delayed);
            shared.check_and_insert_batch(&delayed, &mut seen);
            shared.check_or_insert_batch(&delayed, &mut seen);
            shared.contains_batch(&delayed, &mut seen);
            assert!(others.iter().all(|other| shared.contains(other)), "{shape}");
        }
    }
}

/// The caller's code may panic: items inserted before that are reported, and all rows can be written. A few
/// items may be counted that were not inserted, never the other way round.
#[test]
fn a_batch_that_panics_leaves_a_usable_filter() {
    // False positives are so rare that every reported item was inserted; k = 1 is not suitable for that.
    for shape in shapes_to_stress().into_iter().filter(|shape| shape.required_matches > 1) {
        let builder = with_shape(&shape).window(4_000).false_positive_rate(1e-9);
        for panics_at in [0, 1, 63, 64, 79, 80, 95, 96, 127, 128, 199] {
            for shared in on_all_instructions(&builder) {
                let panic_or_not =
                    |number| move || assert!(number != panics_at, "this panic is part of the test");
                let items: Vec<_> =
                    (0..200).map(|number| Delayed(item(number), panic_or_not(number))).collect();
                let unwinding = std::panic::AssertUnwindSafe(|| shared.insert_batch(&items));
                assert!(std::panic::catch_unwind(unwinding).is_err());
                let there = (0..200).filter(|&number| shared.contains(item(number))).count() as u64;
                let counted = shared.statistics().inserts;
                assert!(
                    (there..there + 32).contains(&counted),
                    "{shape}: {counted} counted, {there} reported"
                );
                // Items are hashed up to 80 ahead of the ones being inserted.
                assert!(there + 96 > panics_at && there <= panics_at, "{shape}: {there} reported");
                (0..2_000).for_each(|number| shared.insert(item(number)));
                assert!((0..2_000).all(|number| shared.contains(item(number))), "{shape}");
            }
        }
    }
}

/// More threads than have counters of their own; they end, and others take their places.
#[test]
fn eighty_threads_lose_nothing_and_count_exactly() {
    let each = fewer(500);
    let (threads, rounds) = (80, 3);
    for shape in shapes_to_stress() {
        let window = threads * rounds * each;
        let builder = with_shape(&shape).window(window).false_positive_rate(1e-3);
        let Ok(shared) = builder.build_shared() else { continue };
        for round in 0..rounds {
            let barrier = Barrier::new(threads as usize);
            std::thread::scope(|scope| {
                for thread in 0..threads {
                    let (shared, barrier) = (&shared, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let first = (round * threads + thread) * each;
                        (first..first + each).for_each(|number| shared.insert(item(number)));
                    });
                }
            });
        }
        assert_eq!(shared.counters().inserts, window, "{shape}");
        assert!((0..window).all(|number| shared.contains(item(number))), "{shape}");
    }
}

/// Rows and bins: if threads check and insert the same new item at once, exactly one is told that it is new.
#[test]
fn exactly_one_thread_is_told_that_an_item_is_new() {
    // False positives are so rare that practically every item is new to one of the threads.
    let has_one_winner = |shape: &Shape| match shape.segment {
        Segment::Rows { .. } => shape.required_matches > 1,
        Segment::Bins { fingerprint_bits } => fingerprint_bits >= 40,
        _ => false,
    };
    let shapes = shapes_to_stress().into_iter().filter(has_one_winner);
    let builders = shapes.map(|shape| with_shape(&shape).window(4_000).false_positive_rate(1e-9));
    for shared in builders.flat_map(|builder| on_all_instructions(&builder)) {
        let shape = shared.plan().shape;
        let barrier = Barrier::new(THREADS as usize);
        let (rounds, per_round) = (fewer(200), 500_u64);
        let told: Vec<Vec<bool>> = std::thread::scope(|scope| {
            let run = |thread: u64| {
                let (shared, barrier) = (&shared, &barrier);
                move || {
                    let mut told = Vec::new();
                    for round in 0..rounds {
                        barrier.wait();
                        for number in round * per_round..(round + 1) * per_round {
                            told.push(if thread.is_multiple_of(2) {
                                shared.check_and_insert(item(number))
                            } else {
                                shared.check_or_insert(item(number))
                            });
                        }
                    }
                    told
                }
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(run(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for number in 0..(rounds * per_round) as usize {
            let new = told.iter().filter(|told| !told[number]).count();
            assert_eq!(new, 1, "{shape}: item {number}");
        }
    }
}

/// While threads insert, every snapshot is valid and contains every item inserted before the call.
#[test]
fn a_snapshot_contains_every_item_inserted_before_it() {
    let inserts = fewer(100_000) as usize;
    for shape in shapes_to_stress() {
        // Miri interprets the checksum of each snapshot.
        let window = if cfg!(miri) { 400 } else { 40_000 };
        let shared = with_shape(&shape).window(window).build_shared().unwrap();
        let window = shared.guaranteed_window();
        let shadow = Shadow { begun: AtomicU64::new(0) };
        // The number of inserts that each thread has finished, and its note for each of its items.
        let finished: Vec<AtomicU64> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
        let noted: Vec<Vec<AtomicU64>> =
            (0..THREADS).map(|_| (0..inserts).map(|_| AtomicU64::new(0)).collect()).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS as usize {
                let (shared, shadow, finished, noted) = (&shared, &shadow, &finished, &noted);
                scope.spawn(move || {
                    for (number, noted) in noted[thread].iter().enumerate() {
                        noted.store(shadow.begin(), Ordering::Relaxed);
                        shared.insert(item((thread as u64) << 32 | number as u64));
                        finished[thread].store(number as u64 + 1, Ordering::Release);
                    }
                });
            }
            let mut checked = 0_u64;
            loop {
                let before: Vec<u64> =
                    finished.iter().map(|finished| finished.load(Ordering::Acquire)).collect();
                let copy = Filter::from_bytes(&shared.to_bytes()).unwrap();
                for (thread, &before) in before.iter().enumerate() {
                    let certain = (0..before).rev().take_while(|&number| {
                        shadow.is_certain(noted[thread][number as usize].load(Ordering::Relaxed), window)
                    });
                    for number in certain {
                        checked += 1;
                        let key = item((thread as u64) << 32 | number);
                        assert!(copy.contains(key), "{shape}: {number} of {before}");
                    }
                }
                if before.iter().all(|&before| before == inserts as u64) {
                    break;
                }
            }
            assert!(checked >= fewer(30_000), "{shape}: only {checked} items were certain");
        });
    }
}

/// Promise 2 with four threads: generations that run over raise the rate by no more than the test allows.
#[test]
fn overlong_generations_raise_the_rate_by_less_than_a_factor_of_four() {
    for layout in common::LAYOUTS {
        let shared = Filter::builder()
            .window(100_000)
            .false_positive_rate(1e-2)
            .layout(layout)
            .build_shared()
            .unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let shared = &shared;
                scope.spawn(move || {
                    let items: Vec<_> =
                        (0..fewer(100_000)).map(|number| item(thread << 32 | number)).collect();
                    items.chunks(1_000).for_each(|items| shared.insert_batch(items));
                });
            }
        });
        let strangers = 200_000;
        let mistaken =
            (0..strangers).filter(|&number| shared.contains(item(1 << 60 | number))).count() as u64;
        let expected = shared.statistics().estimated_false_positive_rate;
        assert_rate_is(mistaken, strangers, expected, "estimated from the bits");
        // In the worst case every generation is an eighth too long, which gives less than four times the
        // rate.
        assert!(expected <= 4e-2, "{layout}: {expected}");
    }
}

#[test]
fn time_windows_keep_their_span_while_threads_insert_and_advance_the_time() {
    const PER_MS: usize = 3;
    for shape in shapes_to_stress() {
        let span_ms = 500;
        // Room for everything that the threads insert, so that few strangers are reported.
        let builder = with_shape(&shape).time_window(Duration::from_millis(span_ms)).capacity(20_000);
        let shared = builder.build_shared().unwrap();
        shared.advance_to(1_000);
        // `telling` is set before the filter is advanced to a time, `told` afterwards.
        let (telling, told) = (AtomicU64::new(1_000), AtomicU64::new(1_000));
        let over = Flag::default();
        std::thread::scope(|scope| {
            let _over_at_the_end = over.set_when_dropped();
            for thread in 0..THREADS - 1 {
                let (shared, telling, told, over) = (&shared, &telling, &told, &over);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    let mut inserted: Vec<u64> = Vec::new();
                    loop {
                        let now = told.load(Ordering::SeqCst);
                        if now >= 2_500 || over.is_set() {
                            break;
                        }
                        if inserted.len() >= PER_MS && inserted[inserted.len() - PER_MS] == now {
                            std::thread::yield_now();
                            continue;
                        }
                        // Threads advance the time too; a time that the filter already has changes nothing.
                        shared.advance_to(now);
                        let number = inserted.len();
                        inserted.push(now);
                        shared.insert(item(thread << 32 | number as u64));
                        let now = telling.load(Ordering::SeqCst);
                        let oldest = inserted.partition_point(|&at| at + span_ms < now);
                        let some = random.below((number - oldest.min(number) + 1) as u64) as usize;
                        for asked in
                            [oldest, number, oldest + some].into_iter().filter(|&asked| asked <= number)
                        {
                            let reported = shared.contains(item(thread << 32 | asked as u64));
                            if inserted[asked] + span_ms >= telling.load(Ordering::SeqCst) {
                                assert!(reported, "{shape}: {asked} of {number}");
                            }
                        }
                    }
                });
            }
            for now in 1_001..=2_500 {
                telling.store(now, Ordering::SeqCst);
                shared.advance_to(now);
                told.store(now, Ordering::SeqCst);
                std::thread::yield_now();
            }
        });
        let mistaken = (0..1_000).filter(|&number| shared.contains(item(1 << 60 | number))).count();
        assert!(mistaken < 700, "{shape}: {mistaken} of 1000 strangers reported: the test proves nothing");
    }
}

/// Threads that call `age_of` take the lock that shifts need, over and over.
#[test]
fn shifts_happen_while_other_threads_call_age_of() {
    for layout in common::LAYOUTS {
        let builder = Filter::builder().window(10_000).false_positive_rate(1e-3).layout(layout);
        let shared = builder.build_shared().unwrap();
        let inserts = fewer(300_000);
        let done = Flag::default();
        std::thread::scope(|scope| {
            let done_at_the_end = done.set_when_dropped();
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.is_set() {
                        _ = shared.age_of("x");
                    }
                });
            }
            (0..inserts).for_each(|number| shared.insert(item(number)));
            drop(done_at_the_end);
        });
        let due = inserts / shared.plan().items_per_generation;
        let made = shared.statistics().generation;
        assert!(made <= due && made >= due * 8 / 9 - 1, "{layout}: {made} of {due} shifts");
    }
}

#[test]
fn a_shared_filter_is_send_and_sync() {
    fn check<T: Send + Sync>(_: &T) {}
    check(&Filter::builder().window(100).false_positive_rate(1e-2).build_shared().unwrap());
}

/// Items of bins whose lines are full go into the spare, whose cells many items share. A thread that spills an
/// item while another one makes a shift and spills others must not make their cells older.
#[test]
fn an_item_that_is_spilled_beside_a_shift_stays_for_the_whole_span() {
    let rounds = fewer(20_000);
    let (span_ms, l) = (4_000, 4);
    let generation_ms = span_ms / l;
    let builder =
        Filter::builder().time_window(Duration::from_millis(span_ms)).capacity(2_000).shape(1, l as u32);
    let filter = builder.segment(Segment::Bins { fingerprint_bits: 20 }).build_shared().unwrap();
    filter.advance_to(0);
    let lines_are_full =
        || (0..filter.plan().cells * 30).for_each(|number| filter.insert(item(1 << 50 | number)));
    let (started, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let [spiller_over, shifter_over] = [Flag::default(), Flag::default()];
    // Counted, not asserted in the loop: the other thread would wait for ever.
    let mut lost = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _over_at_the_end = spiller_over.set_when_dropped();
            for round in 1..=rounds {
                while started.load(Ordering::Acquire) != round {
                    assert!(!shifter_over.is_set(), "the other thread has ended early");
                    std::hint::spin_loop();
                }
                (0..4).for_each(|number| filter.insert(item(1 << 55 | round << 8 | number)));
                ended.store(round, Ordering::Release);
            }
        });
        let _over_at_the_end = shifter_over.set_when_dropped();
        let mut now = 0;
        for round in 1..=rounds {
            lines_are_full();
            started.store(round, Ordering::Release);
            (0..round % 40 * 10).for_each(|_| std::hint::spin_loop());
            now += generation_ms;
            filter.advance_to(now);
            let spilled = (0..3).map(|number| item(1 << 56 | round << 8 | number));
            spilled.clone().for_each(|item| filter.insert(item));
            while ended.load(Ordering::Acquire) != round {
                let is_over = spiller_over.is_set() && ended.load(Ordering::Acquire) != round;
                assert!(!is_over, "the other thread has ended early");
                std::thread::yield_now();
            }
            now += span_ms;
            filter.advance_to(now);
            lost += spilled.filter(|item| !filter.contains(item)).count();
        }
    });
    assert_eq!(lost, 0, "of {} items", 3 * rounds);
}

#[test]
fn threads_never_miss_an_item_of_the_span_while_lines_spill() {
    let telling = (0..8).filter(|&seed| stress_with_spills(seed)).count();
    let proves_nothing = telling == 0 && fewer(10_000) == 10_000;
    assert!(!proves_nothing, "no filter spilled without being overloaded: the test proves nothing");
}

#[test]
#[ignore = "slow: ./test --full"]
fn threads_never_miss_an_item_of_the_span_while_lines_spill_for_many_filters() {
    let telling = (8..500).filter(|&seed| stress_with_spills(seed)).count();
    assert!(telling > 30, "{telling} filters spilled without being overloaded");
}

/// A span brings a little more items than it has room for, so that some are always spilled, but few strangers are
/// reported. Threads insert and query without a pause, while another thread advances the time as items come in.
/// Returns true if a lost item would have been noticed.
fn stress_with_spills(seed: u64) -> bool {
    let per_thread = fewer(10_000);
    let mut random = Random(seed);
    let (l, capacity) = (1 + random.below(7), 100 + random.below(2_900));
    let builder = Filter::builder().time_window(Duration::from_millis(l * 60)).capacity(capacity);
    let filters = on_all_instructions(&builder.shape(1, l as u32).false_positive_rate(1e-3));
    let shared = &filters[random.below(filters.len() as u64) as usize];
    let span_ms = shared.guaranteed_span().unwrap().as_millis() as u64;
    // Of a plan for exactly 100%, lines have 5% more room.
    let inserts_per_ms = capacity as f64 * (1.05 + 0.01 * random.below(20) as f64) / span_ms as f64;
    let step_ms = 1 + random.below(6);
    let due = |now: u64| (now - 1_000) as f64 * inserts_per_ms;
    let threads = 2 + random.below(THREADS - 1);

    shared.advance_to(1_000);
    // `telling` is set before the filter is advanced to a time, `told` afterwards.
    let (telling, told) = (AtomicU64::new(1_000), AtomicU64::new(1_000));
    let inserted = AtomicU64::new(0);
    let (lost, spilled) = (AtomicU64::new(0), AtomicBool::new(false));
    let (over, finished) = (Flag::default(), [const { Flag(AtomicBool::new(false)) }; THREADS as usize]);
    let finished = &finished[..threads as usize];
    std::thread::scope(|scope| {
        let _over_at_the_end = over.set_when_dropped();
        for thread in 0..threads {
            let (telling, told, inserted, lost, due, over) = (&telling, &told, &inserted, &lost, &due, &over);
            let mut random = Random(seed << 8 | thread);
            scope.spawn(move || {
                let _finished_at_the_end = finished[thread as usize].set_when_dropped();
                let key = |number: u64| item(thread << 32 | number);
                // The time that the filter had for certain when each item was inserted.
                let mut noted: Vec<u64> = Vec::new();
                let mut oldest = 0;
                while (noted.len() as u64) < per_thread {
                    let (number, now) = (noted.len() as u64, told.load(Ordering::SeqCst));
                    if inserted.load(Ordering::SeqCst) as f64 > due(now + 2 * step_ms) {
                        assert!(!over.is_set(), "the thread that advances the time has ended early");
                        std::thread::yield_now();
                        continue;
                    }
                    let many = if random.below(4) == 0 { 1 + random.below(20) } else { 1 };
                    let keys: Vec<_> = (number..number + many).map(key).collect();
                    match random.below(3) {
                        0 if many == 1 => shared.insert(keys[0]),
                        1 if many == 1 => _ = shared.check_and_insert(keys[0]),
                        0 => shared.insert_batch(&keys),
                        _ => shared.check_and_insert_batch(&keys, &mut vec![false; keys.len()]),
                    }
                    noted.extend((0..many).map(|_| now));
                    inserted.fetch_add(many, Ordering::SeqCst);
                    let number = noted.len() as u64 - 1;
                    // One of all ages, the newest, and the oldest that is certain.
                    let limit = telling.load(Ordering::SeqCst).saturating_sub(span_ms);
                    while noted[oldest as usize] < limit && oldest < number {
                        oldest += 1;
                    }
                    for asked in [number, oldest, oldest + random.below(number - oldest + 1)] {
                        let reported = shared.contains(key(asked));
                        let is_certain = noted[asked as usize] + span_ms >= telling.load(Ordering::SeqCst);
                        lost.fetch_add(u64::from(is_certain && !reported), Ordering::SeqCst);
                    }
                }
            });
        }
        let mut now = 1_000;
        while !finished.iter().all(Flag::is_set) {
            let brought = inserted.load(Ordering::SeqCst) as f64;
            if brought < due(now + step_ms) {
                std::thread::yield_now();
                continue;
            }
            now += step_ms;
            telling.store(now, Ordering::SeqCst);
            shared.advance_to(now);
            told.store(now, Ordering::SeqCst);
            if now % 16 == 0 && shared.statistics().estimated_spilled_items > 0.0 {
                spilled.store(true, Ordering::Relaxed);
            }
        }
    });
    let what = format!("seed {seed}: {threads} threads, {shared:?}");
    assert_eq!(lost.into_inner(), 0, "{what}");
    let mistaken = (0..1_000).filter(|&number| shared.contains(item(1 << 60 | number))).count();
    spilled.into_inner() && mistaken < 500
}

//! Snapshots: a restored filter equals the saved one, and nothing but a valid snapshot is accepted.

mod common;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use common::counting_allocator::{CountingAllocator, watch};
use common::{Random, item, shapes, with_shape};
use lately::{FORMAT_VERSION, Filter, HashFunction, Layout, Overload, SharedFilter, SnapshotError, Window};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Filters of every shape and kind of window, each with a different number of items.
fn filters() -> Vec<Filter> {
    let mut filters = Vec::new();
    for shape in shapes() {
        let span = Duration::from_millis(500);
        filters.push(with_shape(&shape).window(60).seed(99).build().unwrap());
        filters.push(with_shape(&shape).time_window(span).capacity(60).build().unwrap());
        let keyed = HashFunction::SipHash13 { key: *b"0123456789abcdef" };
        let overload = Overload::KeepRate;
        let builder =
            with_shape(&shape).time_window(span).capacity(60).overload(overload).hash_function(keyed);
        filters.push(builder.build().unwrap());
    }
    for (number, filter) in (0..).zip(&mut filters) {
        for n in 0..number * 7 {
            filter.advance_to(1_000 + n * 3);
            filter.insert(item(n));
        }
    }
    filters
}

/// Recomputes the checksum, so that decoding goes on to check the bytes before it.
fn with_right_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - 8;
    let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..content]);
    bytes[content..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[test]
fn a_restored_filter_equals_the_saved_one() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        let restored = Filter::from_bytes(&bytes).unwrap();
        assert!(restored == filter);
        assert_eq!(restored.to_bytes(), bytes);
        assert_eq!(restored.statistics(), filter.statistics());
        assert_eq!(restored.plan(), filter.plan());
    }
}

#[test]
fn a_label_is_kept_and_changes_no_answer() {
    for mut filter in filters() {
        let plain = filter.clone();
        filter.set_label(u64::MAX - 5);
        assert_eq!(filter.label(), u64::MAX - 5);
        assert!(filter != plain);
        let restored = Filter::from_bytes(&filter.to_bytes()).unwrap();
        assert!(restored == filter && restored.label() == filter.label());
        assert_eq!(Filter::from_blueprint(&filter.blueprint()).unwrap().label(), filter.label());
        assert!(restored.words() == plain.words() && restored.contains(item(1)) == plain.contains(item(1)));
        assert_eq!(filter.try_clone().unwrap().label(), filter.label());
        if let Ok(shared) = SharedFilter::try_from(filter.clone()) {
            assert_eq!(shared.to_filter().label(), filter.label());
        }
    }
}

#[test]
fn a_blueprint_and_the_words_restore_the_filter() {
    for filter in filters() {
        let blueprint = filter.blueprint();
        let mut copy = Filter::from_blueprint(&blueprint).unwrap();
        assert_eq!((copy.counters(), copy.plan()), (filter.counters(), filter.plan()));
        assert!(copy.words().iter().all(|&word| word == 0));
        // Pieces of seven words do not align with the segments or rows of any shape.
        let pieces = filter.words().chunks(7).enumerate();
        pieces.for_each(|(number, piece)| copy.set_words(number * 7, piece).unwrap());
        assert!(copy == filter && filter.try_clone().unwrap() == filter);
        copy.insert("goes on");
        let planned = Filter::from_blueprint(&filter.plan().blueprint(filter.hash_function())).unwrap();
        let mut cleared = filter.clone();
        cleared.clear();
        assert!(planned == cleared);
    }
}

#[test]
fn damaged_blueprints_and_snapshots_passed_as_blueprints_are_refused() {
    for filter in filters() {
        let mut blueprint = filter.blueprint();
        for length in 0..blueprint.len() {
            let error = Filter::from_blueprint(&blueprint[..length]).unwrap_err();
            assert!(matches!(error, SnapshotError::Truncated { .. }), "{length}: {error}");
        }
        for bit in 0..blueprint.len() * 8 {
            blueprint[bit / 8] ^= 1 << (bit % 8);
            assert!(Filter::from_blueprint(&blueprint).is_err(), "bit {bit} flipped");
            blueprint[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Filter::from_bytes(&blueprint).is_err(), "a blueprint is not a snapshot");
        let error = Filter::from_blueprint(&filter.to_bytes()).unwrap_err();
        assert!(
            matches!(error, SnapshotError::TrailingBytes { .. }),
            "a snapshot is not a blueprint: {error}"
        );
        blueprint[40..48].copy_from_slice(&u64::to_le_bytes(1 << 50));
        let error = Filter::from_blueprint(&with_right_checksum(blueprint)).unwrap_err();
        assert!(matches!(error, SnapshotError::Allocation { .. } | SnapshotError::Field { .. }), "{error}");
    }
}

#[test]
fn words_beyond_the_end_and_bits_that_no_filter_sets_are_refused_and_change_nothing() {
    for filter in filters() {
        let words = filter.words().len();
        let mut copy = filter.clone();
        for (first, count) in
            [(words, 1), (0, words + 1), (words - 1, 2), (usize::MAX, 1), (usize::MAX / 16 + 1, 0)]
        {
            let error = copy.set_words(first, &vec![0; count]).unwrap_err();
            assert!(matches!(error, SnapshotError::TrailingBytes { .. }), "{first} {count}: {error}");
        }
        for (first, count, beyond) in [(0, words + 1, 1), (words - 1, 4, 3), (words + 5, 2, 2)] {
            let error = copy.set_words(first, &vec![0; count]).unwrap_err();
            assert!(
                matches!(error, SnapshotError::TrailingBytes { extra } if extra == 8 * beyond),
                "{error}"
            );
        }
        copy.set_words(words, &[]).unwrap();
        let ones = vec![u64::MAX; words];
        let unused_bits = copy.set_words(0, &ones);
        let mut bytes = filter.to_bytes();
        let end = bytes.len() - 8;
        bytes[end - words * 8..end].fill(0xff);
        let decoded = Filter::from_bytes(&with_right_checksum(bytes));
        assert_eq!(unused_bits.is_err(), decoded.is_err(), "{filter:?}");
        if unused_bits.is_err() {
            assert!(copy == filter);
            // The spare of bins may contain anything; the last word of a line may not.
            let word = if filter.plan().layout() == Layout::Bins { 7 } else { words - 1 };
            assert!(copy.set_words(word, &[u64::MAX]).is_err() && copy == filter);
        }
    }
}

#[test]
fn a_snapshot_cut_off_at_any_length_is_refused() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        for length in 0..bytes.len() {
            let error = Filter::from_bytes(&bytes[..length]).unwrap_err();
            assert!(matches!(error, SnapshotError::Truncated { .. }), "{length}: {error}");
        }
    }
}

#[test]
fn a_snapshot_with_any_bit_flipped_is_refused() {
    for filter in filters() {
        let mut bytes = filter.to_bytes();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Filter::from_bytes(&bytes).is_err(), "bit {bit} flipped");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn trailing_bytes_other_versions_and_other_files_each_have_their_own_error() {
    let bytes = filters()[10].to_bytes();
    let mut longer = bytes.clone();
    longer.extend_from_slice(b"xyz");
    assert!(matches!(Filter::from_bytes(&longer), Err(SnapshotError::TrailingBytes { extra: 3 })));
    let mut newer = bytes.clone();
    newer[8] = 2;
    let error = Filter::from_bytes(&newer).unwrap_err();
    assert!(matches!(error, SnapshotError::Version { found: 2, supported: FORMAT_VERSION }));
    assert!(matches!(Filter::from_bytes(b"PNG and so on"), Err(SnapshotError::Magic)));
    assert!(matches!(Filter::from_bytes(b""), Err(SnapshotError::Truncated { found: 0, .. })));
    let mut damaged = bytes;
    let last_word = damaged.len() - 9;
    damaged[last_word] ^= 1;
    assert!(matches!(Filter::from_bytes(&damaged), Err(SnapshotError::Checksum { .. })));
}

#[test]
fn a_header_that_claims_a_huge_size_is_refused_before_anything_is_allocated() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        for cells in [1 << 20, 1 << 40, 1 << 58, 1 << 61, u64::MAX / 64, u64::MAX] {
            let mut huge = bytes.clone();
            huge[40..48].copy_from_slice(&u64::to_le_bytes(cells));
            let huge = with_right_checksum(huge);
            let (decoded, allocated) = watch(|| Filter::from_bytes(&huge).map(|_| ()));
            assert!(decoded.is_err());
            assert!(allocated.peak_bytes <= 4096, "{cells} cells: {allocated:?}");
        }
    }
}

/// Every filter that decodes must work: nothing here may panic.
fn exercise(mut filter: Filter) {
    filter.insert("a");
    assert!(filter.contains("a"));
    let latest = filter.statistics().latest_ms.unwrap_or(0);
    filter.advance_to(latest.saturating_add(10));
    (0..200).for_each(|number| filter.insert(item(number)));
    filter.advance_to(u64::MAX);
    _ = filter.age_of("a");
    _ = filter.guaranteed_window();
    _ = filter.guaranteed_span();
    _ = filter.statistics();
    assert!(Filter::from_bytes(&filter.to_bytes()).unwrap() == filter);
    filter.clear();
    assert!(!filter.contains("a"));
}

#[test]
fn a_forged_header_is_refused_or_gives_a_filter_that_works() {
    let mut random = Random(5);
    let mut accepted = 0;
    let header_and_starts = 152 + 16 * 4;
    for filter in filters() {
        let bytes = filter.to_bytes();
        for _ in 0..3_000 {
            let mut forged = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = 8 + random.below(header_and_starts - 8) as usize;
                if at < forged.len() {
                    forged[at] = [0, 1, 2, 0x7f, 0x80, 0xff, random.next() as u8][random.below(7) as usize];
                }
            }
            if let Ok(filter) = Filter::from_bytes(&with_right_checksum(forged)) {
                accepted += 1;
                exercise(filter);
            }
        }
    }
    assert!(
        accepted > 1_000,
        "only {accepted} forged headers were accepted: too few for this test to mean anything"
    );
}

#[test]
fn rows_of_an_impossible_size_are_refused() {
    let rows = lately::Segment::Rows { row_bytes: 128, parts: 3 };
    let bytes = Filter::builder().window(100).shape(2, 4).segment(rows).build().unwrap().to_bytes();
    for row_bytes in [0_u32, 32, 256] {
        let mut forged = bytes.clone();
        forged[32..36].copy_from_slice(&row_bytes.to_le_bytes());
        let error = Filter::from_bytes(&with_right_checksum(forged)).unwrap_err();
        assert!(matches!(error, SnapshotError::Field { field: "row_bytes", .. }), "{error}");
    }
}

/// Lines of bins tell in eight bits of their header when they were last written (docs/format.md).
#[test]
fn a_filter_with_a_forged_line_of_any_age_can_be_saved_after_every_shift() {
    const HEADER: usize = 7;
    const STAMP_AT: u32 = 55;
    let span = Duration::from_millis(500);
    let asked = Filter::builder().time_window(span).false_positive_rate(1e-3);
    for mut filter in
        [asked.clone().build().unwrap(), asked.capacity(300).layout(Layout::Bins).build().unwrap()]
    {
        filter.advance_to(1_000);
        filter.insert_batch(&(0..300).map(item).collect::<Vec<_>>());
        for stamp in 0..256 {
            let mut forged = filter.clone();
            let header = forged.words()[HEADER] & !(0xff << STAMP_AT) | stamp << STAMP_AT;
            forged.set_words(HEADER, &[header]).unwrap();
            for shift in 0..150 {
                let restored = Filter::from_bytes(&forged.to_bytes());
                assert!(restored.is_ok_and(|restored| restored == forged), "stamp {stamp}, shift {shift}");
                forged.advance_to(forged.next_shift_ms().unwrap());
            }
        }
    }
}

#[test]
fn forged_bits_after_the_last_part_of_a_segment_are_refused() {
    // 3 parts of 5 bits: 49 bits of the word belong to no part.
    let mut filter = Filter::builder()
        .window(2)
        .shape(1, 1)
        .segment(lately::Segment::Slices { parts: 3 })
        .build()
        .unwrap();
    filter.insert("a");
    let bytes = filter.to_bytes();
    let first_word = 152 + 2 * 16;
    let used = 3 * filter.plan().cells;
    assert!(used < 64 && used + 3 > 63, "the planner uses the whole word: {used} bits");
    let mut forged = bytes;
    forged[first_word + 7] |= 0x80;
    let error = Filter::from_bytes(&with_right_checksum(forged)).unwrap_err();
    assert!(matches!(error, SnapshotError::UnusedBits), "{error}");
    // Rows: the last part, next to the stamp, belongs to no segment.
    let rows = lately::Segment::Rows { row_bytes: 64, parts: 3 };
    let bytes = Filter::builder().window(20).shape(3, 7).segment(rows).build().unwrap().to_bytes();
    let first_word = 152 + 10 * 16;
    let mut forged = bytes;
    forged[first_word + 60] |= 1;
    let error = Filter::from_bytes(&with_right_checksum(forged)).unwrap_err();
    assert!(matches!(error, SnapshotError::UnusedBits), "{error}");
}

#[test]
fn a_forged_load_does_not_make_planning_expensive() {
    // From crowded (forty items per row) to absurd (2^48 items per generation): each is predicted at once.
    let rows = lately::Segment::Rows { row_bytes: 64, parts: 2 };
    let bytes = Filter::builder().window(1_000).shape(5, 10).segment(rows).build().unwrap().to_bytes();
    for items_per_generation in [6_400, 1 << 20, 1 << 48] {
        let mut forged = bytes.clone();
        forged[48..56].copy_from_slice(&u64::to_le_bytes(items_per_generation));
        let filter = Filter::from_bytes(&with_right_checksum(forged)).unwrap();
        assert!(filter.plan().false_positive_rate > 0.99);
    }
}

fn temporary_directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("lately-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn files_are_replaced_as_a_whole_and_no_temporary_file_is_left() {
    let directory = temporary_directory("replace");
    let path = directory.join("seen.lately");
    let mut filter = Filter::builder().window(1_000).false_positive_rate(0.01).build().unwrap();
    for number in 0..5 {
        filter.insert(item(number));
        filter.save(&path).unwrap();
        assert!(Filter::load(&path).unwrap() == filter);
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "a temporary file is left");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_save_takes_effect_when_finished_and_has_no_effect_if_dropped() {
    let directory = temporary_directory("pending");
    let path = directory.join("seen.lately");
    let mut filter = Filter::builder().window(100_000).false_positive_rate(0.01).build().unwrap();
    filter.save(&path).unwrap();
    let before = filter.clone();
    filter.insert("later");
    drop(filter.start_save(&path).unwrap());
    assert!(Filter::load(&path).unwrap() == before);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "a temporary file is left");
    let pending = filter.start_save(&path).unwrap();
    let saved = filter.clone();
    filter.insert("after the snapshot was taken");
    std::thread::spawn(move || pending.finish()).join().unwrap().unwrap();
    assert!(Filter::load(&path).unwrap() == saved);
    assert_eq!(fs::read(&path).unwrap(), saved.to_bytes(), "a file holds exactly the snapshot's bytes");
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn temporary_files_of_killed_saves_can_be_removed_and_nothing_else_is() {
    let directory = temporary_directory("abandoned");
    let path = directory.join("seen.lately");
    let kept = [
        "seen.lately",
        ".seen.lately.tmp2",
        ".seen.lately.x.tmp",
        ".other.lately.1.2.tmp",
        // Belongs to a save of another file, `seen.lately.1`.
        ".seen.lately.1.17.4.tmp",
        ".seen.lately.17.tmp",
        ".seen.lately.17..tmp",
    ];
    kept.iter().for_each(|name| fs::write(directory.join(name), "").unwrap());
    fs::write(directory.join(".seen.lately.17.4.tmp"), "left").unwrap();
    lately::PendingSave::remove_abandoned(&path).unwrap();
    assert!(kept.iter().all(|name| directory.join(name).exists()));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), kept.len());
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_truncated_or_damaged_file_is_refused_like_its_bytes() {
    let directory = temporary_directory("damaged");
    let path = directory.join("seen.lately");
    let filter = Filter::builder().window(100_000).false_positive_rate(0.01).build().unwrap();
    let bytes = filter.to_bytes();
    for cut in [0, 4, 100, 151, 152, 500, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert!(matches!(Filter::load(&path), Err(SnapshotError::Truncated { .. })), "{cut} bytes");
    }
    for flipped in [200, bytes.len() / 2, bytes.len() - 1] {
        let mut bytes = bytes.clone();
        bytes[flipped] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let loaded = Filter::load(&path);
        assert!(matches!(loaded, Err(SnapshotError::Checksum { .. } | SnapshotError::Field { .. })));
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_temporary_file_left_by_a_crash_is_neither_used_nor_touched() {
    let directory = temporary_directory("crash");
    let path = directory.join("seen.lately");
    // The crashed process had our process id, as the first processes of two containers always have.
    let left: Vec<PathBuf> = (0..40)
        .map(|save| directory.join(format!(".seen.lately.{}.{save}.tmp", std::process::id())))
        .collect();
    left.iter().for_each(|path| fs::write(path, "left").unwrap());
    let filter = Filter::builder().window(10).shape(2, 3).build().unwrap();
    filter.save(&path).unwrap();
    assert!(Filter::load(&path).unwrap() == filter);
    assert!(left.iter().all(|path| fs::read(path).unwrap() == b"left"));
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_save_that_fails_names_the_file_and_leaves_the_old_one() {
    let directory = temporary_directory("refused");
    let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    let error = filter.save(directory.join("missing/seen.lately")).unwrap_err().to_string();
    assert!(error.contains("missing/seen.lately"), "{error}");
    let error = Filter::load(directory.join("nothing.lately")).unwrap_err().to_string();
    assert!(error.contains("nothing.lately"), "{error}");
    // A file cannot replace a directory.
    let path = directory.join("occupied");
    fs::create_dir(&path).unwrap();
    assert!(filter.save(&path).is_err());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "the temporary file is left");
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let directory = temporary_directory("link");
    let (target, link) = (directory.join("real.lately"), directory.join("link.lately"));
    let mut filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    filter.save(&target).unwrap();
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600, "a hash key is secret");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    filter.insert("more");
    filter.save(&link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(Filter::load(&target).unwrap() == filter);
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o644);
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_to_a_missing_file_stays_a_link() {
    let directory = temporary_directory("dangling");
    fs::create_dir(directory.join("elsewhere")).unwrap();
    let target = directory.join("elsewhere/seen.lately");
    let links = [directory.join("first"), directory.join("second"), directory.join("elsewhere/third")];
    // Relative links are resolved from their own directory.
    for (link, to) in links.iter().zip(["second", "elsewhere/third", "seen.lately"]) {
        std::os::unix::fs::symlink(to, link).unwrap();
    }
    let real = fs::canonicalize(&directory).unwrap().join("elsewhere/seen.lately");
    assert!(links.iter().chain([&target]).all(|path| lately::PendingSave::target_of(path) == real));
    let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    filter.save(&links[0]).unwrap();
    assert!(links.iter().all(|link| fs::symlink_metadata(link).unwrap().is_symlink()));
    assert!(Filter::load(&target).unwrap() == filter);
    // A circle of links leads to no file.
    std::os::unix::fs::symlink("circle", directory.join("circle")).unwrap();
    let error = filter.save(directory.join("circle")).unwrap_err().to_string();
    assert!(error.contains("is not a regular file"), "{error}");
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(unix)]
#[test]
fn only_a_regular_file_is_replaced() {
    use std::os::unix::net::UnixListener;
    let directory = temporary_directory("socket");
    let path = directory.join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    let error = filter.save(&path).unwrap_err().to_string();
    assert!(error.contains("is not a regular file") && error.contains("socket"), "{error}");
    assert!(!fs::metadata(&path).unwrap().is_file());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
    fs::remove_dir_all(directory).unwrap();
}

/// A process in another container may have the same process id, and so the same temporary name.
#[test]
fn a_finished_save_does_not_touch_its_temporary_name_again() {
    let directory = temporary_directory("finished");
    let path = directory.join("seen.lately");
    let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    let pending = filter.start_save(&path).unwrap();
    let name_of_temporary = || {
        let paths = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "tmp"))
    };
    let temporary = name_of_temporary().unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            // Takes the name as soon as it is free.
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                if fs::File::create_new(&temporary).is_ok() {
                    return true;
                }
            }
            false
        });
        pending.finish().unwrap();
        while !other.is_finished() && !temporary.exists() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        assert!(!other.join().unwrap() || temporary.exists());
    });
    fs::remove_dir_all(directory).unwrap();
}

/// Only an administrator can give a file to another owner; for others this checks that saving works.
#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_owner_and_group() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let directory = temporary_directory("owner");
    let path = directory.join("seen.lately");
    let owner_of = |path: &PathBuf| {
        let metadata = fs::metadata(path).unwrap();
        (metadata.uid(), metadata.gid())
    };
    let filter = Filter::builder().window(10).false_positive_rate(0.01).build().unwrap();
    filter.save(&path).unwrap();
    let owner = if chown(&path, Some(12345), Some(54321)).is_ok() { (12345, 54321) } else { owner_of(&path) };
    filter.save(&path).unwrap();
    assert_eq!(owner_of(&path), owner);
    fs::remove_dir_all(directory).unwrap();
}

#[cfg(feature = "serde")]
#[test]
fn filters_and_plans_go_through_serde() {
    for filter in filters() {
        let json = serde_json::to_string(&filter).unwrap();
        let restored: Filter = serde_json::from_str(&json).unwrap();
        assert!(restored == filter);
        let plan: lately::Plan =
            serde_json::from_str(&serde_json::to_string(&filter.plan()).unwrap()).unwrap();
        assert_eq!(plan, filter.plan());
        serde_json::to_string(&filter.statistics()).unwrap();
    }
    let error = serde_json::from_str::<Filter>("[76, 65, 84]").unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
}

/// Every bit of a few lines and of the spare, flipped one at a time: the snapshot is refused, or gives a filter
/// that works and can be saved again.
#[test]
fn bins_with_any_bit_flipped_are_refused_or_work() {
    for fingerprint_bits in [8, 16, 25] {
        let segment = lately::Segment::Bins { fingerprint_bits };
        let mut filter = Filter::builder().window(150).shape(1, 5).segment(segment).build().unwrap();
        // More items than there is room for, so that lines are full and some are spilled.
        (0..700_u64).for_each(|number| filter.insert(item(number)));
        let bytes = filter.to_bytes();
        let first = bytes.len() - 8 - filter.words().len() * 8;
        let (mut refused, mut accepted) = (0, 0);
        for bit in first * 8..(bytes.len() - 8) * 8 {
            let mut forged = bytes.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            let Ok(mut filter) = Filter::from_bytes(&with_right_checksum(forged)) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            if accepted % 16 != 0 {
                continue;
            }
            for number in 0..400_u64 {
                filter.insert(item(number));
                _ = filter.age_of(item(number * 3));
            }
            assert!((251..400_u64).all(|number| filter.contains(item(number))));
            assert!(filter.statistics().estimated_false_positive_rate <= 1.0);
            assert!(Filter::from_bytes(&filter.to_bytes()).unwrap() == filter, "bit {bit}");
        }
        assert!(refused > 100 && accepted > 1_000, "{refused} refused, {accepted} accepted");
    }
}

/// A new filter whose counters all have the largest values that a snapshot may have.
fn with_largest_counters(filter: &Filter) -> Filter {
    const MOST: u64 = 1 << 62;
    let mut bytes = filter.to_bytes();
    let mut set = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let is_timed = filter.window().span().is_some();
    set(104, MOST); // inserts
    set(112, 1 << 52); // generation
    if is_timed {
        set(120, u64::MAX - 5_000); // latest_ms
        set(128, MOST); // backward_steps
        set(136, MOST); // overloaded_generations
    }
    let starts = 152;
    let segments = filter.plan().shape.segments() as usize;
    (0..segments).for_each(|segment| set(starts + segment * 16, MOST));
    if matches!(filter.window(), Window::Elastic { .. }) {
        let elastic = starts + segments * 16;
        // look_at, growths, shrinks, spilled, spilled_before
        [1, 3, 4, 6, 7].into_iter().for_each(|word| set(elastic + word * 8, MOST));
    }
    if is_timed {
        bytes[84] = 1; // the clock is set
    }
    Filter::from_bytes(&with_right_checksum(bytes)).unwrap()
}

type Operation = fn(&mut Filter);

/// Only forged snapshots have such counters. What is loaded can be saved, and loaded again, whatever happens between.
#[test]
fn a_filter_whose_counters_are_as_large_as_can_be_can_still_be_saved() {
    let span = Duration::from_millis(500);
    let elastic = Filter::builder().time_window(span).false_positive_rate(1e-3).max_memory(40_000);
    let elastic = Overload::ALL.iter().map(|&overload| elastic.clone().overload(overload).build().unwrap());
    for mut fresh in filters().into_iter().chain(elastic) {
        fresh.clear();
        let mut filter = with_largest_counters(&fresh);
        let operations: [(&str, Operation); 9] = [
            ("nothing", |_| ()),
            ("insert", |filter| filter.insert("kept")),
            ("check_and_insert", |filter| _ = filter.check_and_insert("kept")),
            ("check_or_insert", |filter| _ = filter.check_or_insert(item(1))),
            ("a backward step", |filter| filter.advance_to(3)),
            ("overload", |filter| (0..2_000).for_each(|number| filter.insert(item(number)))),
            ("a batch", |filter| filter.insert_batch(&(0..400).map(item).collect::<Vec<_>>())),
            ("a later time", |filter| filter.advance_to(u64::MAX - 4_000)),
            ("the latest time", |filter| filter.advance_to(u64::MAX)),
        ];
        for (what, operation) in operations {
            operation(&mut filter);
            let shape = filter.plan().shape;
            let context = || format!("{shape:?} after {what}");
            filter.insert("last");
            let restored = Filter::from_bytes(&filter.to_bytes());
            let mut restored = restored.unwrap_or_else(|error| panic!("{}: {error}", context()));
            assert!(filter.contains("last") && restored.contains("last"), "{}", context());
            assert_eq!(restored.words(), filter.words(), "{}", context());
            Filter::from_blueprint(&filter.blueprint()).unwrap();
            _ = (restored.statistics(), restored.age_of("last"), restored.next_shift_ms());
            assert!(restored.guaranteed_window() > 0 || restored.window().span().is_some());
            restored.insert("more");
            assert!(restored.contains("last") && restored.contains("more"), "{}", context());
            if let Ok(shared) = SharedFilter::try_from(restored) {
                shared.advance_to(4);
                (0..300).for_each(|number| shared.insert(item(number)));
                let copy = SharedFilter::from_bytes(&shared.to_bytes()).unwrap();
                assert!(copy.contains(item(299)), "{}", context());
            }
        }
        filter.clear();
        assert_eq!(Filter::from_bytes(&filter.to_bytes()).unwrap().words(), fresh.words());
    }
}

#[test]
fn counters_beyond_the_largest_are_refused() {
    let filter = &filters()[1];
    for (at, most, field) in [
        (104, 1_u64 << 62, "inserts"),
        (112, 1 << 52, "generation"),
        (128, 1 << 62, "backward_steps"),
        (136, 1 << 62, "overloaded_generations"),
    ] {
        for beyond in [most + 1, u64::MAX] {
            let mut forged = filter.to_bytes();
            forged[at..at + 8].copy_from_slice(&beyond.to_le_bytes());
            let error = Filter::from_bytes(&with_right_checksum(forged)).unwrap_err();
            assert!(
                matches!(error, SnapshotError::Field { field: refused, value } if refused == field && value == beyond),
                "{error}"
            );
        }
    }
}

//! Snapshots that are written and read in pieces.

mod common;

use std::time::Duration;

use common::Random;
use lately::{Filter, Layout, SnapshotError, SnapshotReader, SnapshotWriter};

fn filters() -> Vec<Filter> {
    let builder = || Filter::builder().false_positive_rate(1e-3);
    let span = Duration::from_secs(60);
    let mut filters: Vec<Filter> =
        Layout::ALL.iter().map(|layout| builder().window(3_000).layout(*layout).build().unwrap()).collect();
    filters.push(builder().time_window(span).capacity(3_000).build().unwrap());
    filters.push(builder().time_window(span).build().unwrap());
    for filter in &mut filters {
        for step in 0..50 {
            filter.advance_to(1_000_000 + step * 700);
            filter.extend(step * 100..step * 100 + 150);
        }
    }
    filters
}

fn pieces(filter: &Filter, mut most: impl FnMut() -> usize) -> Vec<Vec<u8>> {
    let mut writer = SnapshotWriter::new(filter);
    let pieces =
        std::iter::from_fn(|| writer.next_piece(filter, most())).take_while(|piece| !piece.is_empty());
    let pieces: Vec<Vec<u8>> = pieces.collect();
    assert_eq!(writer.written(), filter.snapshot_len());
    pieces
}

#[test]
fn pieces_of_any_size_are_the_snapshot_and_restore_the_filter() {
    let mut random = Random(1);
    for filter in filters() {
        for _ in 0..20 {
            let largest = [1, 8, 50, 1_000, 100_000][random.below(5) as usize];
            let written = pieces(&filter, || random.below(largest + 1) as usize).concat();
            assert!(written == filter.to_bytes());
            let (mut reader, mut rest) = (SnapshotReader::new(), written.as_slice());
            while !rest.is_empty() {
                assert!(!reader.is_complete());
                let (piece, others) = rest.split_at((random.below(largest + 1) as usize).min(rest.len()));
                reader.push(piece).unwrap();
                rest = others;
                // A reader in the middle can be saved and restored.
                if random.below(10) == 0 {
                    let mut received = Vec::new();
                    reader.write_received(|bytes| received.extend_from_slice(bytes));
                    assert!(received == written[..written.len() - rest.len()]);
                    reader = SnapshotReader::new();
                    reader.push(&received).unwrap();
                }
                assert_eq!(reader.received(), (written.len() - rest.len()) as u64);
            }
            assert!(reader.is_complete() && reader.expected() == Some(filter.snapshot_len()));
            assert!(reader.finish().unwrap() == filter);
        }
    }
}

#[test]
fn no_piece_is_larger_than_asked_for_wherever_the_snapshot_ends() {
    for filter in filters() {
        let words = filter.snapshot_len() as usize / 8;
        // So that the last piece ends before the checksum, with it, and in between.
        for most in (2..40).chain(words - 3..words + 3).map(|words| words * 8) {
            let pieces = pieces(&filter, || most);
            assert!(pieces.iter().all(|piece| piece.len() <= most), "{most} bytes at most");
            // The checksum may come alone, after a piece that ends with the last word.
            let full = &pieces[..pieces.len().saturating_sub(2)];
            assert!(full.iter().all(|piece| piece.len() == most), "{most} bytes each");
            assert!(pieces.concat() == filter.to_bytes());
        }
    }
}

#[test]
fn a_snapshot_that_is_cut_tells_how_long_it_is() {
    /// A header and a checksum: nothing is shorter.
    const LEAST: u64 = 152 + 8;
    let filter = &filters()[0];
    let (bytes, whole) = (filter.to_bytes(), filter.snapshot_len());
    for (end, whole) in [(0, LEAST), (100, LEAST), (bytes.len() - 9, whole), (bytes.len() - 1, whole)] {
        let mut reader = SnapshotReader::new();
        reader.push(&bytes[..end]).unwrap();
        for result in [reader.finish(), Filter::from_bytes(&bytes[..end])] {
            let Err(SnapshotError::Truncated { expected, found }) = result else {
                panic!("{end} bytes are enough")
            };
            assert_eq!((expected, found), (whole, end as u64));
        }
    }
}

#[test]
fn what_is_missing_damaged_or_too_much_is_refused() {
    for filter in filters() {
        let bytes = filter.to_bytes();
        for end in
            [0, 7, 8, 151, 152, 153, bytes.len() / 2, bytes.len() - 9, bytes.len() - 8, bytes.len() - 1]
        {
            let mut reader = SnapshotReader::new();
            reader.push(&bytes[..end]).unwrap();
            assert!(!reader.is_complete());
            assert!(matches!(reader.finish(), Err(SnapshotError::Truncated { .. })), "{end} bytes");
        }
        let mut reader = SnapshotReader::new();
        reader.push(&bytes).unwrap();
        assert!(matches!(reader.push(&[1, 2, 3]), Err(SnapshotError::TrailingBytes { extra: 3 })));
        for place in (0..bytes.len()).step_by(41) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            let mut reader = SnapshotReader::new();
            let pushed = damaged.chunks(777).try_for_each(|piece| reader.push(piece));
            assert!(pushed.is_err() || reader.finish().is_err(), "byte {place}");
        }
    }
}

/// The pieces of different moments are no snapshot.
#[test]
fn a_filter_that_changes_in_between_is_noticed() {
    for mut filter in filters() {
        let mut writer = SnapshotWriter::new(&filter);
        assert!(writer.next_piece(&filter, 1024).is_some());
        let _ = filter.contains("anything");
        assert!(writer.next_piece(&filter, 1024).is_some());
        filter.insert("new");
        assert!(writer.next_piece(&filter, 1024).is_none());
        assert!(SnapshotWriter::new(&filter).next_piece(&filter, 1024).is_some());
    }
}

#[test]
fn the_memory_of_a_snapshot_is_known_from_its_beginning() {
    for filter in filters() {
        let most = filter.most_memory_bytes_after(u64::MAX);
        for bytes in [filter.to_bytes(), filter.blueprint()] {
            assert_eq!(Filter::memory_of_snapshot(&bytes[..152]).unwrap(), most);
            assert_eq!(Filter::memory_of_snapshot(&bytes).unwrap(), most);
            assert!(matches!(
                Filter::memory_of_snapshot(&bytes[..151]),
                Err(SnapshotError::Truncated { .. })
            ));
        }
    }
    assert!(matches!(Filter::memory_of_snapshot(b"other"), Err(SnapshotError::Magic)));
}

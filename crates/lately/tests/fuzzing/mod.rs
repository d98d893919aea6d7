//! What the fuzzer tries, and a test replays: any bytes must do.

use std::time::Duration;

use lately::{Filter, Instructions, Overload, SharedFilter, SnapshotReader, Window};

use crate::common::generations::Generations;
use crate::common::{ExactWindow, item, shapes, with_shape};

/// Reads a fuzzer's bytes; zeros past the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u64 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        (*first).into()
    }

    fn pair(&mut self) -> u64 {
        self.next() << 8 | self.next()
    }
}

/// A filter of any layout and kind of window.
fn filter(bytes: &mut Bytes<'_>) -> Filter {
    let shapes = shapes();
    let shape = shapes[bytes.next() as usize % shapes.len()];
    let (kind, size) = (bytes.next(), 1 + bytes.next() % 200);
    let span = Duration::from_millis(42 + bytes.pair() % 2_000);
    let overload = Overload::ALL[kind as usize / 4 % 2];
    let builder = match kind % 4 {
        0 => with_shape(&shape).window(size),
        1 | 2 => with_shape(&shape).time_window(span).capacity(size).overload(overload),
        _ => Filter::builder().time_window(span).false_positive_rate(1e-3),
    };
    let mut filter = builder.build().unwrap();
    if kind & 0x80 != 0 {
        filter.set_instructions(Instructions::Portable);
    }
    filter
}

/// A snapshot with some bytes replaced and its checksum repaired, or the bytes as they are: it is refused, or gives a
/// filter that works, and can be saved and loaded again. Read in pieces, it gives the same.
pub(crate) fn snapshot(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let forged = if bytes.next() == 0 {
        bytes.0.to_vec()
    } else {
        let mut filter = filter(&mut bytes);
        for number in 0..bytes.next() * 3 {
            filter.advance_to(1_000 + number);
            filter.insert(item(number));
        }
        let mut forged = filter.to_bytes();
        while !bytes.0.is_empty() {
            // Most places are in the header, whose bytes say more than those of words.
            let place = bytes.pair() as usize;
            let end = if place & 0x8000 == 0 { forged.len().min(700) } else { forged.len() } - 8;
            forged[(place & 0x7fff) % end] = bytes.next() as u8;
        }
        let content = forged.len() - 8;
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..content]);
        forged[content..].copy_from_slice(&checksum.to_le_bytes());
        forged
    };
    let decoded = Filter::from_bytes(&forged);
    // A reader of pieces allocates what the head asks for, so its caller compares that with what there is.
    if Filter::memory_of_snapshot(&forged).is_ok_and(|bytes| bytes > 1 << 29) && decoded.is_err() {
        return;
    }
    let mut reader = SnapshotReader::new();
    let pushed = forged.chunks(97).try_for_each(|piece| reader.push(piece));
    let in_pieces = pushed.and_then(|()| reader.finish());
    assert_eq!(
        decoded.is_ok(),
        in_pieces.is_ok(),
        "whole {:?}, in pieces {:?}",
        decoded.err(),
        in_pieces.err()
    );
    let Ok(mut filter) = decoded else { return };
    assert!(filter == in_pieces.unwrap());
    filter.insert("last");
    assert!(filter.contains("last") && filter.age_of("last").is_some());
    let latest = filter.latest_ms().unwrap_or(0);
    filter.advance_to(latest.saturating_sub(1));
    filter.advance_to(latest.saturating_add(10));
    filter.insert_batch(&(0..100).map(item).collect::<Vec<_>>());
    _ = (filter.check_or_insert("once"), filter.check_and_insert("every"));
    _ = (filter.statistics(), filter.guaranteed_window(), filter.guaranteed_span(), filter.next_shift_ms());
    _ = filter.as_of(u64::MAX).contains("last");
    assert!(filter.contains("every"));
    let mut restored = Filter::from_bytes(&filter.to_bytes()).expect("what is loaded can be saved");
    assert!(restored.words() == filter.words() && restored.contains("every"));
    restored.advance_to(u64::MAX);
    restored.insert("later");
    assert!(restored.contains("later"), "{restored:?}");
    Filter::from_bytes(&restored.to_bytes()).expect("saved after the end of time");
    if let Ok(shared) = SharedFilter::try_from(filter) {
        shared.insert("shared");
        assert!(shared.contains("shared") && shared.contains("every"));
        assert!(Filter::from_bytes(&shared.to_bytes()).is_ok());
    }
    restored.clear();
    assert!(!restored.contains("later"));
}

/// Any operations on any filter, and on the same filter shared: after each of them, every item of the window is
/// reported, and both filters have the same bits.
pub(crate) fn operations(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut own = filter(&mut bytes);
    let window = own.window();
    let mut shared = SharedFilter::try_from(own.clone()).ok();
    let mut generations = Generations::new(window, &own.plan().shape);
    let mut exact = ExactWindow::default();
    let mut now_ms = 1_700_000_000_000;
    own.advance_to(now_ms);
    shared.iter().for_each(|shared| shared.advance_to(now_ms));
    generations.advance_to(now_ms);
    while !bytes.0.is_empty() {
        let operation = bytes.next();
        let argument = bytes.next();
        match operation % 8 {
            kind @ 0..=2 => {
                let item = item(argument);
                let seen = [
                    |filter: &mut Filter, item| {
                        filter.insert(item);
                        true
                    },
                    |filter: &mut Filter, item| filter.check_and_insert(item),
                    |filter: &mut Filter, item| filter.check_or_insert(item),
                ][kind as usize](&mut own, item);
                if let Some(shared) = &shared {
                    let answer = match kind {
                        0 => {
                            shared.insert(item);
                            true
                        }
                        1 => shared.check_and_insert(item),
                        _ => shared.check_or_insert(item),
                    };
                    assert_eq!(answer, seen);
                }
                if kind != 2 || !seen {
                    exact.insert(argument, now_ms);
                    generations.insert(argument);
                }
            }
            3 => {
                let first = bytes.next();
                let items: Vec<_> = (first..first + argument % 90).map(item).collect();
                own.insert_batch(&items);
                shared.iter().for_each(|shared| shared.insert_batch(&items));
                for number in first..first + argument % 90 {
                    exact.insert(number, now_ms);
                    generations.insert(number);
                }
            }
            4 | 5 => {
                now_ms += if operation % 8 == 4 { argument } else { argument * argument };
                own.advance_to(now_ms);
                shared.iter().for_each(|shared| shared.advance_to(now_ms));
                generations.advance_to(now_ms);
            }
            6 => {
                own.advance_to(now_ms - argument);
                shared.iter().for_each(|shared| shared.advance_to(now_ms - argument));
            }
            _ => {
                own = Filter::from_bytes(&own.to_bytes()).expect("just written");
                shared =
                    shared.map(|shared| SharedFilter::from_bytes(&shared.to_bytes()).expect("just written"));
            }
        }
        if let Some(shared) = &shared {
            assert!(shared.to_filter() == own, "one thread leaves the same bits");
        }
        let promised: Vec<u64> = match window {
            Window::Count { inserts } => exact.of_last(inserts).chain(generations.kept()).collect(),
            Window::Time { overload: Overload::KeepRate, .. } => generations.kept().collect(),
            _ => exact.since(now_ms + 1 - window.span().unwrap().as_millis() as u64).collect(),
        };
        for number in promised {
            assert!(own.contains(item(number)), "{number} is lost from {window:?}, {}", own.plan().shape);
        }
        if !matches!(window, Window::Elastic { .. }) {
            assert_eq!(own.guaranteed_window(), generations.guaranteed_window());
        }
    }
}

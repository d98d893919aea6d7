//! Reads bytes that arrive in pieces, as the reading thread does, without a file and without a thread. For the fuzzer.

use std::cell::Cell;
use std::path::Path;

use super::batch::Batch;
use super::record_finder::RecordFinder;
use super::splitter::Splitter;
use crate::failure::Failure;

thread_local! {
    /// Their memory is reused: an input takes less time than half a megabyte of zeros.
    static BATCHES: Cell<Option<[Batch; 2]>> = const { Cell::new(None) };
}

/// Passes each batch to `take`. The pieces have these lengths, and the rest is one piece.
pub(crate) fn read_in_pieces(
    bytes: &[u8],
    lengths: &[usize],
    is_last_file: bool,
    finder: &mut RecordFinder,
    mut take: impl FnMut(&Batch),
) -> Result<(), Failure> {
    let mut batches = BATCHES.take().unwrap_or_else(|| [Batch::new(), Batch::new()]);
    batches.iter_mut().for_each(Batch::clear);
    finder.start_file(Path::new("the input"));
    let mut hand_over = |[batch, next]: &mut [Batch; 2]| {
        next.clear();
        next.append_rest_of(batch);
        take(batch);
        std::mem::swap(batch, next);
    };
    let mut read = || -> Result<(), Failure> {
        for piece in pieces(bytes, lengths) {
            batches[0].append(piece);
            finder.add_complete(&mut batches[0])?;
            while batches[0].is_full() {
                hand_over(&mut batches);
                finder.add_complete(&mut batches[0])?;
            }
            finder.cut_oversize(&mut batches[0])?;
            if !batches[0].ends.is_empty() {
                hand_over(&mut batches);
            }
        }
        finder.end_file(&mut batches[0], is_last_file)
    };
    let result = read();
    if result.is_err() {
        batches[0].filled = batches[0].complete();
    }
    hand_over(&mut batches);
    BATCHES.set(Some(batches));
    result
}

/// Returns the ends of records, of which the splitter may append at most `most` at once.
pub(crate) fn ends_in_pieces(
    bytes: &[u8],
    lengths: &[usize],
    most: usize,
    splitter: &mut Splitter,
) -> Vec<usize> {
    let (mut ends, mut arrived, mut scanned) = (Vec::new(), 0, 0);
    for piece in pieces(bytes, lengths) {
        arrived += piece.len();
        loop {
            let mut found = Vec::new();
            splitter.append_ends(&bytes[..arrived], scanned, most, &mut found);
            assert!(found.len() <= most, "{} ends, not {most}", found.len());
            ends.extend_from_slice(&found);
            if found.len() < most {
                break;
            }
            scanned = ends.last().copied().unwrap_or(0);
        }
        scanned = arrived;
    }
    ends
}

fn pieces<'a>(bytes: &'a [u8], lengths: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut lengths = lengths.iter();
    std::iter::from_fn(move || {
        let length = lengths.next().map_or(rest.len(), |length| (*length).min(rest.len()));
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

//! Finds where records end.

use memchr::memchr_iter;

use crate::csv;
use crate::scan::{equal, mask_of};

/// Appends the ends of the records from `from` on, until `ends` has at least `most` elements or no end is left.
pub(super) fn append_ends(terminator: u8, bytes: &[u8], from: usize, most: usize, ends: &mut Vec<usize>) {
    let (chunks, rest) = bytes[from..].as_chunks::<64>();
    let mut at = from;
    for chunk in chunks {
        let mut places = mask_of(chunk, |bytes| equal(bytes, terminator));
        while places != 0 {
            ends.push(at + places.trailing_zeros() as usize + 1);
            places &= places - 1;
        }
        if ends.len() >= most {
            return;
        }
        at += chunk.len();
    }
    ends.extend(memchr_iter(terminator, rest).map(|place| at + place + 1));
}

/// Finds the ends of records in bytes that arrive piece by piece. Each byte is examined once, however the
/// input is split into pieces.
#[derive(Clone, Debug)]
pub(crate) enum Splitter {
    /// Records that end with a byte: a newline, or NUL.
    Terminated(u8),
    /// CSV: a newline inside quotes ends nothing.
    Csv(csv::RecordEnds),
}

impl Splitter {
    pub(crate) fn terminator(&self) -> u8 {
        match self {
            Self::Terminated(byte) => *byte,
            Self::Csv(_) => b'\n',
        }
    }

    /// Appends the ends (after the terminator) of the records from `from` on, until there are `most` or the bytes end. The
    /// next call must continue after the last end if there are `most`, and otherwise after these bytes.
    pub(crate) fn append_ends(&mut self, bytes: &[u8], from: usize, most: usize, ends: &mut Vec<usize>) {
        match self {
            Self::Terminated(byte) => {
                append_ends(*byte, bytes, from, most, ends);
                ends.truncate(most);
            }
            Self::Csv(state) => state.append(bytes, from, most, ends),
        }
    }

    /// Returns true if the bytes so far end inside quotes.
    pub(super) fn is_in_quotes(&self) -> bool {
        matches!(self, Self::Csv(ends) if ends.is_in_quotes())
    }

    /// Starts another file. The previous file has ended, and its last record with it.
    pub(super) fn restart(&mut self) {
        if let Self::Csv(ends) = self {
            ends.restart();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::tests::split_in_pieces;

    #[test]
    fn lines_do_not_depend_on_the_pieces_in_which_the_input_arrives() {
        let text = b"a,b\n\n\"x\ny\",1\r\n\"say \"\"hi\n\"\"\",2\n5\" pipe\n\n\n\"open\nto the end";
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        for piece in 1..=text.len() {
            let mut splitter = Splitter::Terminated(b'\n');
            let found = split_in_pieces(text, piece, usize::MAX, |bytes, from, most, ends| {
                splitter.append_ends(bytes, from, most, ends);
            });
            assert_eq!(found, lines, "pieces of {piece}");
        }
    }

    #[test]
    fn ends_found_in_chunks_equal_those_found_one_by_one() {
        // Every distance between two ends, at every position in a chunk, with bytes of all values between
        // them.
        let mut text: Vec<u8> = Vec::new();
        for length in (0..150).chain((0..150).rev()) {
            text.extend((0..length).map(|at| (at * 7 + length) as u8).filter(|byte| *byte != b'\n'));
            text.push(b'\n');
        }
        text.extend_from_slice(&[b'\n'; 200]);
        for (from, end) in
            (0..130).flat_map(|from| [(from, text.len()), (from, text.len() - from), (from, from)])
        {
            let bytes = &text[..end];
            let expected: Vec<usize> =
                memchr_iter(b'\n', &bytes[from..]).map(|place| from + place + 1).collect();
            let mut ends = vec![7];
            append_ends(b'\n', bytes, from, usize::MAX, &mut ends);
            assert_eq!(ends[1..], expected, "{from} to {end}");
            let mut some = Vec::new();
            append_ends(b'\n', bytes, from, 100, &mut some);
            assert!(some.len() >= expected.len().min(100) && expected.starts_with(&some), "{from} to {end}");
        }
    }
}

//! Finds where records end.

use memchr::{memchr, memchr_iter, memchr2};
use wide::{CmpEq as _, i8x16};

use crate::keys::BYTE_ORDER_MARK;

/// Appends the ends of the records from `from` on, until `ends` has at least `most` elements or no end is
/// left. Searches 64 bytes at a time: records are short, and a separate search for each takes twice as long.
pub(crate) fn append_ends(terminator: u8, bytes: &[u8], from: usize, most: usize, ends: &mut Vec<usize>) {
    let (chunks, rest) = bytes[from..].as_chunks::<64>();
    let mut at = from;
    for chunk in chunks {
        let mut places = places_of(terminator, chunk);
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

/// Returns a mask with one bit per byte of the chunk, set where the byte is `byte`.
#[inline]
fn places_of(byte: u8, chunk: &[u8; 64]) -> u64 {
    let wanted = i8x16::splat(byte.cast_signed());
    chunk.as_chunks::<16>().0.iter().rev().fold(0, |places, sixteen| {
        let is_wanted = i8x16::new(sixteen.map(u8::cast_signed)).cmp_eq(wanted);
        places << 16 | u64::from(is_wanted.move_mask() as u16)
    })
}

/// Finds the ends of records in bytes that arrive piece by piece. Each byte is examined once, however the
/// input is split into pieces.
#[derive(Clone, Debug)]
pub(crate) enum Splitter {
    /// Records that end with a byte: a newline, or NUL.
    Terminated(u8),
    /// CSV: a newline inside quotes ends nothing.
    Csv(CsvSplitter),
}

impl Splitter {
    pub(crate) fn terminator(&self) -> u8 {
        match self {
            Self::Terminated(byte) => *byte,
            Self::Csv(_) => b'\n',
        }
    }

    /// Returns the end (after the terminator) of the record that continues at `from`, or `None` if the bytes
    /// end first. The next call must continue after these bytes.
    #[inline]
    pub(crate) fn find_end(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Terminated(byte) => memchr(*byte, &bytes[from..]).map(|at| from + at + 1),
            Self::Csv(csv) => csv.find_end(bytes, from),
        }
    }

    /// Starts another file. The previous file has ended, and its last record with it.
    pub(crate) fn restart(&mut self) {
        if let Self::Csv(csv) = self {
            csv.place = Place::FileStart(0);
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CsvSplitter {
    delimiter: u8,
    place: Place,
}

/// The position in a CSV record after the bytes seen so far.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// After this number of bytes of a possible byte order mark. A quote after the mark opens a field.
    FileStart(usize),
    FieldStart,
    Bare,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first half of a doubled quote.
    QuoteInQuoted,
}

impl CsvSplitter {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self { delimiter, place: Place::FileStart(0) }
    }

    fn find_end(&mut self, bytes: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        while at < bytes.len() {
            match self.place {
                Place::FileStart(known) if known < BYTE_ORDER_MARK.len() => {
                    let goes_on = bytes[at] == BYTE_ORDER_MARK[known];
                    self.place = match known {
                        _ if goes_on => Place::FileStart(known + 1),
                        0 => Place::FieldStart,
                        _ => Place::Bare,
                    };
                    at += usize::from(goes_on);
                }
                Place::FileStart(_) => self.place = Place::FieldStart,
                // A quote is special at the start of a field, where it opens a quoted part, and in that part,
                // where a doubled quote is one byte of the field.
                Place::FieldStart | Place::QuoteInQuoted => {
                    let opens = bytes[at] == b'"';
                    self.place = if opens { Place::Quoted } else { Place::Bare };
                    at += usize::from(opens);
                }
                Place::Bare => {
                    at += memchr2(self.delimiter, b'\n', &bytes[at..])? + 1;
                    self.place = Place::FieldStart;
                    if bytes[at - 1] == b'\n' {
                        return Some(at);
                    }
                }
                Place::Quoted => {
                    at += memchr(b'"', &bytes[at..])? + 1;
                    self.place = Place::QuoteInQuoted;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split<'a>(splitter: &Splitter, bytes: &'a [u8], piece: usize) -> Vec<&'a [u8]> {
        let mut splitter = splitter.clone();
        let (mut records, mut start, mut scanned) = (Vec::new(), 0, 0);
        for end in (0..=bytes.len()).step_by(piece).chain([bytes.len()]) {
            while let Some(found) = splitter.find_end(&bytes[..end], scanned) {
                records.push(&bytes[start..found]);
                (start, scanned) = (found, found);
            }
            scanned = end;
        }
        records.push(&bytes[start..]);
        records
    }

    #[test]
    fn records_do_not_depend_on_the_pieces_in_which_the_input_arrives() {
        let text = b"a,b\n\n\"x\ny\",1\r\n\"say \"\"hi\n\"\"\",2\n5\" pipe,\"q\"tail\"\n,\"\"\n\"\"\"\n\n\"\n\"open\nto the end";
        let csv = Splitter::Csv(CsvSplitter::new(b','));
        let whole = split(&csv, text, text.len());
        assert_eq!(whole.len(), 8);
        assert_eq!(whole[2], b"\"x\ny\",1\r\n");
        assert_eq!(whole[4], b"5\" pipe,\"q\"tail\"\n");
        assert_eq!(whole[7], b"\"open\nto the end");
        let lines = Splitter::Terminated(b'\n');
        for piece in 1..text.len() {
            assert_eq!(split(&csv, text, piece), whole, "pieces of {piece}");
            assert_eq!(split(&lines, text, piece), split(&lines, text, text.len()), "pieces of {piece}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_field() {
        let csv = Splitter::Csv(CsvSplitter::new(b','));
        for (text, records) in [
            ("\u{feff}\"a\nb\",c\n1\n", 3),
            ("\u{feff}a\"\nb\n", 3),
            ("\u{feff}\n\n", 3),
            // Only the first one is a mark.
            ("\u{feff}\u{feff}\"a\nb\n", 3),
            ("a\n\u{feff}\"b\n", 3),
        ] {
            for piece in 1..=text.len() {
                let found = split(&csv, text.as_bytes(), piece);
                assert_eq!(found.len(), records, "{text:?} in pieces of {piece}: {found:?}");
            }
        }
        // Half a mark is text, in which a quote is a byte.
        assert_eq!(split(&csv, b"\xef\xbb\"a\nb", 1).len(), 2);
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

    #[test]
    fn csv_records_end_where_an_independent_reader_says() {
        // Every short text over the bytes that matter. The other reader skips empty lines, so they are not
        // counted.
        let alphabet = b"a,\"\n";
        for len in 0..=7_u32 {
            for number in 0..4_usize.pow(len) {
                let text: Vec<u8> = (0..len).map(|i| alphabet[number >> (2 * i) & 3]).collect();
                let records = split(&Splitter::Csv(CsvSplitter::new(b',')), &text, 3);
                let ours = records.iter().filter(|record| !matches!(***record, [] | [b'\n'])).count();
                let theirs = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&*text);
                assert_eq!(ours, theirs.into_byte_records().count(), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }
}

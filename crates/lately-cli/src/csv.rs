//! Parses CSV and its quotes: where a record ends, and which fields it has.

use std::ops::Range;

use memchr::memchr;

use crate::scan::{Chunk, Places, equal, mask_of, places_of_two};

/// Some programs begin a UTF-8 file with this mark. It belongs to the file, not to the first column's name.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Finds the ends of records in bytes that arrive piece by piece. A newline inside quotes ends nothing.
#[derive(Clone, Debug)]
pub(crate) struct RecordEnds {
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

impl RecordEnds {
    pub(crate) fn new(delimiter: u8) -> Self {
        Self { delimiter, place: Place::FileStart(0) }
    }

    /// Starts another file.
    pub(crate) fn restart(&mut self) {
        self.place = Place::FileStart(0);
    }

    /// Returns true if the bytes so far end inside quotes.
    pub(crate) fn is_in_quotes(&self) -> bool {
        matches!(self.place, Place::Quoted)
    }

    /// Appends the ends (after the newline) of the records from `from` on, until there are `most` or the bytes end. The
    /// next call must continue after the last end if there are `most`, and otherwise after these bytes.
    pub(crate) fn append(&mut self, bytes: &[u8], from: usize, most: usize, ends: &mut Vec<usize>) {
        let from = self.skip_byte_order_mark(bytes, from);
        let delimiter = self.delimiter;
        let special = Places::new(bytes, from, |chunk: &Chunk| {
            mask_of(chunk, |bytes| equal(bytes, b'"') | equal(bytes, delimiter) | equal(bytes, b'\n'))
        });
        // The only place at which a quote opens a field, or doubles the one before it.
        let mut quote_at = from;
        let mut place = self.place;
        for at in special {
            let byte = bytes[at];
            place = match place {
                Place::Quoted if byte == b'"' => {
                    quote_at = at + 1;
                    Place::QuoteInQuoted
                }
                Place::Quoted => Place::Quoted,
                Place::FieldStart | Place::QuoteInQuoted if byte == b'"' && at == quote_at => Place::Quoted,
                // Any other quote is a byte of its field.
                _ if byte == b'"' => Place::Bare,
                _ => {
                    quote_at = at + 1;
                    Place::FieldStart
                }
            };
            if byte == b'\n' && !matches!(place, Place::Quoted) {
                ends.push(at + 1);
                if ends.len() >= most {
                    self.place = place;
                    return;
                }
            }
        }
        let is_decided = quote_at < bytes.len();
        self.place = match place {
            Place::FieldStart | Place::QuoteInQuoted if is_decided => Place::Bare,
            place => place,
        };
    }

    /// Returns where the text begins, after the mark or the part of it that is there.
    fn skip_byte_order_mark(&mut self, bytes: &[u8], from: usize) -> usize {
        let mut at = from;
        while let (Place::FileStart(known), Some(byte)) = (self.place, bytes.get(at)) {
            self.place = match known {
                3.. => Place::FieldStart,
                _ if *byte == BYTE_ORDER_MARK[known] => {
                    at += 1;
                    Place::FileStart(known + 1)
                }
                0 => Place::FieldStart,
                _ => Place::Bare,
            };
        }
        at
    }
}

/// A field and its place in the record.
pub(crate) struct Field<'a> {
    text: &'a [u8],
    start: usize,
    /// The end of its quoted part (the closing quote, or the end of the text), if it has one.
    quoted_to: Option<usize>,
    end: usize,
    has_doubled_quotes: bool,
}

impl Field<'_> {
    /// Returns the range of the value, if the record contains it unchanged.
    pub(crate) fn plain(&self) -> Option<Range<usize>> {
        match self.quoted_to {
            None => Some(self.start..self.end),
            Some(quote) if !self.has_doubled_quotes && quote + 1 >= self.end => Some(self.start + 1..quote),
            Some(_) => None,
        }
    }

    /// Appends the value, without its quotes.
    pub(crate) fn append_to(&self, value: &mut Vec<u8>) {
        let Some(quote) = self.quoted_to else {
            return value.extend_from_slice(&self.text[self.start..self.end]);
        };
        let mut rest = &self.text[self.start + 1..quote];
        while let Some(at) = memchr(b'"', rest) {
            // A doubled quote: keep the first, skip the second.
            value.extend_from_slice(&rest[..=at]);
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        value.extend_from_slice(rest);
        // Bytes after the closing quote are kept unchanged.
        value.extend_from_slice(self.text.get(quote + 1..self.end).unwrap_or_default());
    }
}

/// Returns the fields of one record.
#[inline]
pub(crate) fn fields(text: &[u8], delimiter: u8) -> impl Iterator<Item = Field<'_>> {
    // A record has no newline outside quotes, except the one that ends it.
    let mut ends = places_of_two(text, delimiter, b'\n');
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        if text.get(start) != Some(&b'"') {
            let end = ends.next();
            next = end.map(|end| end + 1);
            let end = end.unwrap_or(text.len());
            return Some(Field { text, start, quoted_to: None, end, has_doubled_quotes: false });
        }
        let (quoted_to, has_doubled_quotes) = quoted_part(text, start);
        let bare = quoted_to.map_or(start, |quote| (quote + 1).min(text.len()));
        let end = ends.find(|end| *end >= bare);
        next = end.map(|end| end + 1);
        Some(Field { text, start, quoted_to, end: end.unwrap_or(text.len()), has_doubled_quotes })
    })
}

/// Returns the end of the quoted part that begins at `start`, if one does, and whether it has doubled quotes.
#[inline]
fn quoted_part(text: &[u8], start: usize) -> (Option<usize>, bool) {
    if text.get(start) != Some(&b'"') {
        return (None, false);
    }
    let mut has_doubled_quotes = false;
    let mut at = start + 1;
    while let Some(quote) = memchr(b'"', &text[at..]).map(|found| at + found) {
        if text.get(quote + 1) != Some(&b'"') {
            return (Some(quote), has_doubled_quotes);
        }
        has_doubled_quotes = true;
        at = quote + 2;
    }
    (Some(text.len()), has_doubled_quotes)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Splits bytes that arrive in pieces of this length, with a function that appends at most so many ends.
    pub(crate) fn split_in_pieces(
        bytes: &[u8],
        piece: usize,
        most: usize,
        mut append: impl FnMut(&[u8], usize, usize, &mut Vec<usize>),
    ) -> Vec<&[u8]> {
        let (mut records, mut start, mut scanned) = (Vec::new(), 0, 0);
        for end in (0..=bytes.len()).step_by(piece).chain([bytes.len()]) {
            loop {
                let mut ends = Vec::new();
                append(&bytes[..end], scanned, most, &mut ends);
                for found in &ends {
                    records.push(&bytes[start..*found]);
                    start = *found;
                }
                if ends.len() < most {
                    break;
                }
                scanned = start;
            }
            scanned = end;
        }
        records.push(&bytes[start..]);
        records
    }

    fn split(bytes: &[u8], piece: usize) -> Vec<&[u8]> {
        let split = |most| {
            let mut state = RecordEnds::new(b',');
            split_in_pieces(bytes, piece, most, |bytes, from, most, ends| {
                state.append(bytes, from, most, ends);
            })
        };
        let one_by_one = split(1);
        assert_eq!(split(usize::MAX), one_by_one);
        one_by_one
    }

    fn values(text: &[u8]) -> Vec<Vec<u8>> {
        let value = |field: Field<'_>| {
            let mut value = Vec::new();
            field.append_to(&mut value);
            if let Some(range) = field.plain() {
                assert_eq!(&text[range], value);
            }
            value
        };
        fields(text, b',').map(value).collect()
    }

    /// Returns every text of at most `longest` of these four bytes.
    fn every_text(alphabet: &[u8; 4], longest: u32) -> impl Iterator<Item = Vec<u8>> {
        (0..=longest).flat_map(move |len| {
            (0..4_usize.pow(len))
                .map(move |number| (0..len).map(|i| alphabet[number >> (2 * i) & 3]).collect())
        })
    }

    fn independent_reader(text: &[u8]) -> csv::ByteRecordsIntoIter<&[u8]> {
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text).into_byte_records()
    }

    #[test]
    fn records_do_not_depend_on_the_pieces_in_which_the_input_arrives() {
        let text = b"a,b\n\n\"x\ny\",1\r\n\"say \"\"hi\n\"\"\",2\n5\" pipe,\"q\"tail\"\n,\"\"\n\"\"\"\n\n\"\n\"open\nto the end";
        let whole = split(text, text.len());
        assert_eq!(whole.len(), 8);
        assert_eq!(whole[2], b"\"x\ny\",1\r\n");
        assert_eq!(whole[4], b"5\" pipe,\"q\"tail\"\n");
        assert_eq!(whole[7], b"\"open\nto the end");
        for piece in 1..text.len() {
            assert_eq!(split(text, piece), whole, "pieces of {piece}");
        }
    }

    #[test]
    fn long_records_end_where_those_found_byte_by_byte_do() {
        let mut state = 1_u64;
        for _ in 0..300 {
            let text: Vec<u8> = (0..400)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    b"aaaaaa,,\"\n"[(state >> 33) as usize % 10]
                })
                .collect();
            let whole = split(&text, text.len());
            for piece in [1, 2, 63, 64, 65] {
                assert_eq!(split(&text, piece), whole);
            }
            let contents = whole.iter().map(|record| record.strip_suffix(b"\n").unwrap_or(record));
            for record in contents.filter(|record| !record.is_empty()) {
                let theirs = independent_reader(record).next().unwrap().unwrap();
                let theirs: Vec<Vec<u8>> = theirs.iter().map(<[u8]>::to_vec).collect();
                assert_eq!(values(record), theirs);
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_field() {
        for (text, records) in [
            ("\u{feff}\"a\nb\",c\n1\n", 3),
            ("\u{feff}a\"\nb\n", 3),
            ("\u{feff}\n\n", 3),
            // Only the first one is a mark.
            ("\u{feff}\u{feff}\"a\nb\n", 3),
            ("a\n\u{feff}\"b\n", 3),
        ] {
            for piece in 1..=text.len() {
                let found = split(text.as_bytes(), piece);
                assert_eq!(found.len(), records, "{text:?} in pieces of {piece}: {found:?}");
            }
        }
        // Half a mark is text, in which a quote is a byte.
        assert_eq!(split(b"\xef\xbb\"a\nb", 1).len(), 2);
    }

    #[test]
    fn records_end_where_an_independent_reader_says() {
        // Over the bytes that matter. The other reader skips empty lines, so they are not counted.
        for text in every_text(b"a,\"\n", 7) {
            let records = split(&text, 3);
            let ours = records.iter().filter(|record| !matches!(***record, [] | [b'\n'])).count();
            let theirs = independent_reader(&text).count();
            assert_eq!(ours, theirs, "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn values_are_those_an_independent_reader_finds() {
        // Over the bytes that matter. The other reader finds no record in an empty text.
        for text in every_text(b"a,\"b", 8).filter(|text| !text.is_empty()) {
            let theirs = independent_reader(&text).next().unwrap().unwrap();
            let theirs: Vec<Vec<u8>> = theirs.iter().map(<[u8]>::to_vec).collect();
            assert_eq!(values(&text), theirs, "{:?}", String::from_utf8_lossy(&text));
        }
    }
}

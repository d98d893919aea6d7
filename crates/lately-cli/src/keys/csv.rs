//! Finds columns of a CSV record by name.

use memchr::{memchr, memchr2};

use super::BYTE_ORDER_MARK;
use super::values::Values;

/// The wanted columns and their slots.
#[derive(Debug)]
pub(crate) struct CsvColumns {
    delimiter: u8,
    /// The wanted names, by slot.
    names: Vec<String>,
    /// (index from 0, slot), sorted by index; found in the header.
    wanted: Vec<(usize, usize)>,
}

impl CsvColumns {
    pub(crate) fn new(delimiter: u8, names: Vec<String>) -> Self {
        Self { delimiter, names, wanted: Vec::new() }
    }

    /// Looks up the names in a header.
    pub(super) fn resolve(&mut self, header: &[u8]) -> Result<(), String> {
        let mut columns: Vec<Vec<u8>> = Vec::new();
        for_each_field(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header), self.delimiter, |field| {
            let mut name = Vec::new();
            field.append_to(&mut name);
            columns.push(name);
            true
        });
        self.wanted.clear();
        for (slot, name) in self.names.iter().enumerate() {
            let mut found = columns.iter().enumerate().filter(|(_, column)| *column == name.as_bytes());
            match (found.next(), found.next()) {
                (Some((index, _)), None) => self.wanted.push((index, slot)),
                (Some(_), Some(_)) => {
                    return Err(format!("the header has more than one column `{name}`; rename all but one"));
                }
                (None, _) => {
                    let names = columns.iter().map(|column| String::from_utf8_lossy(column));
                    let names: Vec<_> = names.take(30).collect();
                    return Err(format!("the header has no column `{name}`; it has {}", names.join(", ")));
                }
            }
        }
        self.wanted.sort_unstable();
        Ok(())
    }

    pub(super) fn find(&self, text: &[u8], values: &mut Values) {
        // An empty line has no columns.
        if text.is_empty() {
            return;
        }
        let mut wanted = self.wanted.iter().peekable();
        let mut index = 0;
        for_each_field(text, self.delimiter, |field| {
            while let Some((_, slot)) = wanted.next_if(|(number, _)| *number == index) {
                match field.plain() {
                    Some(range) => values.set(*slot, range),
                    None => values.set_resolved(*slot, |value| field.append_to(value)),
                }
            }
            index += 1;
            wanted.peek().is_some()
        });
    }
}

/// A field and its place in the record.
struct Field<'a> {
    text: &'a [u8],
    start: usize,
    /// The end of its quoted part (the closing quote, or the end of the text), if it has one.
    quoted_to: Option<usize>,
    end: usize,
    has_doubled_quotes: bool,
}

impl Field<'_> {
    /// Returns the range of the value, if the record contains it unchanged.
    fn plain(&self) -> Option<std::ops::Range<usize>> {
        match self.quoted_to {
            None => Some(self.start..self.end),
            Some(quote) if !self.has_doubled_quotes && quote + 1 >= self.end => Some(self.start + 1..quote),
            Some(_) => None,
        }
    }

    fn append_to(&self, value: &mut Vec<u8>) {
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

/// Calls `take` with each field, until it returns false.
fn for_each_field(text: &[u8], delimiter: u8, mut take: impl FnMut(&Field<'_>) -> bool) {
    let mut start = 0;
    loop {
        let mut field = Field { text, start, quoted_to: None, end: start, has_doubled_quotes: false };
        let mut bare = start;
        if text.get(start) == Some(&b'"') {
            let mut at = start + 1;
            let quote = loop {
                match memchr(b'"', &text[at..]).map(|found| at + found) {
                    Some(quote) if text.get(quote + 1) == Some(&b'"') => {
                        field.has_doubled_quotes = true;
                        at = quote + 2;
                    }
                    Some(quote) => break quote,
                    None => break text.len(),
                }
            };
            field.quoted_to = Some(quote);
            bare = (quote + 1).min(text.len());
        }
        // A record has no newline outside quotes, except the one that ends it.
        let end = memchr2(delimiter, b'\n', &text[bare..]).map(|at| bare + at);
        field.end = end.unwrap_or(text.len());
        if !take(&field) {
            return;
        }
        match end {
            Some(end) => start = end + 1,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        for_each_field(text, b',', |field| {
            let mut value = Vec::new();
            field.append_to(&mut value);
            if let Some(range) = field.plain() {
                assert_eq!(&text[range], value);
            }
            all.push(value);
            true
        });
        all
    }

    #[test]
    fn values_are_those_an_independent_reader_finds() {
        // Every short record over the bytes that matter.
        let alphabet = b"a,\"b";
        for len in 1..=8_u32 {
            for number in 0..4_usize.pow(len) {
                let text: Vec<u8> = (0..len).map(|i| alphabet[number >> (2 * i) & 3]).collect();
                let mut theirs = csv::ReaderBuilder::new();
                let mut theirs = theirs.has_headers(false).from_reader(&*text).into_byte_records();
                let theirs = theirs.next().unwrap().unwrap();
                let theirs: Vec<Vec<u8>> = theirs.iter().map(<[u8]>::to_vec).collect();
                assert_eq!(fields(&text), theirs, "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn columns_are_found_by_name() {
        let mut columns = CsvColumns::new(b',', vec!["ts".into(), "user name".into()]);
        columns.resolve(b"\xef\xbb\xbfid,\"user name\",ts").unwrap();
        let record = b"1,\"Ann \"\"A\"\"\nLee\",17";
        let mut values = Values::new(2);
        columns.find(record, &mut values);
        assert_eq!(values.get(record, 0), Some(&b"17"[..]));
        assert_eq!(values.get(record, 1), Some(&b"Ann \"A\"\nLee"[..]));
        values.clear();
        columns.find(b"1,only", &mut values);
        assert_eq!(values.get(b"1,only", 0), None);

        let missing = columns.resolve(b"a,b").unwrap_err();
        assert!(missing.contains("`ts`") && missing.contains("a, b"), "{missing}");
        assert!(columns.resolve(b"ts,ts,user name").unwrap_err().contains("more than one"));
    }
}

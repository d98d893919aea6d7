//! Finds values of a CSV record by the names of their columns.

use super::values::Values;
use super::wanted::Wanted;
use crate::csv::{self, BYTE_ORDER_MARK};
use crate::shown::shown;

/// How many columns a message shows, and how many bytes of each name.
const SHOWN_NAMES: usize = 30;
const SHOWN_NAME: usize = 60;

/// The wanted columns and their slots.
#[derive(Debug)]
pub(crate) struct Columns {
    delimiter: u8,
    /// The wanted names, by slot; none if the columns have numbers.
    names: Vec<String>,
    has_header: bool,
    /// If they have names, found in the header.
    wanted: Wanted,
}

impl Columns {
    pub(crate) fn named(delimiter: u8, names: Vec<String>) -> Self {
        Self { delimiter, names, has_header: true, wanted: Wanted::default() }
    }

    /// `numbers` count from 1.
    pub(crate) fn numbered(delimiter: u8, numbers: Vec<usize>, has_header: bool) -> Self {
        let wanted = Wanted::new(numbers.into_iter().map(|number| number - 1));
        Self { delimiter, names: Vec::new(), has_header, wanted }
    }

    pub(super) fn has_header(&self) -> bool {
        self.has_header
    }

    /// Looks up the names in a header.
    pub(super) fn resolve(&mut self, header: &[u8]) -> Result<(), String> {
        if self.names.is_empty() {
            return Ok(());
        }
        let header = header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header);
        let mut indexes: Vec<Option<usize>> = vec![None; self.names.len()];
        let (mut name, mut shown_names, mut has_more) = (Vec::new(), Vec::new(), false);
        for (index, field) in csv::fields(header, self.delimiter).enumerate() {
            name.clear();
            field.append_to(&mut name);
            if shown_names.len() < SHOWN_NAMES {
                shown_names.push(shown(&name, SHOWN_NAME));
            } else {
                has_more = true;
            }
            for (wanted, found) in self.names.iter().zip(&mut indexes) {
                if wanted.as_bytes() == name && found.replace(index).is_some() {
                    return Err(format!(
                        "the header has more than one column `{wanted}`; rename all but one, or give its number with --field"
                    ));
                }
            }
        }
        for (wanted, found) in self.names.iter().zip(&indexes) {
            if found.is_none() {
                let more = if has_more { ", ..." } else { "" };
                return Err(format!(
                    "the header has no column `{wanted}`; it has {}{more}",
                    shown_names.join(", ")
                ));
            }
        }
        self.wanted = Wanted::new(indexes.into_iter().flatten());
        Ok(())
    }

    pub(super) fn find(&self, text: &[u8], values: &mut Values) {
        // An empty line has no columns.
        if text.is_empty() {
            return;
        }
        self.wanted.take(csv::fields(text, self.delimiter), |slot, field| match field.plain() {
            Some(range) => values.set(slot, range),
            None => values.set_resolved(slot, |value| field.append_to(value)),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_name() {
        let mut columns = Columns::named(b',', vec!["ts".into(), "user name".into()]);
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

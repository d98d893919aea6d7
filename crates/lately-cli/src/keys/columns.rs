//! Finds values of a CSV record by the names of their columns.

use super::values::Values;
use super::wanted::Wanted;
use crate::csv::{self, BYTE_ORDER_MARK};
use crate::shown::shown;

/// How many bytes of a column's name a message shows.
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
        let name_of = |field: csv::Field<'_>| {
            let mut name = Vec::new();
            field.append_to(&mut name);
            name
        };
        let columns: Vec<Vec<u8>> = csv::fields(header, self.delimiter).map(name_of).collect();
        let indexes: Result<Vec<_>, _> = self.names.iter().map(|name| index_of(name, &columns)).collect();
        self.wanted = Wanted::new(indexes?);
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

fn index_of(name: &str, columns: &[Vec<u8>]) -> Result<usize, String> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| *column == name.as_bytes());
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (Some(_), Some(_)) => {
            Err(format!("the header has more than one column `{name}`; rename all but one"))
        }
        (None, _) => {
            let names: Vec<_> = columns.iter().take(30).map(|column| shown(column, SHOWN_NAME)).collect();
            let more = if columns.len() > names.len() { ", ..." } else { "" };
            Err(format!("the header has no column `{name}`; it has {}{more}", names.join(", ")))
        }
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

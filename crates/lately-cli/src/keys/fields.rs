//! Finds fields of a line by number.

use std::ops::Range;

use memchr::memmem::Finder;

use super::values::Values;
use super::wanted::Wanted;
use crate::scan::{places_of, places_of_two};

/// The separator of fields.
#[derive(Clone, Debug)]
pub(crate) enum Delimiter {
    /// Any number of spaces and tabs; those at the start and the end of the line are ignored.
    Blanks,
    /// Exactly this byte.
    Byte(u8),
    /// Exactly these bytes.
    Bytes(Box<Finder<'static>>),
}

impl Delimiter {
    /// Exactly this text, which is not empty.
    pub(crate) fn text(text: &[u8]) -> Self {
        match text {
            [byte] => Self::Byte(*byte),
            _ => Self::Bytes(Box::new(Finder::new(text).into_owned())),
        }
    }
}

/// The wanted fields and their slots.
#[derive(Debug)]
pub(crate) struct Fields {
    delimiter: Delimiter,
    wanted: Wanted,
}

impl Fields {
    /// `numbers` count from 1; the n-th of them goes into slot n.
    pub(crate) fn new(delimiter: Delimiter, numbers: impl IntoIterator<Item = usize>) -> Self {
        Self { delimiter, wanted: Wanted::new(numbers.into_iter().map(|number| number - 1)) }
    }

    pub(super) fn find(&self, text: &[u8], values: &mut Values) {
        let set = |slot, range: &Range<usize>| values.set(slot, range.clone());
        match &self.delimiter {
            Delimiter::Byte(byte) => self.wanted.take(between(text, places_of(text, *byte), 1), set),
            Delimiter::Bytes(finder) => {
                let len = finder.needle().len();
                self.wanted.take(between(text, finder.find_iter(text), len), set);
            }
            Delimiter::Blanks => self.wanted.take(words(text), set),
        }
    }
}

/// Returns what is between the separators, which are at these places and this long.
#[inline]
fn between(
    text: &[u8],
    mut separators: impl Iterator<Item = usize>,
    len: usize,
) -> impl Iterator<Item = Range<usize>> {
    let end = text.len();
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let separator = separators.next();
        next = separator.map(|at| at + len);
        Some(start..separator.unwrap_or(end))
    })
}

#[inline]
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    between(text, places_of_two(text, b' ', b'\t'), 1).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(delimiter: Delimiter, numbers: &[usize], text: &str) -> Vec<Option<String>> {
        let fields = Fields::new(delimiter, numbers.iter().copied());
        Values::texts(numbers.len(), text, |record, values| fields.find(record, values))
    }

    #[test]
    fn fields_are_numbered_from_one_in_any_order() {
        let some = |text: &str| Some(text.to_string());
        let comma = || Delimiter::text(b",");
        assert_eq!(values(comma(), &[3, 1, 3], "a,b,c"), [some("c"), some("a"), some("c")]);
        assert_eq!(values(comma(), &[2, 4], "a,,c"), [some(""), None]);
        assert_eq!(values(comma(), &[1], ""), [some("")]);
        assert_eq!(values(comma(), &[2], "a,"), [some("")]);
        assert_eq!(values(Delimiter::text(b"||"), &[2, 1], "a||b|c||d"), [some("b|c"), some("a")]);
        assert_eq!(values(Delimiter::Blanks, &[2, 3], "  a \t b "), [some("b"), None]);
        assert_eq!(values(Delimiter::Blanks, &[1], "  "), [None]);
    }
}

//! Finds fields of a line by number.

use std::ops::Range;

use memchr::memchr;

use super::values::Values;
use super::wanted::Wanted;

/// The separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// Any number of spaces and tabs; those at the start and the end of the line are ignored.
    Blanks,
    /// Exactly this byte.
    Byte(u8),
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
        match self.delimiter {
            Delimiter::Byte(byte) => self.wanted.take(separated(text, byte), set),
            Delimiter::Blanks => self.wanted.take(words(text), set),
        }
    }
}

fn separated(text: &[u8], delimiter: u8) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let end = memchr(delimiter, &text[start..]).map(|at| start + at);
        next = end.map(|end| end + 1);
        Some(start..end.unwrap_or(text.len()))
    })
}

fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].iter().position(|byte| !is_blank(byte))?;
        let end = text[start..].iter().position(is_blank).map_or(text.len(), |len| start + len);
        at = end;
        Some(start..end)
    })
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
        let comma = Delimiter::Byte(b',');
        assert_eq!(values(comma, &[3, 1, 3], "a,b,c"), [some("c"), some("a"), some("c")]);
        assert_eq!(values(comma, &[2, 4], "a,,c"), [some(""), None]);
        assert_eq!(values(comma, &[1], ""), [some("")]);
        assert_eq!(values(comma, &[2], "a,"), [some("")]);
        assert_eq!(values(Delimiter::Blanks, &[2, 3], "  a \t b "), [some("b"), None]);
        assert_eq!(values(Delimiter::Blanks, &[1], "  "), [None]);
    }
}

//! Finds fields of a line by number.

use std::ops::Range;

use memchr::memchr;

use super::values::Values;

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
    /// (index from 0, slot), sorted by index.
    wanted: Vec<(usize, usize)>,
}

impl Fields {
    /// `numbers` count from 1; the n-th of them goes into slot n.
    pub(crate) fn new(delimiter: Delimiter, numbers: impl IntoIterator<Item = usize>) -> Self {
        let mut wanted: Vec<_> =
            numbers.into_iter().enumerate().map(|(slot, number)| (number - 1, slot)).collect();
        wanted.sort_unstable();
        Self { delimiter, wanted }
    }

    pub(super) fn find(&self, text: &[u8], values: &mut Values) {
        match self.delimiter {
            Delimiter::Byte(byte) => self.take(separated(text, byte), values),
            Delimiter::Blanks => self.take(words(text), values),
        }
    }

    fn take(&self, fields: impl Iterator<Item = Range<usize>>, values: &mut Values) {
        let mut wanted = self.wanted.iter().peekable();
        for (index, range) in fields.enumerate() {
            while let Some((_, slot)) = wanted.next_if(|(number, _)| *number == index) {
                values.set(*slot, range.clone());
            }
            if wanted.peek().is_none() {
                return;
            }
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
        let mut values = Values::new(numbers.len());
        Fields::new(delimiter, numbers.iter().copied()).find(text.as_bytes(), &mut values);
        let value =
            |slot| values.get(text.as_bytes(), slot).map(|value| String::from_utf8_lossy(value).into());
        (0..numbers.len()).map(value).collect()
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

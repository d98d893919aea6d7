//! Searches a JSON text for values by path, in one pass. The text is checked as a whole: if it is not JSON, nothing
//! is found.

use std::borrow::Cow;
use std::ops::Range;

use super::super::values::Values;
use super::Node;
use super::structure::Structure;

/// A text nested deeper than this counts as one that is not JSON, so that it does not need a deep stack.
const MOST_LEVELS: u32 = 512;

/// The text is not JSON.
pub(super) struct NotJson;

pub(super) struct Search<'a, 'v> {
    text: &'a [u8],
    /// Where the text begins in the record.
    offset: usize,
    structure: Structure<'a>,
    values: &'v mut Values,
}

impl<'a, 'v> Search<'a, 'v> {
    pub(super) fn new(text: &'a [u8], offset: usize, values: &'v mut Values) -> Self {
        Self { text, offset, structure: Structure::new(text), values }
    }

    pub(super) fn run(mut self, root: &Node) -> Result<(), NotJson> {
        let end = self.value(0, Some(root), 0)?;
        let is_whole = end == self.text.len() && self.structure.next().is_none();
        if is_whole && self.structure.strings_are_valid() { Ok(()) } else { Err(NotJson) }
    }

    /// Reads the value after `from`. Returns the place of the structural byte after it, or the end.
    // Most values are strings and numbers: only the others cost a call.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn value(&mut self, from: usize, node: Option<&Node>, level: u32) -> Result<usize, NotJson> {
        let start = self.next();
        let (end, after) = match self.text.get(start) {
            Some(b'"') => {
                self.expect_blank(from..start)?;
                self.string_end(start)?
            }
            Some(b'{' | b'[') => {
                self.expect_blank(from..start)?;
                let end = self.container(start, node, level + 1)?;
                (end, self.after(end)?)
            }
            Some(b':') => return Err(NotJson),
            // A scalar, up to the comma or bracket that ends it.
            _ => {
                let scalar = without_blanks(self.text, from..start);
                if !is_scalar(&self.text[scalar.clone()]) {
                    return Err(NotJson);
                }
                if let Some(node) = node.filter(|node| !node.slots.is_empty()) {
                    self.take(node, scalar)?;
                }
                return Ok(start);
            }
        };
        if let Some(node) = node.filter(|node| !node.slots.is_empty()) {
            self.take(node, start..end)?;
        }
        Ok(after)
    }

    /// Reads an object or an array. Returns the place after it.
    #[inline(never)]
    fn container(&mut self, start: usize, node: Option<&Node>, level: u32) -> Result<usize, NotJson> {
        if level > MOST_LEVELS {
            return Err(NotJson);
        }
        if self.text[start] == b'{' {
            self.object(start + 1, node, level)
        } else {
            self.array(start + 1, node, level)
        }
    }

    /// Returns the end of a string, and the place of the structural byte after it.
    #[inline]
    fn string_end(&mut self, start: usize) -> Result<(usize, usize), NotJson> {
        let after = self.next();
        let mut end = after;
        while end > start + 1 && is_blank(self.text[end - 1]) {
            end -= 1;
        }
        // Outside strings, the quote before a structural byte closes one. It is not the one that opens this.
        if end > start + 1 && self.text[end - 1] == b'"' { Ok((end, after)) } else { Err(NotJson) }
    }

    /// Reads the members after an opening brace. Returns the place after the closing one.
    fn object(&mut self, from: usize, node: Option<&Node>, level: u32) -> Result<usize, NotJson> {
        let mut from = from;
        let mut is_first = true;
        loop {
            let open = self.next();
            self.expect_blank(from..open)?;
            match self.text.get(open) {
                Some(b'"') => {}
                Some(b'}') if is_first => return Ok(open + 1),
                _ => return Err(NotJson),
            }
            is_first = false;
            let (close, colon) = self.string_end(open)?;
            if self.text.get(colon) != Some(&b':') {
                return Err(NotJson);
            }
            let member = match node {
                Some(node) if !node.members.is_empty() => {
                    node.find(&self.text[open..close], self.structure.has_backslashes())
                }
                _ => None,
            };
            if let Some(member) = member {
                member.unset(self.values);
            }
            let end = self.value(colon + 1, member, level)?;
            match self.text.get(end) {
                Some(b',') => from = end + 1,
                Some(b'}') => return Ok(end + 1),
                _ => return Err(NotJson),
            }
        }
    }

    /// Reads the elements after an opening bracket. Returns the place after the closing one.
    fn array(&mut self, from: usize, node: Option<&Node>, level: u32) -> Result<usize, NotJson> {
        if self.is_empty_array(from) {
            return Ok(self.next() + 1);
        }
        let mut from = from;
        for index in 0.. {
            let element = node.and_then(|node| node.element(index));
            let end = self.value(from, element, level)?;
            match self.text.get(end) {
                Some(b',') => from = end + 1,
                Some(b']') => return Ok(end + 1),
                _ => break,
            }
        }
        Err(NotJson)
    }

    fn is_empty_array(&self, from: usize) -> bool {
        self.text[from..].iter().find(|byte| !is_blank(**byte)) == Some(&b']')
    }

    /// Returns the place of the next structural byte, or the end.
    #[inline]
    fn next(&mut self) -> usize {
        self.structure.next().unwrap_or(self.text.len())
    }

    /// Returns the structural byte after a value that ends at `from`.
    #[inline]
    fn after(&mut self, from: usize) -> Result<usize, NotJson> {
        let next = self.next();
        self.expect_blank(from..next)?;
        Ok(next)
    }

    #[inline]
    fn expect_blank(&self, gap: Range<usize>) -> Result<(), NotJson> {
        if gap.is_empty() || self.text[gap].iter().all(|byte| is_blank(*byte)) {
            Ok(())
        } else {
            Err(NotJson)
        }
    }

    /// Stores a value that is wanted: a string without its quotes and escapes, anything else as written. `null` is
    /// not a value.
    fn take(&mut self, node: &Node, place: Range<usize>) -> Result<(), NotJson> {
        let bytes = &self.text[place.clone()];
        if self.structure.is_not_ascii() {
            str::from_utf8(bytes).map_err(|_| NotJson)?;
        }
        let may_have_escapes = self.structure.has_backslashes();
        let moved = |range: Range<usize>| range.start + self.offset..range.end + self.offset;
        for &slot in &node.slots {
            match bytes {
                b"null" => {}
                [b'"', inside @ .., b'"'] if may_have_escapes && inside.contains(&b'\\') => {
                    let text: Cow<'_, str> = serde_json::from_slice(bytes).map_err(|_| NotJson)?;
                    self.values.set_resolved(slot, |value| value.extend_from_slice(text.as_bytes()));
                }
                [b'"', .., b'"'] => self.values.set(slot, moved(place.start + 1..place.end - 1)),
                _ => self.values.set(slot, moved(place.clone())),
            }
        }
        Ok(())
    }
}

#[inline]
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn without_blanks(text: &[u8], mut range: Range<usize>) -> Range<usize> {
    while range.start < range.end && is_blank(text[range.start]) {
        range.start += 1;
    }
    while range.start < range.end && is_blank(text[range.end - 1]) {
        range.end -= 1;
    }
    range
}

/// Returns true for numbers and for the three words.
#[inline]
fn is_scalar(text: &[u8]) -> bool {
    match text.first() {
        Some(b'0'..=b'9') => is_number(text),
        Some(b'-') => is_number(&text[1..]),
        _ => matches!(text, b"true" | b"false" | b"null"),
    }
}

/// Returns true for a number without its sign.
#[inline]
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text[0] == b'0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let [b'.', decimals @ ..] = rest {
        let count = digits(decimals);
        if count == 0 {
            return false;
        }
        rest = &decimals[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

//! The structure of a JSON text: where its strings begin, and where its brackets, braces, colons and commas are, 64 bytes
//! at a time.
//!
//! What is between two of them is looked at only if it is wanted, or is not a string. Everything in strings that JSON
//! forbids is found on the way: control characters, and unknown escapes.

use wide::{CmpEq as _, i8x16};

use crate::scan::{Chunk, Mask, equal, mask_of};

pub(super) struct Structure<'a> {
    text: &'a [u8],
    /// The current chunk begins here, and these of its places are left.
    base: usize,
    left: Mask,
    /// The chunk after it begins here.
    next: usize,
    /// All ones if the current chunk ends inside a string.
    is_in_string: Mask,
    /// 1 if the first byte of the next chunk is escaped.
    is_escaped: Mask,
    /// True if a string has what JSON forbids.
    is_invalid: bool,
    /// True if there was a backslash, or a byte that is not ASCII.
    has_backslashes: bool,
    is_not_ascii: bool,
}

impl<'a> Structure<'a> {
    #[inline]
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            base: 0,
            left: 0,
            next: 0,
            is_in_string: 0,
            is_escaped: 0,
            is_invalid: false,
            has_backslashes: false,
            is_not_ascii: false,
        }
    }

    /// Returns the place of the next quote that opens a string, or of the next bracket, brace, colon or comma outside
    /// strings.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            if self.next >= self.text.len() {
                return None;
            }
            self.load();
        }
        let place = self.base + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(place)
    }

    /// Returns false if the text so far has no backslash.
    #[inline]
    pub(super) fn has_backslashes(&self) -> bool {
        self.has_backslashes
    }

    /// Returns false if the text so far is ASCII.
    #[inline]
    pub(super) fn is_not_ascii(&self) -> bool {
        self.is_not_ascii
    }

    /// Returns true if no string has what JSON forbids. Call it at the end.
    pub(super) fn strings_are_valid(&self) -> bool {
        !self.is_invalid && self.is_in_string == 0
    }

    fn load(&mut self) {
        let rest = &self.text[self.next..];
        match rest.first_chunk::<64>() {
            Some(chunk) => self.find(chunk),
            None => {
                // Blanks change nothing, not even in a string that is not closed.
                let mut padded = [b' '; 64];
                padded[..rest.len()].copy_from_slice(rest);
                self.find(&padded);
            }
        }
        self.base = self.next;
        self.next += 64;
    }

    #[inline]
    fn find(&mut self, chunk: &Chunk) {
        let mut quotes = mask_of(chunk, |bytes| equal(bytes, b'"'));
        let backslashes = mask_of(chunk, |bytes| equal(bytes, b'\\'));
        // The bits of an opening and a closing bracket and brace differ in one bit.
        let others = mask_of(chunk, |bytes| {
            let folded = bytes | i8x16::splat(0x20);
            equal(folded, b'{') | equal(folded, b'}') | equal(bytes, b':') | equal(bytes, b',')
        });
        let controls =
            mask_of(chunk, |bytes| (bytes & i8x16::splat(0xe0_u8.cast_signed())).cmp_eq(i8x16::splat(0)));
        self.is_not_ascii |= mask_of(chunk, |bytes| bytes) != 0;
        if backslashes | self.is_escaped != 0 {
            self.has_backslashes = true;
            quotes &= !self.escaped(backslashes);
        }
        // From each opening quote to the byte before the closing one.
        let inside = running_parity(quotes) ^ self.is_in_string;
        self.is_in_string = (inside.cast_signed() >> 63).cast_unsigned();
        self.is_invalid |= controls & inside != 0;
        self.left = (quotes & inside) | (others & !inside);
    }

    /// Returns the bytes that a backslash escapes.
    #[cold]
    fn escaped(&mut self, backslashes: Mask) -> Mask {
        let mut escaped = self.is_escaped;
        self.is_escaped = 0;
        let mut escaping = backslashes & !escaped;
        while escaping != 0 {
            let at = escaping.trailing_zeros();
            if at == 63 {
                self.is_escaped = 1;
            } else {
                escaped |= 2 << at;
            }
            // A backslash that is escaped escapes nothing.
            escaping &= !(3 << at);
        }
        let mut left = escaped;
        while left != 0 {
            let at = self.next + left.trailing_zeros() as usize;
            self.is_invalid |= !is_escape(self.text.get(at..).unwrap_or_default());
            left &= left - 1;
        }
        escaped
    }
}

/// Returns true if this may follow a backslash.
fn is_escape(text: &[u8]) -> bool {
    match text {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => true,
        [b'u', one, two, three, four, ..] => {
            [one, two, three, four].iter().all(|hex| hex.is_ascii_hexdigit())
        }
        _ => false,
    }
}

/// Sets each bit at and above which the number of ones is odd.
#[inline]
fn running_parity(mut mask: Mask) -> Mask {
    for shift in [1, 2, 4, 8, 16, 32] {
        mask ^= mask << shift;
    }
    mask
}

//! Several values as one item.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::Item;
use super::decimal::Decimal;

/// Keys up to this length need no memory on the heap.
const SHORT: usize = 192;

/// Several values as one item: each value as a [netstring](https://cr.yp.to/proto/netstrings.txt), one after
/// the other. A netstring is the length of the value in decimal digits, a colon, the value, and a comma.
///
/// So `("user-5", 17)` is the item `6:user-5,2:17,`. No two different lists of values give the same key. A
/// tuple is turned into this key; use the type itself if the number of values is known only at run time, or
/// to reuse its memory.
///
/// A key of one value is another item than the value itself. For one value, insert the value, as the command
/// does.
///
/// ```
/// use lately::CompositeKey;
///
/// let key: CompositeKey = ["user-5", "17"].into_iter().collect();
/// assert_eq!(key.as_bytes(), b"6:user-5,2:17,");
///
/// let mut seen = lately::Filter::new(1000, 1e-9)?;
/// seen.insert(("user-5", 17));
/// assert!(seen.contains(&key));
/// # Ok::<(), lately::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct CompositeKey {
    short: [u8; SHORT],
    /// The number of bytes in `short`; the key is there unless `long` has it.
    len: usize,
    /// The whole key, once it is too long for `short`.
    long: Vec<u8>,
}

impl Default for CompositeKey {
    fn default() -> Self {
        Self::new()
    }
}

impl CompositeKey {
    /// Returns a key without values. Its bytes are the empty item.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self { short: [0; SHORT], len: 0, long: Vec::new() }
    }

    /// Adds a value at the end.
    #[inline]
    pub fn push<T: Item + ?Sized>(&mut self, value: &T) {
        value.with_bytes(|value| {
            self.append(Decimal::new(false, value.len() as u128).text());
            self.append(b":");
            self.append(value);
            self.append(b",");
        });
    }

    /// Removes all values, and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.long.clear();
    }

    /// Returns the bytes of the key, which are the item.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        if self.long.is_empty() { &self.short[..self.len] } else { &self.long }
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            if let Some(room) = self.short[self.len..].get_mut(..bytes.len()) {
                room.copy_from_slice(bytes);
                self.len += bytes.len();
                return;
            }
            self.long.extend_from_slice(&self.short[..self.len]);
        }
        self.long.extend_from_slice(bytes);
    }
}

impl fmt::Debug for CompositeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompositeKey(\"{}\")", self.as_bytes().escape_ascii())
    }
}

impl PartialEq for CompositeKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for CompositeKey {}

impl Hash for CompositeKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl<T: Item> Extend<T> for CompositeKey {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(&value));
    }
}

impl<T: Item> FromIterator<T> for CompositeKey {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut key = Self::new();
        key.extend(values);
        key
    }
}

impl Item for CompositeKey {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    #[test]
    fn a_key_is_its_netstrings_at_every_length() {
        for len in 0..400 {
            let value: String = "x".repeat(len);
            let mut key = CompositeKey::new();
            for _ in 0..2 {
                key.clear();
                key.push(&value);
                key.push(&-7);
                key.push("");
                let expected = format!("{len}:{value},2:-7,0:,");
                assert_eq!(key.as_bytes(), expected.as_bytes());
            }
        }
    }
}

//! Finds bytes in a text, 64 at a time. Fields and records are short: a separate search for each takes several times
//! as long.

use wide::{CmpEq as _, i8x16};

pub(crate) type Chunk = [u8; 64];

/// A mask with one bit per byte of a chunk.
pub(crate) type Mask = u64;

/// Computes a mask from sixteen bytes at a time.
#[inline]
pub(crate) fn mask_of(chunk: &Chunk, is_wanted: impl Fn(i8x16) -> i8x16) -> Mask {
    chunk.as_chunks::<16>().0.iter().rev().fold(0, |mask, sixteen| {
        let bytes = i8x16::new(sixteen.map(u8::cast_signed));
        mask << 16 | u64::from(is_wanted(bytes).move_mask() as u16)
    })
}

/// All bits of each byte that equals this one.
#[inline]
pub(crate) fn equal(bytes: i8x16, byte: u8) -> i8x16 {
    bytes.cmp_eq(i8x16::splat(byte.cast_signed()))
}

/// The places that `mask` tells, in order.
pub(crate) struct Places<'a, M> {
    text: &'a [u8],
    mask: M,
    /// The current chunk begins here, and these of its places are left.
    base: usize,
    left: Mask,
    /// The chunk after it begins here.
    next: usize,
}

impl<'a, M: Fn(&Chunk) -> Mask> Places<'a, M> {
    /// Searches from `from` on.
    #[inline]
    pub(crate) fn new(text: &'a [u8], from: usize, mask: M) -> Self {
        Self { text, mask, base: from, left: 0, next: from }
    }
}

impl<M: Fn(&Chunk) -> Mask> Iterator for Places<'_, M> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.left = with_chunk(self.text, self.next, &self.mask)?;
            self.base = self.next;
            self.next += 64;
        }
        let place = self.base + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(place)
    }
}

/// Computes the mask of the chunk that begins at `at`; `None` if no byte is left.
#[inline]
fn with_chunk(text: &[u8], at: usize, mask: &impl Fn(&Chunk) -> Mask) -> Option<Mask> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    Some(match rest.first_chunk::<64>() {
        Some(chunk) => mask(chunk),
        None => {
            let mut padded = [0; 64];
            padded[..rest.len()].copy_from_slice(rest);
            mask(&padded) & ((1 << rest.len()) - 1)
        }
    })
}

/// The places of one byte.
#[inline]
pub(crate) fn places_of(text: &[u8], byte: u8) -> impl Iterator<Item = usize> + '_ {
    Places::new(text, 0, move |chunk: &Chunk| mask_of(chunk, |bytes| equal(bytes, byte)))
}

/// The places of two bytes.
#[inline]
pub(crate) fn places_of_two(text: &[u8], one: u8, other: u8) -> impl Iterator<Item = usize> + '_ {
    Places::new(text, 0, move |chunk: &Chunk| mask_of(chunk, |bytes| equal(bytes, one) | equal(bytes, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_found_one_by_one() {
        let text: Vec<u8> = (0..1_000_u32).map(|i| (i * i / 7 % 251) as u8).collect();
        for (from, end) in (0..150).flat_map(|i| [(i, 1_000), (i, 1_000 - i), (i, i), (0, i)]) {
            let text = &text[from..end];
            for byte in [0, 7, 128, 250] {
                let expected: Vec<usize> = (0..text.len()).filter(|&at| text[at] == byte).collect();
                assert_eq!(places_of(text, byte).collect::<Vec<_>>(), expected);
                let expected: Vec<usize> =
                    (0..text.len()).filter(|&at| text[at] == byte || text[at] == 9).collect();
                assert_eq!(places_of_two(text, byte, 9).collect::<Vec<_>>(), expected);
            }
        }
    }
}

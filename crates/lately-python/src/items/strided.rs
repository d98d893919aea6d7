//! Elements of one width at equal distances in memory: integers and bytes.

use std::any::Any;

use lately::HashFunction;

use super::Column;

/// Where the elements are. Distances may be negative, as those of a numpy array that was turned around.
pub(super) struct Strided {
    first: *const u8,
    stride: isize,
    width: usize,
    len: usize,
    /// Keeps the memory alive and in place.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the pointer is into memory that the owner keeps alive and in place; it is only read.
unsafe impl Send for Strided {}
// SAFETY: as above.
unsafe impl Sync for Strided {}

impl Strided {
    /// # Safety
    /// As long as `owner` lives, `width` bytes can be read at each of `len` elements, and nobody writes to them during a call.
    pub(super) unsafe fn new(
        first: *const u8,
        stride: isize,
        width: usize,
        len: usize,
        owner: impl Any + Send + Sync,
    ) -> Self {
        Self { first, stride, width, len, _owner: Box::new(owner) }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Where element i begins; only for `i < len`.
    #[inline]
    fn at(&self, i: usize) -> *const u8 {
        debug_assert!(i < self.len);
        // Wrapping, so that this is no claim about the memory: who reads there makes it.
        self.first.wrapping_offset(self.stride.wrapping_mul(i.cast_signed()))
    }

    #[inline]
    pub(super) fn bytes(&self, i: usize) -> &[u8] {
        assert!(i < self.len);
        // SAFETY: `new` was promised that element i can be read and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at(i), self.width) }
    }

    /// The elements as integers, if there are integers of this width.
    pub(super) fn into_integers(self, is_signed: bool, is_swapped: bool) -> Option<Box<dyn Column>> {
        Some(match (is_signed, self.width) {
            (false, 1) => self.into_numbers::<u8>(is_swapped),
            (false, 2) => self.into_numbers::<u16>(is_swapped),
            (false, 4) => self.into_numbers::<u32>(is_swapped),
            (false, 8) => self.into_numbers::<u64>(is_swapped),
            (true, 1) => self.into_numbers::<i8>(is_swapped),
            (true, 2) => self.into_numbers::<i16>(is_swapped),
            (true, 4) => self.into_numbers::<i32>(is_swapped),
            (true, 8) => self.into_numbers::<i64>(is_swapped),
            _ => return None,
        })
    }

    fn into_numbers<T: Number>(self, is_swapped: bool) -> Box<dyn Column> {
        debug_assert_eq!(self.width, size_of::<T>());
        let read = if is_swapped { |number: T| number.swapped() } else { |number: T| number };
        Box::new(Integers { elements: self, in_order: read })
    }

    /// The elements as bytes. Padding is zero bytes at the end, which are no part of the item.
    pub(super) fn into_bytes(self, is_padded: bool) -> Box<dyn Column> {
        Box::new(FixedBytes { elements: self, is_padded })
    }
}

trait Number: itoa::Integer + Copy + Send + Sync + 'static {
    fn swapped(self) -> Self;
}

macro_rules! number {
    ($($type:ty),+) => {$(
        impl Number for $type {
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        }
    )+};
}
number!(u8, u16, u32, u64, i8, i16, i32, i64);

/// Integers are hashed as their decimal text; see `crate::item`.
struct Integers<T> {
    elements: Strided,
    /// Turns the bytes around where they lie in the other order.
    in_order: fn(T) -> T,
}

impl<T: Number> Column for Integers<T> {
    fn len(&self) -> usize {
        self.elements.len
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        assert!(first + hashes.len() <= self.elements.len);
        for (i, hash) in hashes.iter_mut().enumerate() {
            // SAFETY: the element exists, has the width of T, and may lie at any address.
            let number = unsafe { self.elements.at(first + i).cast::<T>().read_unaligned() };
            *hash = function.hash(itoa::Buffer::new().format((self.in_order)(number)).as_bytes());
        }
    }
}

struct FixedBytes {
    elements: Strided,
    is_padded: bool,
}

impl Column for FixedBytes {
    fn len(&self) -> usize {
        self.elements.len
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        for (i, hash) in hashes.iter_mut().enumerate() {
            let mut bytes = self.elements.bytes(first + i);
            if self.is_padded {
                let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                bytes = &bytes[..len];
            }
            *hash = function.hash(bytes);
        }
    }
}

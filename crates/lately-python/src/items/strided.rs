//! Elements of a fixed width at equal distances in memory: integers and bytes.

use std::any::Any;
use std::marker::PhantomData;

use lately::{HashFunction, Item};

use super::column::{Column, Elements};

/// The location of the elements. The stride may be negative, as in a reversed numpy array.
pub(super) struct Strided {
    first: *const u8,
    stride: isize,
    width: usize,
    len: usize,
    /// Keeps the memory alive and in place.
    _owner: Box<dyn Any + Send + Sync>,
}

// SAFETY: the pointer points into memory that the owner keeps alive and in place; it is only read.
unsafe impl Send for Strided {}
// SAFETY: as above.
unsafe impl Sync for Strided {}

impl Strided {
    /// # Safety
    /// As long as `owner` lives, `width` bytes can be read at each of the `len` elements, and they do not
    /// change during a call.
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

    /// Returns the address of element i; only for `i < len`.
    #[inline]
    fn at(&self, i: usize) -> *const u8 {
        debug_assert!(i < self.len);
        // Wrapping arithmetic makes no claim about the memory; the code that reads there must.
        self.first.wrapping_offset(self.stride.wrapping_mul(i.cast_signed()))
    }

    #[inline]
    pub(super) fn bytes(&self, i: usize) -> &[u8] {
        assert!(i < self.len);
        // SAFETY: the caller of `new` has promised that element i can be read and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at(i), self.width) }
    }

    /// Returns the elements as integers; `None` if no integer type has this width.
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
        Box::new(Integers::<T> { elements: self, is_swapped, number: PhantomData })
    }

    /// Returns the elements as bytes. If `is_padded`, zero bytes at the end are not part of the item.
    pub(super) fn into_bytes(self, is_padded: bool) -> Box<dyn Column> {
        Box::new(FixedBytes { elements: self, is_padded })
    }
}

trait Number: Item + Copy + Send + Sync + 'static {
    fn swapped(self) -> Self;
}

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Number for $type {
            #[inline]
            fn swapped(self) -> Self {
                self.swap_bytes()
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

struct Integers<T> {
    elements: Strided,
    /// True if the byte order differs from the machine's.
    is_swapped: bool,
    number: PhantomData<T>,
}

impl<T: Number> Elements for Integers<T> {
    type Element<'a> = T;

    fn len(&self) -> usize {
        self.elements.len
    }

    #[inline]
    unsafe fn element(&self, i: usize) -> T {
        // SAFETY: the element exists and has the width of T; an unaligned read is valid at any address.
        let number = unsafe { self.elements.at(i).cast::<T>().read_unaligned() };
        if self.is_swapped { number.swapped() } else { number }
    }

    unsafe fn hash_elements(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        // SAFETY: the caller guarantees that there is an element for every hash.
        let number = |i: usize| unsafe { self.element(first + i) };
        let (groups, rest) = hashes.as_chunks_mut();
        for (group, hashes) in groups.iter_mut().enumerate() {
            *hashes = hash_group(function, std::array::from_fn(|i| number(GROUP * group + i)));
        }
        let grouped = GROUP * groups.len();
        for (i, hash) in rest.iter_mut().enumerate() {
            *hash = function.hash_of(number(grouped + i));
        }
    }
}

const GROUP: usize = 4;

/// Writes all texts of a group before it hashes the first. The digits of a number are written in pieces, and
/// the processor stalls if a text is read before its pieces have arrived in the cache. If each number were
/// hashed directly after it is written, a whole call would take 12% to 47% longer.
#[inline]
fn hash_group<T: Number>(function: HashFunction, [a, b, c, d]: [T; GROUP]) -> [u64; GROUP] {
    a.with_bytes(|a| {
        b.with_bytes(|b| c.with_bytes(|c| d.with_bytes(|d| [a, b, c, d].map(|text| function.hash(text)))))
    })
}

struct FixedBytes {
    elements: Strided,
    is_padded: bool,
}

impl Elements for FixedBytes {
    type Element<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.elements.len
    }

    #[inline]
    unsafe fn element(&self, i: usize) -> &[u8] {
        let bytes = self.elements.bytes(i);
        if !self.is_padded {
            return bytes;
        }
        let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        &bytes[..len]
    }
}

//! Elements of a fixed width at equal distances in memory: integers and bytes.

use std::any::Any;
use std::marker::PhantomData;

use lately::HashFunction;

use super::column::Column;
use super::decimal::Decimal;

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

trait Number: Copy + Send + Sync + 'static {
    fn swapped(self) -> Self;
    fn decimal(self) -> Decimal;
}

macro_rules! number {
    ($($type:ty: $is_negative:expr, $magnitude:expr;)+) => {$(
        impl Number for $type {
            #[inline]
            fn swapped(self) -> Self {
                self.swap_bytes()
            }

            #[inline]
            fn decimal(self) -> Decimal {
                Decimal::new($is_negative(self), $magnitude(self).into())
            }
        }
    )+};
}
number! {
    u8: |_| false, |number| number;
    u16: |_| false, |number| number;
    u32: |_| false, |number| number;
    u64: |_| false, |number| number;
    i8: i8::is_negative, i8::unsigned_abs;
    i16: i16::is_negative, i16::unsigned_abs;
    i32: i32::is_negative, i32::unsigned_abs;
    i64: i64::is_negative, i64::unsigned_abs;
}

/// Number of texts that are written before they are hashed. Reading a text directly after writing it in
/// pieces would stall: the processor would wait until the pieces have arrived in its cache.
const TEXTS: usize = 64;

/// Integers, hashed as their decimal text; see `item.rs`.
struct Integers<T> {
    elements: Strided,
    /// True if the byte order differs from the machine's.
    is_swapped: bool,
    number: PhantomData<T>,
}

impl<T: Number> Column for Integers<T> {
    fn len(&self) -> usize {
        self.elements.len
    }

    fn hash(&self, function: HashFunction, first: usize, hashes: &mut [u64]) {
        assert!(first + hashes.len() <= self.elements.len);
        let mut texts = [Decimal::EMPTY; TEXTS];
        for (block, hashes) in hashes.chunks_mut(TEXTS).enumerate() {
            for (i, text) in texts[..hashes.len()].iter_mut().enumerate() {
                let element = self.elements.at(first + block * TEXTS + i).cast::<T>();
                // SAFETY: the element exists and has the width of T; an unaligned read is valid at any
                // address.
                let number = unsafe { element.read_unaligned() };
                *text = if self.is_swapped { number.swapped() } else { number }.decimal();
            }
            for (text, hash) in texts.iter().zip(hashes) {
                *hash = function.hash(text.text());
            }
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

//! Items: what a filter remembers. Bytes, text, integers, and several of them as one.
//!
//! docs/format.md, "Items and keys", fixes the bytes of every item, so that all front-ends agree on them.

mod decimal;
mod key;

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use decimal::Decimal;
pub use key::CompositeKey;

/// Something that can be inserted into a filter: bytes.
///
/// | item | its bytes |
/// |---|---|
/// | bytes, text | the bytes themselves |
/// | an integer of any type | its decimal text: `17_u64`, `17_i8` and `"17"` are the same item |
/// | a tuple | the key of its values: see [`CompositeKey`] |
///
/// The command and the Python package turn the same values into the same bytes, so a state that one of them
/// wrote is understood by the others.
///
/// ```
/// let mut seen = lately::Filter::new(1000, 1e-9)?;
/// seen.insert(17);
/// assert!(seen.contains("17") && seen.contains(17_i8));
/// seen.insert(("user-5", 17));
/// assert!(seen.contains(("user-5", "17")));
/// assert!(!seen.contains(("user-51", 7)));
/// # Ok::<(), lately::ConfigError>(())
/// ```
///
/// Implement it for your own types by passing the bytes that identify a value:
///
/// ```
/// struct Order { id: [u8; 16], total: u64 }
///
/// impl lately::Item for Order {
///     fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
///         use_bytes(&self.id)
///     }
/// }
/// ```
pub trait Item {
    /// Calls `use_bytes` with the bytes of this item, and returns what it returns. Equal items must have
    /// equal bytes, on every platform.
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

/// Types that are bytes already.
macro_rules! bytes {
    ($([$($generic:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generic)*> Item for $type {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                use_bytes(self.as_ref())
            }
        }
    )+};
}
bytes!([] [u8], [const N: usize] [u8; N], [] Vec<u8>, [] str, [] String);

/// Pointers to items.
macro_rules! pointers {
    ($([$($generic:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generic)*> Item for $type {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                (**self).with_bytes(use_bytes)
            }
        }
    )+};
}
pointers!(
    [T: Item + ?Sized] &T,
    [T: Item + ?Sized] &mut T,
    [T: Item + ?Sized] Box<T>,
    [T: Item + ?Sized] Rc<T>,
    [T: Item + ToOwned + ?Sized] Cow<'_, T>,
);

#[cfg(target_has_atomic = "ptr")]
impl<T: Item + ?Sized> Item for alloc::sync::Arc<T> {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(use_bytes)
    }
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Item for $type {
            #[inline]
            #[allow(unused_comparisons, clippy::absurd_extreme_comparisons, clippy::cast_lossless)]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                use_bytes(Decimal::new(*self < 0, self.abs_diff(0) as u128).text())
            }
        }
    )+};
}
integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

macro_rules! tuples {
    ($(($($name:ident $index:tt),+)),+ $(,)?) => {$(
        impl<$($name: Item),+> Item for ($($name,)+) {
            #[inline]
            fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
                let mut key = CompositeKey::new();
                $(key.push(&self.$index);)+
                use_bytes(key.as_bytes())
            }
        }
    )+};
}
tuples!(
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
);

//! The Arrow C data interface: structures that a producer fills, and functions that free what is behind them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

#[repr(C)]
pub(super) struct Schema {
    pub(super) format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    pub(super) dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

impl Schema {
    /// The extension type that the column is of, if it is of one.
    pub(super) fn extension_name(&self) -> Option<&[u8]> {
        let mut next = self.metadata.cast::<u8>();
        if next.is_null() {
            return None;
        }
        // SAFETY: the metadata are the number of pairs, and then a key and a value of each, by the interface.
        let pairs = unsafe { take_number(&mut next) };
        (0..pairs).find_map(|_| {
            // SAFETY: as above; there are so many pairs.
            let (key, value) = unsafe { (take_text(&mut next), take_text(&mut next)) };
            (key == b"ARROW:extension:name").then_some(value)
        })
    }
}

/// # Safety
/// There is an `i32` of metadata, at whatever address.
unsafe fn take_number(next: &mut *const u8) -> usize {
    // SAFETY: the caller's.
    unsafe {
        let number = next.cast::<i32>().read_unaligned();
        *next = next.add(size_of::<i32>());
        usize::try_from(number).unwrap_or(0)
    }
}

/// # Safety
/// There are a length and so many bytes of metadata, which live for `'a`.
unsafe fn take_text<'a>(next: &mut *const u8) -> &'a [u8] {
    // SAFETY: the caller's.
    unsafe {
        let len = take_number(next);
        let text = std::slice::from_raw_parts(*next, len);
        *next = next.add(len);
        text
    }
}

#[repr(C)]
pub(super) struct Array {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    n_children: i64,
    pub(super) buffers: *const *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

/// # Safety
/// The type is one of the interface's structures, for which all zeros mean "released".
pub(super) unsafe trait Structure: Sized {
    /// The name of the capsules that carry it.
    const CAPSULE: &'static CStr;
    /// The function that frees it.
    fn release_function(&mut self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn is_released(&self) -> bool;
}

macro_rules! structure {
    ($type:ident, $capsule:literal) => {
        // SAFETY: it is one of the three; null pointers, zero counts and no functions.
        unsafe impl Structure for $type {
            const CAPSULE: &'static CStr = $capsule;
            fn release_function(&mut self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }
            fn is_released(&self) -> bool {
                self.release.is_none()
            }
        }
    };
}
structure!(Schema, c"arrow_schema");
structure!(Array, c"arrow_array");
structure!(Stream, c"arrow_array_stream");

/// A structure that is ours to free.
pub(super) struct Owned<T: Structure>(pub(super) T);

// SAFETY: the interface asks producers for data that any thread may read and release.
unsafe impl<T: Structure> Send for Owned<T> {}
// SAFETY: as above; nothing here changes a structure behind a shared reference.
unsafe impl<T: Structure> Sync for Owned<T> {}

impl<T: Structure> Owned<T> {
    /// For a producer to fill.
    fn empty() -> Self {
        // SAFETY: all zeros are a released structure.
        Self(unsafe { mem::zeroed() })
    }

    /// Moves the structure out of its capsule, which is left with a released one. One that was released before is refused:
    /// there is nothing behind its pointers, and a consumed array would look like an empty one.
    pub(super) fn take_from(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let inside = capsule.pointer_checked(Some(T::CAPSULE))?.cast::<T>();
        // SAFETY: a capsule of this name holds this structure, by the Arrow PyCapsule interface; moving it and marking what
        // is left as released is the interface's own way to hand it over. The interpreter is attached, so nobody else moves it.
        Self(unsafe { inside.replace(mem::zeroed()) }).if_live()
    }

    fn if_live(self) -> PyResult<Self> {
        if self.0.is_released() {
            return Err(PyValueError::new_err(format!(
                "the Arrow capsule `{}` was released already, as it is after it was read once: pass the column itself, which \
                 exports a new one for each call",
                T::CAPSULE.to_string_lossy()
            )));
        }
        Ok(self)
    }
}

impl<T: Structure> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release_function() {
            // SAFETY: it has not been released yet, and is not used afterwards.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl Owned<Stream> {
    pub(super) fn schema(&mut self) -> PyResult<Owned<Schema>> {
        let mut schema = Owned::empty();
        let Some(get) = self.0.get_schema else {
            return Err(PyOSError::new_err(
                "the Arrow stream does not tell its schema: its producer is at fault",
            ));
        };
        // SAFETY: both structures are live and of the kind that the function takes.
        let code = unsafe { get(&raw mut self.0, &raw mut schema.0) };
        self.check(code)?;
        schema.if_live()
    }

    /// `None` at the end.
    pub(super) fn next(&mut self) -> PyResult<Option<Owned<Array>>> {
        let mut array = Owned::<Array>::empty();
        if let Some(get) = self.0.get_next {
            // SAFETY: both structures are live and of the kind that the function takes.
            let code = unsafe { get(&raw mut self.0, &raw mut array.0) };
            self.check(code)?;
        }
        Ok(if array.0.is_released() { None } else { Some(array) })
    }

    fn check(&mut self, code: c_int) -> PyResult<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the stream is live; the text, if there is one, is valid until its next call.
        let text =
            self.0.get_last_error.map(|get| unsafe { get(&raw mut self.0) }).filter(|text| !text.is_null());
        // SAFETY: as above; it ends with a zero byte.
        let text = text.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        Err(PyOSError::new_err(format!(
            "the Arrow stream failed with code {code}: {}",
            text.as_deref().unwrap_or("it does not say why")
        )))
    }
}

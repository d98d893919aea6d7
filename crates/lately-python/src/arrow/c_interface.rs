//! The Arrow C data interface: structures that a producer fills, and functions that free their data.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

#[repr(C)]
pub(crate) struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

impl Schema {
    /// Returns the text that describes the type.
    pub(crate) fn format(&self) -> Option<Cow<'_, str>> {
        // SAFETY: by the interface, the format is such a text; it lives as long as the schema.
        unsafe { text(self.format) }
    }

    /// Returns the name of the column; empty if it has none.
    pub(crate) fn name(&self) -> String {
        // SAFETY: by the interface, the name is such a text; it lives as long as the schema.
        unsafe { text(self.name) }.unwrap_or_default().into_owned()
    }

    /// Returns the fields of a structure, or the columns of a table.
    pub(crate) fn children(&self) -> &[&Self] {
        let count = usize::try_from(self.n_children).unwrap_or(0);
        if count == 0 || self.children.is_null() {
            return &[];
        }
        // SAFETY: by the interface, these are `count` pointers to live schemas, which `self` owns.
        unsafe { std::slice::from_raw_parts(self.children.cast::<&Self>(), count) }
    }

    pub(crate) fn is_table_without_columns(&self) -> bool {
        self.format().as_deref() == Some("+s") && self.children().is_empty()
    }

    /// Returns the type of the values of a dictionary.
    pub(crate) fn dictionary(&self) -> Option<&Self> {
        // SAFETY: by the interface, it is null or a live schema, which `self` owns.
        unsafe { self.dictionary.as_ref() }
    }

    /// Returns the name of the column's extension type, or `None` if it has none.
    pub(crate) fn extension_name(&self) -> Option<&[u8]> {
        let mut next = self.metadata.cast::<u8>();
        if next.is_null() {
            return None;
        }
        // SAFETY: by the interface, the metadata are the number of pairs, followed by a key and a value for
        // each pair.
        let pairs = unsafe { take_number(&mut next) };
        (0..pairs).find_map(|_| {
            // SAFETY: as above; `pairs` is the number of pairs.
            let (key, value) = unsafe { (take_text(&mut next), take_text(&mut next)) };
            (key == b"ARROW:extension:name").then_some(value)
        })
    }
}

/// Returns a text of a structure; `None` for a null pointer.
///
/// # Safety
/// The pointer is null, or points to a text that ends with a zero byte and lives for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: guaranteed by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy())
}

/// # Safety
/// `next` points to an `i32` of metadata, at any alignment.
unsafe fn take_number(next: &mut *const u8) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let number = next.cast::<i32>().read_unaligned();
        *next = next.add(size_of::<i32>());
        usize::try_from(number).unwrap_or(0)
    }
}

/// # Safety
/// `next` points to metadata: a length, followed by that number of bytes, which live for `'a`.
unsafe fn take_text<'a>(next: &mut *const u8) -> &'a [u8] {
    // SAFETY: guaranteed by the caller.
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
    pub(super) dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

impl Array {
    /// Returns the child with this number: a field of a structure, or a column of a table.
    pub(super) fn child(&self, number: usize) -> Option<&Self> {
        if number >= usize::try_from(self.n_children).unwrap_or(0) || self.children.is_null() {
            return None;
        }
        // SAFETY: by the interface, these are `n_children` pointers to live arrays, which `self` owns.
        unsafe { (*self.children.add(number)).as_ref() }
    }
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
/// The type is one of the structures of the interface, for which all zeros mean "released".
pub(super) unsafe trait Structure: Sized {
    /// The name of the capsules that contain it.
    const CAPSULE: &'static CStr;
    /// The function that frees it.
    fn release_function(&mut self) -> Option<unsafe extern "C" fn(*mut Self)>;
    fn is_released(&self) -> bool;
}

macro_rules! structure {
    ($type:ident, $capsule:literal) => {
        // SAFETY: it is one of the three structures of the interface; all zeros are null pointers, zero
        // counts and no functions.
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

/// A structure that this crate owns and frees.
pub(super) struct Owned<T: Structure>(pub(super) T);

// SAFETY: the interface requires of producers that any thread may read and release the data.
unsafe impl<T: Structure> Send for Owned<T> {}
// SAFETY: as above; nothing here changes a structure behind a shared reference.
unsafe impl<T: Structure> Sync for Owned<T> {}

impl<T: Structure> Owned<T> {
    /// Returns an empty structure for a producer to fill.
    fn empty() -> Self {
        // SAFETY: all zeros are a released structure.
        Self(unsafe { mem::zeroed() })
    }

    /// Moves the structure out of its capsule and leaves a released one there. Fails if the structure was
    /// released before: its pointers are not valid, and a consumed array would look like an empty one.
    pub(super) fn take_from(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let inside = capsule.pointer_checked(Some(T::CAPSULE))?.cast::<T>();
        // Without the GIL, another thread might take it at the same time.
        let taken = with_critical_section(capsule, || {
            // SAFETY: by the Arrow PyCapsule interface, a capsule of this name holds this structure. A consumer
            // takes it over by moving it and marking the original as released.
            unsafe { inside.replace(mem::zeroed()) }
        });
        Self(taken).if_live()
    }

    fn if_live(self) -> PyResult<Self> {
        if self.0.is_released() {
            return Err(PyValueError::new_err(format!(
                "the Arrow capsule `{}` was released already; a capsule can be read only once: pass the column itself, \
                 which exports a new capsule for each call",
                T::CAPSULE.to_string_lossy()
            )));
        }
        Ok(self)
    }
}

impl<T: Structure> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release_function() {
            // SAFETY: the structure has not been released yet, and is not used afterwards.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl Owned<Stream> {
    pub(super) fn schema(&mut self) -> PyResult<Owned<Schema>> {
        let mut schema = Owned::empty();
        let Some(get) = self.0.get_schema else {
            return Err(PyOSError::new_err(
                "the Arrow stream has no get_schema function: report this to the library that exported it",
            ));
        };
        // SAFETY: both structures are live and have the types that the function takes.
        let code = unsafe { get(&raw mut self.0, &raw mut schema.0) };
        self.check(code)?;
        schema.if_live()
    }

    /// Returns the next chunk; `None` at the end.
    pub(super) fn next(&mut self) -> PyResult<Option<Owned<Array>>> {
        let mut array = Owned::<Array>::empty();
        if let Some(get) = self.0.get_next {
            // SAFETY: both structures are live and have the types that the function takes.
            let code = unsafe { get(&raw mut self.0, &raw mut array.0) };
            self.check(code)?;
        }
        Ok(if array.0.is_released() { None } else { Some(array) })
    }

    fn check(&mut self, code: c_int) -> PyResult<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the stream is live; the text is valid until the next call on the stream.
        let reason = self.0.get_last_error.and_then(|get| unsafe { text(get(&raw mut self.0)) });
        Err(PyOSError::new_err(format!(
            "the Arrow stream failed with code {code}: {}",
            reason.as_deref().unwrap_or("no reason was given")
        )))
    }
}

//! numpy's `StringDType`: texts of any length, which only functions of numpy's C interface can find.

use std::ffi::{c_char, c_int, c_void};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::collected::Collected;
use super::nulls;
use super::reading::Reading;
use crate::errors;

/// As numpy unpacks a text.
#[repr(C)]
struct Text {
    len: usize,
    bytes: *const c_char,
}

/// Numbers of numpy's functions in the table of its C interface. numpy never changes them.
const LOAD: usize = 313;
const ACQUIRE_ALLOCATOR: usize = 316;
const RELEASE_ALLOCATOR: usize = 318;

type Load = unsafe extern "C" fn(*mut c_void, *const c_void, *mut Text) -> c_int;
type Acquire = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type Release = unsafe extern "C" fn(*mut c_void);

/// Texts for which numpy's lock is held at a time. They take well below a millisecond.
const TEXTS_PER_LOCK: usize = 4096;

/// Returns `None` if the array has another type.
pub(super) fn read(array: &Bound<'_, PyAny>, reading: Reading) -> PyResult<Option<Collected>> {
    let py = array.py();
    let dtype = array.getattr(intern!(py, "dtype"))?;
    if dtype.get_type().name()? != "StringDType"
        || array.getattr(intern!(py, "ndim"))?.extract::<usize>()? != 1
    {
        return Ok(None);
    }
    let functions = Functions::of_numpy(py)?;
    let interface = array.getattr(intern!(py, "__array_interface__"))?;
    let (first, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let (stride,): (isize,) = array.getattr(intern!(py, "strides"))?.extract()?;
    let len = array.len()?;
    let mut collected = Collected::new(reading.wanted, len)?;
    for block in (0..len).step_by(TEXTS_PER_LOCK) {
        py.check_signals()?;
        let texts = Texts::lock(&functions, &dtype);
        for i in block..len.min(block + TEXTS_PER_LOCK) {
            let packed = first.wrapping_add_signed(stride.wrapping_mul(i.cast_signed()));
            // SAFETY: the array has `len` elements at these places, and is alive.
            match unsafe { texts.load(packed as *const c_void) } {
                Some(text) => collected.push(text)?,
                None if reading.nulls.are_skipped() => collected.push_missing()?,
                None => {
                    let error = PyTypeError::new_err(format!("it is missing: {}", nulls::REMEDY));
                    return Err(errors::located(py, format_args!("item {i}"), error));
                }
            }
        }
    }
    Ok(Some(collected))
}

/// Functions of numpy.
struct Functions {
    load: Load,
    acquire: Acquire,
    release: Release,
}

impl Functions {
    /// Only for versions that have `StringDType`: numpy 2 and later.
    fn of_numpy(py: Python<'_>) -> PyResult<Self> {
        let module = py.import(intern!(py, "numpy._core._multiarray_umath"))?;
        let capsule = module.getattr(intern!(py, "_ARRAY_API"))?.cast_into::<PyCapsule>()?;
        let table = capsule.pointer_checked(None)?.cast::<*const c_void>().as_ptr();
        // SAFETY: the capsule holds numpy's table of functions, in which these have these numbers and types.
        unsafe {
            Ok(Self {
                load: std::mem::transmute::<*const c_void, Load>(*table.add(LOAD)),
                acquire: std::mem::transmute::<*const c_void, Acquire>(*table.add(ACQUIRE_ALLOCATOR)),
                release: std::mem::transmute::<*const c_void, Release>(*table.add(RELEASE_ALLOCATOR)),
            })
        }
    }
}

/// The texts of arrays of one dtype, locked.
struct Texts<'a> {
    functions: &'a Functions,
    allocator: *mut c_void,
}

impl<'a> Texts<'a> {
    /// `dtype` is a `StringDType`.
    fn lock(functions: &'a Functions, dtype: &Bound<'_, PyAny>) -> Self {
        // SAFETY: the function takes such a dtype; the caller keeps it alive.
        let allocator = unsafe { (functions.acquire)(dtype.as_ptr().cast()) };
        Self { functions, allocator }
    }

    /// Returns `None` for a missing text.
    ///
    /// # Safety
    /// `packed` is the place of an element of an array with this dtype.
    unsafe fn load(&self, packed: *const c_void) -> Option<&[u8]> {
        let mut text = Text { len: 0, bytes: std::ptr::null() };
        // SAFETY: guaranteed by the caller; the allocator is locked.
        let code = unsafe { (self.functions.load)(self.allocator, packed, &raw mut text) };
        match (code, text.len) {
            (0, 0) => Some(&[]),
            // SAFETY: numpy has found this many bytes there, and they stay while the allocator is locked.
            (0, len) => Some(unsafe { std::slice::from_raw_parts(text.bytes.cast(), len) }),
            _ => None,
        }
    }
}

impl Drop for Texts<'_> {
    fn drop(&mut self) {
        // SAFETY: it was acquired in `lock`, and is released once.
        unsafe { (self.functions.release)(self.allocator) }
    }
}

//! One item as a Python object: its bytes, and their hash.
//!
//! | Python type | bytes of the item |
//! |---|---|
//! | `str` | its UTF-8 encoding |
//! | `bytes`, `bytearray`, `memoryview` | its bytes |
//! | `int`, or any type with `__index__` | its decimal text: `17` is `"17"`, like a line of the command |
//! | a `tuple` of items | the key of its values: `("user-5", 17)` is `"6:user-5,2:17,"`; one value alone is itself |

use lately::{CompositeKey, HashFunction, Item};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyMemoryView, PyString, PyTuple};

use crate::errors;

/// Returns the bytes of an item. The filters, the command `lately` and the Redis module hash these bytes.
///
/// >>> from lately import item_bytes
/// >>> item_bytes("\u00fc"), item_bytes(17), item_bytes(b"bytes")
/// (b'\xc3\xbc', b'17', b'bytes')
/// >>> item_bytes(("user-5", 17))
/// b'6:user-5,2:17,'
#[pyfunction]
pub(crate) fn item_bytes<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    with_bytes(item, |bytes| PyBytes::new(item.py(), bytes))
}

#[inline]
pub(crate) fn hash_of(item: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<u64> {
    with_bytes(item, |bytes| function.hash(bytes))
}

#[inline]
pub(crate) fn with_bytes<R>(item: &Bound<'_, PyAny>, take: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(take(text.to_str()?.as_bytes()));
    }
    if let Ok(bytes) = item.cast::<PyBytes>() {
        return Ok(take(bytes.as_bytes()));
    }
    if let Ok(number) = item.cast::<PyInt>()
        && !number.is_instance_of::<PyBool>()
    {
        return with_decimal(number, take);
    }
    with_other(item, take)
}

fn with_other<R>(item: &Bound<'_, PyAny>, take: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    if let Ok(bytes) = item.cast::<PyByteArray>() {
        return Ok(take(&bytes.to_vec()));
    }
    if let Ok(values) = item.cast::<PyTuple>() {
        return with_key(values, take);
    }
    if item.is_instance_of::<PyMemoryView>() {
        return Ok(take(item.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes()));
    }
    match as_integer(item)? {
        Some(number) => with_decimal(&number, take),
        None => Err(refusal(item)?),
    }
}

fn with_key<R>(values: &Bound<'_, PyTuple>, take: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    let _depth = Depth::enter(values.py())?;
    if values.len() == 1 {
        return with_bytes(&values.get_item(0)?, take);
    }
    Ok(take(key_of(values)?.as_bytes()))
}

fn key_of(values: &Bound<'_, PyTuple>) -> PyResult<CompositeKey> {
    let py = values.py();
    if values.is_empty() {
        return Err(PyTypeError::new_err("an empty tuple is not an item: give the values that identify it"));
    }
    let mut key = CompositeKey::new();
    for (position, value) in values.iter().enumerate() {
        with_bytes(&value, |bytes| key.push(bytes))
            .map_err(|error| errors::located(py, format_args!("value {position}"), error))?;
    }
    Ok(key)
}

/// One level of nested tuples, on the stack of the recursion. Python raises a `RecursionError` if they are nested too deeply for the stack.
pub(super) struct Depth;

impl Depth {
    pub(super) fn enter(py: Python<'_>) -> PyResult<Self> {
        // SAFETY: the interpreter is attached; the result is not 0 if an exception is set.
        if unsafe { ffi::Py_EnterRecursiveCall(c" while reading a tuple".as_ptr()) } != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(Self)
    }
}

impl Drop for Depth {
    fn drop(&mut self) {
        // SAFETY: the call was entered in `enter`, by this thread: only this file has a `Depth`, and it does
        // not give it away.
        unsafe { ffi::Py_LeaveRecursiveCall() }
    }
}

/// Converts integers of numpy and similar types; returns `None` for booleans and for types that are not
/// integers.
fn as_integer<'py>(item: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    let name = item.get_type().name()?;
    if item.is_instance_of::<PyBool>() || name == "bool" || name == "bool_" {
        return Ok(None);
    }
    // SAFETY: the item is a live object and the interpreter is attached; the result is a new reference, or
    // null with an exception set.
    let index = unsafe { Bound::from_owned_ptr_or_err(item.py(), ffi::PyNumber_Index(item.as_ptr())) };
    match index {
        Ok(index) => Ok(Some(index.cast_into()?)),
        Err(error) if error.is_instance_of::<PyTypeError>(item.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn with_decimal<R>(number: &Bound<'_, PyInt>, take: impl FnOnce(&[u8]) -> R) -> PyResult<R> {
    let mut overflow = 0;
    // SAFETY: the object is an int and the interpreter is attached; for an int this call cannot raise, it
    // only reports overflow.
    let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    if overflow == 0 {
        return Ok(small.with_bytes(take));
    }
    // SAFETY: as above; the result is a new reference to a str, or null with an exception set (too many
    // digits for Python). `PyNumber_ToBase` ignores the `__str__` of subclasses.
    let text =
        unsafe { Bound::from_owned_ptr_or_err(number.py(), ffi::PyNumber_ToBase(number.as_ptr(), 10)) }?;
    Ok(take(text.cast::<PyString>()?.to_str()?.as_bytes()))
}

fn refusal(item: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let kind = item.get_type();
    let remedy = match kind.name()?.to_string().as_str() {
        "bool" | "bool_" => "it could mean the text \"True\" or the number 1; pass str(item) or int(item)",
        "NoneType" => "leave it out, or pass a text of your choice for it",
        "float" | "float64" | "float32" | "float16" | "Decimal" | "Fraction" => {
            "pass the text that identifies it, for example repr(item), or int(item) if it is a whole number"
        }
        "list" | "dict" | "set" | "frozenset" | "ndarray" | "Series" | "DataFrame" => {
            "pass a tuple to identify it by several values; to pass many items, call the method whose name ends in _many"
        }
        _ => "pass a str, bytes or int that identifies it, for example str(item)",
    };
    let name = kind.fully_qualified_name()?;
    Ok(PyTypeError::new_err(format!(
        "an item must be a str, bytes, bytearray, memoryview, int, or a tuple of these, not {name}: {remedy}"
    )))
}

//! Arrays of numpy, and other objects that expose their memory with Python's buffer protocol.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::code_points;
use super::collected::Collected;
use super::column::{Column, column_refused};
use super::reading::Wanted;
use super::strided::Strided;

pub(super) enum Found {
    Column(Box<dyn Column>),
    /// Items that had to be read to find out whether all of them are valid.
    Collected(Collected),
    /// No elements, of any type: an empty batch is no mistake.
    Empty,
    /// Python objects, to be read one by one.
    Objects,
}

/// Returns true for an array of numbers: of numpy and alike, of the module array, or of ctypes. Other objects with
/// memory, such as memoryview, mmap and the buffers of pyarrow, expose bytes, which are one text and not numbers.
fn is_array(items: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(items.hasattr("dtype")? || items.hasattr("typecode")? || items.hasattr("_length_")?)
}

/// Returns `None` if the object has no buffer.
pub(super) fn read(items: &Bound<'_, PyAny>, wanted: Wanted) -> PyResult<Option<Found>> {
    let Ok(buffer) = PyUntypedBuffer::get(items) else {
        // numpy does not export the memory of dates, and iterating over them would give unexpected objects.
        return match items.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) {
            Ok(kind) if (kind.eq("M")? || kind.eq("m")?) && items.len().is_ok_and(|len| len == 0) => {
                Ok(Some(Found::Empty))
            }
            Ok(kind) if kind.eq("M")? || kind.eq("m")? => {
                Err(column_refused("dates or times", "pass .astype(\"int64\"), or strings"))
            }
            _ => Ok(None),
        };
    };
    if buffer.item_size() == 1 && !is_array(items)? {
        return Err(column_refused(
            &format!("one buffer of bytes ({})", items.get_type().fully_qualified_name()?),
            "call the method without _many on its bytes, or pass a list",
        ));
    }
    // The memory of a masked array does not show which elements are masked. The class is found by name,
    // because numpy is optional.
    let mut classes = items.get_type().mro().iter();
    if classes
        .any(|class| class.getattr("__name__").is_ok_and(|name| name.eq("MaskedArray").unwrap_or(false)))
    {
        return Err(column_refused("a masked array", "pass .compressed(), or .filled(value)"));
    }
    if buffer.dimensions() != 1 {
        return Err(PyValueError::new_err(format!(
            "an array of {} dimensions is not a column of items: pass an array of one dimension, for example .ravel()",
            buffer.dimensions()
        )));
    }
    if buffer.suboffsets().is_some() {
        return Err(PyValueError::new_err("a buffer of pointers cannot be read: pass a list of its items"));
    }
    if buffer.item_count() == 0 {
        return Ok(Some(Found::Empty));
    }
    let name = String::from_utf8_lossy(buffer.format().to_bytes()).into_owned();
    let Format { code, is_swapped } = Format::parse(name.as_bytes());
    let (first, stride) = (buffer.buf_ptr().cast::<u8>(), buffer.strides()[0]);
    // SAFETY: the buffer describes its memory with these values, and keeps it in place until it is dropped.
    // Callers must not write to the memory during the call (docs/python.md).
    let elements = unsafe { Strided::new(first, stride, buffer.item_size(), buffer.shape()[0], buffer) };
    let other = || column_refused(&format!("elements of the format `{name}`"), "pass a list of items");
    let column = match code {
        b'O' => return Ok(Some(Found::Objects)),
        b'B' | b'H' | b'I' | b'L' | b'Q' | b'N' => {
            elements.into_integers(false, is_swapped).ok_or_else(other)?
        }
        b'b' | b'h' | b'i' | b'l' | b'q' | b'n' => {
            elements.into_integers(true, is_swapped).ok_or_else(other)?
        }
        b's' => elements.into_bytes(true),
        b'w' => {
            return code_points::read(items.py(), &elements, is_swapped, wanted)
                .map(Found::Collected)
                .map(Some);
        }
        b'?' => return Err(column_refused("booleans", "pass .astype(\"uint8\"), or strings")),
        b'e' | b'f' | b'd' | b'g' => {
            return Err(column_refused(
                "floats",
                "pass .astype(\"int64\") if they are whole numbers, or strings",
            ));
        }
        _ => return Err(other()),
    };
    Ok(Some(Found::Column(column)))
}

/// The element format of the buffer protocol: a byte order, the length of a text (ignored, because the item size
/// gives it), and a code. A number before any other code means several values.
struct Format {
    code: u8,
    is_swapped: bool,
}

impl Format {
    fn parse(format: &[u8]) -> Self {
        let (is_swapped, rest) = match format.split_first() {
            Some((b'@' | b'=', rest)) => (false, rest),
            Some((b'<', rest)) => (cfg!(target_endian = "big"), rest),
            Some((b'>' | b'!', rest)) => (cfg!(target_endian = "little"), rest),
            _ => (false, format),
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let code = match rest[digits..] {
            [code] if digits == 0 || code == b's' || code == b'w' => code,
            // Structures and other compound formats.
            _ => 0,
        };
        Self { code, is_swapped }
    }
}

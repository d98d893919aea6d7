//! Arrays of numpy, and other objects that expose their memory with Python's buffer protocol.

use lately::HashFunction;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::column::{Column, column_refused};
use super::strided::Strided;
use crate::errors;

pub(super) enum Found {
    Column(Box<dyn Column>),
    /// Items that had to be hashed to find out whether all of them are valid.
    Hashes(Vec<u64>),
    /// Python objects, to be read one by one.
    Objects,
}

/// Returns `None` if the object has no buffer.
pub(super) fn read(items: &Bound<'_, PyAny>, function: HashFunction) -> PyResult<Option<Found>> {
    let Ok(buffer) = PyUntypedBuffer::get(items) else {
        // numpy does not export the memory of dates, and iterating over them would give unexpected objects.
        return match items.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) {
            Ok(kind) if kind.eq("M")? || kind.eq("m")? => {
                Err(column_refused("dates or times", "pass .astype(\"int64\"), or strings"))
            }
            _ => Ok(None),
        };
    };
    if items.is_instance_of::<PyMemoryView>() && buffer.item_size() == 1 {
        return Err(column_refused(
            "one memoryview of bytes",
            "call the method without _many, or pass a list",
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
            return hash_code_points(items.py(), &elements, is_swapped, function)
                .map(Found::Hashes)
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

/// The element format of the buffer protocol: a byte order, a number (ignored, because the item size gives
/// the width), and a code.
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
        // Structures and other compound formats have no single code.
        let code = if let [code] = rest[digits..] { code } else { 0 };
        Self { code, is_swapped }
    }
}

/// Hashes numpy's `U` as UTF-8: code points of four bytes, padded with zeros. All are hashed before the
/// filter is called, because some code points have no UTF-8 encoding.
fn hash_code_points(
    py: Python<'_>,
    elements: &Strided,
    is_swapped: bool,
    function: HashFunction,
) -> PyResult<Vec<u64>> {
    let mut all = errors::room_for_items(elements.len())?;
    let hash_all = || {
        let mut text = String::new();
        let mut hashes = (0..elements.len()).map(|i| {
            text.clear();
            let mut zeros = 0;
            for point in elements.bytes(i).as_chunks().0 {
                let point = u32::from_ne_bytes(*point);
                let point = if is_swapped { point.swap_bytes() } else { point };
                if point == 0 {
                    zeros += 1;
                    continue;
                }
                // Zeros before another code point are part of the text.
                (0..std::mem::take(&mut zeros)).for_each(|_| text.push('\0'));
                text.push(char::from_u32(point).ok_or((i, point))?);
            }
            Ok(function.hash(text.as_bytes()))
        });
        hashes.try_for_each(|hash| hash.map(|hash| all.push(hash)))
    };
    py.detach(hash_all).map_err(|(position, point): (usize, u32)| {
        PyValueError::new_err(format!(
            "item {position} has the code point U+{point:04X}, which has no UTF-8 encoding: pass bytes, for example \
             encoded with errors=\"surrogateescape\""
        ))
    })?;
    Ok(all)
}

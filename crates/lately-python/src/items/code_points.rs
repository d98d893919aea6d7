//! numpy's `U`: texts of a fixed width, as code points of four bytes that are padded with zeros.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::collected::Collected;
use super::reading::Wanted;
use super::strided::Strided;
use crate::errors::NoMemory;

/// Texts that are read between two looks for signals.
const TEXTS_PER_TURN: usize = 1 << 16;

/// Reads the texts as UTF-8, without zeros at their ends. Fails if a code point has no UTF-8 encoding.
///
/// All are read before the filter sees the first one: a code point may be invalid, and reading this wide memory
/// twice would take longer than to keep hashes.
pub(super) fn read(
    py: Python<'_>,
    elements: &Strided,
    is_swapped: bool,
    wanted: Wanted,
) -> PyResult<Collected> {
    let mut collected = Collected::new(wanted, elements.len())?;
    let mut text = Vec::new();
    for first in (0..elements.len()).step_by(TEXTS_PER_TURN) {
        py.check_signals()?;
        let turn = first..elements.len().min(first + TEXTS_PER_TURN);
        py.detach(|| {
            for i in turn {
                let points = elements.bytes(i).as_chunks().0.iter().map(|point| u32::from_ne_bytes(*point));
                if is_swapped {
                    write(points.map(u32::swap_bytes), &mut text)
                } else {
                    write(points, &mut text)
                }
                .map_err(|point| Failure::Invalid(i, point))?;
                collected.push(&text).map_err(Failure::NoMemory)?;
            }
            Ok(())
        })
        .map_err(|failure: Failure| PyErr::from(failure))?;
    }
    Ok(collected)
}

enum Failure {
    Invalid(usize, u32),
    NoMemory(NoMemory),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoMemory(error) => error.into(),
            Failure::Invalid(position, point) => PyValueError::new_err(format!(
                "item {position} has the code point U+{point:04X}, which has no UTF-8 encoding: pass bytes, for example \
                 encoded with errors=\"surrogateescape\""
            )),
        }
    }
}

/// Writes a text as UTF-8. An error is the code point that has no encoding.
#[inline]
fn write(points: impl ExactSizeIterator<Item = u32> + Clone, text: &mut Vec<u8>) -> Result<(), u32> {
    text.clear();
    let mut all = 0;
    // Most texts are ASCII, and this loop is one of vectors.
    text.extend(points.clone().map(|point| {
        all |= point;
        point as u8
    }));
    if all >= 0x80 {
        text.clear();
        let mut utf8 = [0; 4];
        for point in points {
            let point = char::from_u32(point).ok_or(point)?;
            text.extend_from_slice(point.encode_utf8(&mut utf8).as_bytes());
        }
    }
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    text.truncate(end);
    Ok(())
}

//! The times of a bulk call: one for all items, or one for each.

use std::time::Duration;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDateTime, PyDict, PyFrozenSet, PyInt, PySet, PyString};

use super::{Now, max_jump_of, moment};
use crate::arrow::{ArraySlice, Exported};
use crate::errors::{self, NoMemory};

/// The times of a bulk call.
pub(crate) enum Times {
    ForAll(Now),
    ForEach { millis: Vec<u64>, max_jump: Option<Duration> },
}

impl Times {
    /// Reads the times of `len` items.
    pub(crate) fn read(
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
        len: usize,
    ) -> PyResult<Self> {
        let Some(now) = now.filter(|now| is_column(now)) else {
            return Now::read(now, max_jump).map(Self::ForAll);
        };
        let millis = read_column(now)?;
        if millis.len() != len {
            return Err(PyValueError::new_err(format!(
                "now has {} times for {len} items: give one time for each item, or one for all",
                millis.len()
            )));
        }
        Ok(Self::ForEach { millis, max_jump: max_jump_of(max_jump)? })
    }
}

fn is_column(now: &Bound<'_, PyAny>) -> bool {
    let is_one = now.is_instance_of::<PyInt>()
        || now.is_instance_of::<PyDateTime>()
        || now.is_instance_of::<PyString>()
        || now.is_instance_of::<PyBytes>()
        || now.is_instance_of::<PyByteArray>();
    // A value of numpy has a shape, but no length.
    !is_one && (now.len().is_ok() || Exported::is_offered_by(now).unwrap_or(false))
}

fn read_column(now: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    // numpy and pandas. Without it, they could offer their times in a form of its own.
    if let Ok(kind) = now.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) {
        return match kind.extract::<String>()?.as_str() {
            // By numpy's definition, times without a zone are UTC; pandas converts those with a zone to UTC.
            "M" => from_numpy::<i64>(
                &moment::numpy_millis(&times_of_numpy(now)?)?.call_method1("view", ("int64",))?,
            ),
            "i" => from_numpy::<i64>(&as_array(now, Some("int64"))?),
            "u" => from_numpy::<u64>(&as_array(now, Some("uint64"))?),
            "O" => from_objects(now),
            _ => Err(refused(now.getattr("dtype")?.str()?)),
        };
    }
    if now.is_instance_of::<PyDict>() || now.is_instance_of::<PySet>() || now.is_instance_of::<PyFrozenSet>()
    {
        return Err(PyTypeError::new_err(format!(
            "now cannot be of type {}, which has no positions: give a list, or a column of times",
            now.get_type().name()?
        )));
    }
    if Exported::is_offered_by(now)? { from_arrow(&Exported::from(now)?) } else { from_objects(now) }
}

/// Returns the times as an array of `datetime64`, in their own unit if they have no zone.
fn times_of_numpy<'py>(now: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let array = as_array(now, None)?;
    // Times of pandas with a zone would become objects.
    if array.getattr("dtype")?.getattr("kind")?.eq("M")? { Ok(array) } else { as_array(now, Some("M8[ms]")) }
}

fn as_array<'py>(now: &Bound<'py, PyAny>, dtype: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let py = now.py();
    py.import(intern!(py, "numpy"))?.call_method1("asarray", (now, dtype)).map_err(|error| {
        let message =
            format!("now cannot be read as times: {}; drop or fill missing times first", error.value(py));
        PyValueError::new_err(message)
    })
}

fn from_numpy<T: pyo3::buffer::Element + TryInto<u64> + std::fmt::Display>(
    array: &Bound<'_, PyAny>,
) -> PyResult<Vec<u64>> {
    let buffer = PyBuffer::<T>::get(array)?;
    if buffer.dimensions() != 1 {
        return Err(PyValueError::new_err(format!(
            "now has {} dimensions: give a column, for example .ravel()",
            buffer.dimensions()
        )));
    }
    collect(buffer.to_vec(array.py())?.into_iter().map(|millis| millis.try_into().map_err(|_| millis)))
}

/// Collects the times; an error is a value that is no time.
fn collect(times: impl ExactSizeIterator<Item = Result<u64, impl std::fmt::Display>>) -> PyResult<Vec<u64>> {
    let mut all = errors::room_for_items(times.len())?;
    for (position, time) in times.enumerate() {
        all.push(time.map_err(|found| impossible(position, found))?);
    }
    Ok(all)
}

fn impossible(position: usize, found: impl std::fmt::Display) -> PyErr {
    let found = found.to_string();
    PyValueError::new_err(if found == i64::MIN.to_string() {
        no_time(position)
    } else {
        format!(
            "now = {found} ms for item {position} is not possible: times are not before 1970, and whole numbers from 0 to \
             {} ms",
            u64::MAX
        )
    })
}

fn no_time(position: usize) -> String {
    format!("now has no time for item {position} (null or NaT): drop or fill missing times first")
}

fn refused(kind: impl std::fmt::Display) -> PyErr {
    PyTypeError::new_err(format!(
        "now cannot be a column of {kind}: give a column of timestamps, or of whole milliseconds as integers"
    ))
}

fn from_objects(now: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let mut all = Vec::new();
    for (position, time) in now.try_iter()?.enumerate() {
        let millis = moment::millis(&time?)
            .map_err(|error| errors::located(now.py(), format_args!("item {position}"), error))?;
        all.try_reserve(1).map_err(|_| NoMemory::for_items::<u64>(2 * position))?;
        all.push(millis);
    }
    Ok(all)
}

/// How a column of Arrow stores its times: as whole numbers of a width, in a unit.
struct Stored {
    width: usize,
    is_signed: bool,
    /// How many of the unit are a millisecond, or how many milliseconds the unit is.
    per_milli: i128,
    millis_each: i128,
}

impl Stored {
    fn of(format: &str) -> Option<Self> {
        let stored = |width, is_signed, per_milli, millis_each| {
            Some(Self { width, is_signed, per_milli, millis_each })
        };
        match format {
            "l" => stored(8, true, 1, 1),
            "i" => stored(4, true, 1, 1),
            "L" => stored(8, false, 1, 1),
            "I" => stored(4, false, 1, 1),
            // A zone may follow: the stored numbers are UTC then. Without a zone, they are taken as UTC.
            _ => match format.get(..4)? {
                "tss:" => stored(8, true, 1, 1000),
                "tsm:" => stored(8, true, 1, 1),
                "tsu:" => stored(8, true, 1000, 1),
                "tsn:" => stored(8, true, 1_000_000, 1),
                _ => None,
            },
        }
    }

    fn millis(&self, number: i128) -> Result<u64, i128> {
        let millis = number.div_euclid(self.per_milli) * self.millis_each;
        u64::try_from(millis).map_err(|_| millis)
    }
}

fn from_arrow(exported: &Exported) -> PyResult<Vec<u64>> {
    let schema = exported.schema();
    let format = schema.format().unwrap_or_default();
    let stored = Stored::of(&format).filter(|_| schema.dictionary().is_none());
    let stored = stored.ok_or_else(|| refused(format_args!("the Arrow type `{format}`")))?;
    let mut all: Vec<u64> = errors::room_for_items(exported.chunks.iter().map(|chunk| chunk.len).sum())?;
    for chunk in &exported.chunks {
        if let Some(position) = chunk.nulls().next() {
            return Err(PyValueError::new_err(no_time(all.len() + position)));
        }
        let numbers = numbers(chunk, &stored)?;
        for number in numbers {
            all.push(stored.millis(number).map_err(|found| impossible(all.len(), found))?);
        }
    }
    Ok(all)
}

fn numbers<'a>(chunk: &'a ArraySlice, stored: &Stored) -> PyResult<impl Iterator<Item = i128> + use<'a>> {
    let (width, is_signed) = (stored.width, stored.is_signed);
    let first = chunk.required_buffer(1)?.wrapping_add(chunk.offset * width);
    Ok((0..chunk.len).map(move |i| {
        let at = first.wrapping_add(i * width);
        // SAFETY: buffer 1 of an array of fixed-width elements holds the elements one after the other; the chunk
        // keeps it alive.
        unsafe {
            match (width, is_signed) {
                (8, true) => at.cast::<i64>().read_unaligned().into(),
                (8, false) => at.cast::<u64>().read_unaligned().into(),
                (_, true) => at.cast::<i32>().read_unaligned().into(),
                (_, false) => at.cast::<u32>().read_unaligned().into(),
            }
        }
    }))
}

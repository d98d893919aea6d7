//! Arrow types: which of them are items, and how their elements are read.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::categories::{Categories, Numbers};
use super::texts::{Absent, Offsets, Views};
use crate::arrow::{ArraySlice, Schema};
use crate::errors;
use crate::items::column::{Column, column_refused};
use crate::items::keys::Keys;
use crate::items::strided::Strided;

/// Arrow types that can be items, by their memory layout.
pub(super) enum Kind {
    Integers {
        is_signed: bool,
        width: usize,
    },
    /// Bytes of a fixed width.
    Fixed {
        width: usize,
    },
    /// Strings or bytes stored one after the other, with offsets of 32 bits.
    Offsets32,
    /// The same with offsets of 64 bits.
    Offsets64,
    /// Strings or bytes, each located by a view.
    Views,
    /// Values of a dictionary, by their numbers.
    Dictionary {
        width: usize,
        values: Box<Kind>,
    },
    /// Tables and structures: the fields of a row together are one key.
    Fields(Vec<Field>),
    /// Nothing but nulls.
    Nulls,
}

pub(super) struct Field {
    name: String,
    kind: Kind,
}

/// The library that exported the data, if that matters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Producer {
    /// Polars exports Python objects as their addresses, as binaries of a fixed width, of which it has no others.
    Polars,
    Other,
}

pub(super) struct Null {
    pub(super) position: usize,
    /// The column of a table that has the null.
    pub(super) column: Option<String>,
}

/// Name of the type, and the remedy.
const BOOLEANS: (&str, &str) = ("booleans", "cast the column to integers or to strings");

impl Kind {
    pub(super) fn of(py: Python<'_>, schema: &Schema, producer: Producer) -> PyResult<Self> {
        let Some(format) = schema.format() else {
            return Err(PyValueError::new_err(
                "the Arrow schema has no format: report this to the library that exported it",
            ));
        };
        let refused = |kind, remedy| Err(column_refused(kind, remedy));
        let is_text = format.starts_with(['u', 'U', 'z', 'Z', 'v', 'w']);
        match schema.extension_name() {
            // Booleans that are stored as integers of one byte.
            Some(b"arrow.bool8") => return refused(BOOLEANS.0, BOOLEANS.1),
            // For example the periods of pandas: their numbers mean months or days.
            Some(name) if !is_text => {
                let name = String::from_utf8_lossy(name);
                return refused(
                    &format!(
                        "elements of the Arrow extension type `{name}`, which are stored as something else"
                    ),
                    "cast the column to strings",
                );
            }
            _ => {}
        }
        if let Some(values) = schema.dictionary() {
            let width = integer_width(&format);
            return match Self::of(py, values, producer)? {
                Self::Fields(_) | Self::Dictionary { .. } => refused(
                    "categories that are structures",
                    "cast the column to its values: .dictionary_decode()",
                ),
                values => Ok(Self::Dictionary { width, values: Box::new(values) }),
            };
        }
        match &*format {
            "c" | "s" | "i" | "l" => Ok(Self::Integers { is_signed: true, width: integer_width(&format) }),
            "C" | "S" | "I" | "L" => Ok(Self::Integers { is_signed: false, width: integer_width(&format) }),
            "u" | "z" => Ok(Self::Offsets32),
            "U" | "Z" => Ok(Self::Offsets64),
            "vu" | "vz" => Ok(Self::Views),
            "n" => Ok(Self::Nulls),
            "b" => refused(BOOLEANS.0, BOOLEANS.1),
            "e" | "f" | "g" => {
                refused("floats", "cast the column to int64 if they are whole numbers, or to strings")
            }
            "+s" => match schema.children() {
                [] => refused("tables without columns", "select the columns that identify a row"),
                fields => {
                    let fields = fields.iter().map(|&field| Field::of(py, field, producer));
                    fields.collect::<PyResult<_>>().map(Self::Fields)
                }
            },
            other => match other.strip_prefix("w:").map(str::parse) {
                Some(Ok(_)) if producer == Producer::Polars => refused(
                    "Python objects (the Polars type Object)",
                    "pass the column's .to_list(), or a table with columns of other types",
                ),
                Some(Ok(width)) => Ok(Self::Fixed { width }),
                _ => Err(refusal(other)),
            },
        }
    }

    /// `absent` are the positions of the nulls, of fields, too, in order. These elements are never read.
    pub(super) fn column(&self, array: ArraySlice, absent: &[usize]) -> PyResult<Box<dyn Column>> {
        Ok(match self {
            &Self::Integers { is_signed, width } => {
                let integers = strided(array, width)?.into_integers(is_signed, false);
                integers.ok_or_else(|| {
                    column_refused("integers of an unsupported width", "cast the column to int64")
                })?
            }
            &Self::Fixed { width } => strided(array, width)?.into_bytes(false),
            Self::Dictionary { width, values } => {
                // Nulls among the values are known as nulls of the elements.
                let values = values.column(array.dictionary()?, &[])?;
                Box::new(Categories::new(Numbers::new(array, *width)?, values, absent)?)
            }
            Self::Offsets32 => Box::new(Offsets::<i32>::new(array)?),
            Self::Offsets64 => Box::new(Offsets::<i64>::new(array)?),
            Self::Views => Box::new(Views::new(array)?),
            Self::Nulls => Box::new(Absent { len: array.len }),
            // One value alone is its own item, not a key.
            Self::Fields(fields) if fields.len() == 1 => fields[0].kind.column(array.child(0)?, absent)?,
            Self::Fields(fields) => {
                let columns =
                    fields.iter().enumerate().map(|(i, field)| field.kind.column(array.child(i)?, absent));
                Box::new(Keys::new(columns.collect::<PyResult<_>>()?, array.len))
            }
        })
    }

    fn is_null(&self, array: &ArraySlice, i: usize) -> bool {
        matches!(self, Self::Nulls) || array.is_null(i)
    }

    /// Returns the positions of nulls, without those of fields.
    fn nulls<'a>(&self, array: &'a ArraySlice) -> PyResult<Box<dyn Iterator<Item = usize> + 'a>> {
        Ok(match self {
            Self::Nulls => Box::new(0..array.len),
            Self::Dictionary { width, values } => {
                let of_values = array.dictionary()?;
                let null_values = (0..of_values.len).map(|i| values.is_null(&of_values, i)).collect();
                Box::new(Numbers::new(array.clone(), *width)?.into_nulls(null_values))
            }
            _ => Box::new(array.nulls()),
        })
    }

    /// Returns the first null.
    pub(super) fn first_null(&self, array: &ArraySlice) -> PyResult<Option<Null>> {
        let mut first = self.nulls(array)?.next().map(|position| Null { position, column: None });
        if let Self::Fields(fields) = self {
            for (i, field) in fields.iter().enumerate() {
                if let Some(Null { position, .. }) = field.kind.first_null(&array.child(i)?)?
                    && first.as_ref().is_none_or(|first| position < first.position)
                {
                    first = Some(Null { position, column: Some(field.name.clone()) });
                }
            }
        }
        Ok(first)
    }

    /// Passes the positions of all nulls, in any order; some of them more than once.
    pub(super) fn for_each_null(&self, array: &ArraySlice, take: &mut dyn FnMut(usize)) -> PyResult<()> {
        self.nulls(array)?.for_each(&mut *take);
        if let Self::Fields(fields) = self {
            for (i, field) in fields.iter().enumerate() {
                field.kind.for_each_null(&array.child(i)?, take)?;
            }
        }
        Ok(())
    }
}

/// The error for a type whose elements are not items.
fn refusal(format: &str) -> PyErr {
    let kind = match format {
        "+r" => {
            return column_refused(
                "run-end encoded values",
                "decode the column, for example with pyarrow.compute.run_end_decode(column)",
            );
        }
        "+l" | "+L" | "+vl" | "+vL" => "lists",
        "+m" => "maps",
        _ if format.starts_with("+w:") => "lists",
        _ if format.starts_with("+u") => "unions",
        _ if format.starts_with("d:") => "decimals",
        _ if format.starts_with('t') => "dates or times",
        _ => &format!("elements of the Arrow type `{format}`"),
    };
    let remedy = match kind {
        "lists" | "maps" | "unions" => "make a text or an integer of each, or pass a list of tuples",
        _ => "cast the column to int64, or to strings",
    };
    column_refused(kind, remedy)
}

impl Field {
    fn of(py: Python<'_>, schema: &Schema, producer: Producer) -> PyResult<Self> {
        let name = schema.name();
        let in_column = |error| errors::located(py, format_args!("column \"{name}\""), error);
        let kind = Kind::of(py, schema, producer).map_err(in_column)?;
        Ok(Self { name, kind })
    }
}

/// The elements of an array of elements of a fixed width.
fn strided(array: ArraySlice, width: usize) -> PyResult<Strided> {
    let first = array.required_buffer(1)?.wrapping_add(array.offset * width);
    let len = array.len;
    // SAFETY: buffer 1 of an array of fixed-width elements holds the elements one after the other, and
    // Arrow data never changes.
    Ok(unsafe { Strided::new(first, width.cast_signed(), width, len, array) })
}

fn integer_width(format: &str) -> usize {
    match format {
        "c" | "C" => 1,
        "s" | "S" => 2,
        "i" | "I" => 4,
        _ => 8,
    }
}

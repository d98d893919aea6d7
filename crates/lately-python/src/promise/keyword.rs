//! One keyword: the type and the range of its value.

use std::fmt::Display;
use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDelta, PyFloat, PyInt, PyString};

use crate::errors::ConfigError;

/// A keyword, with a method for each type that its value may have.
pub(super) struct Keyword<'a, 'py> {
    pub(super) name: &'a str,
    pub(super) value: &'a Bound<'py, PyAny>,
}

impl Keyword<'_, '_> {
    /// Reads the value, unless it is None.
    pub(super) fn given<T>(&self, read: impl FnOnce(&Self) -> PyResult<T>) -> PyResult<Option<T>> {
        if self.value.is_none() { Ok(None) } else { read(self).map(Some) }
    }

    fn wrong_type(&self, remedy: &str) -> PyErr {
        let kind = self.value.get_type().fully_qualified_name();
        let kind = kind.map_or_else(|_| "this".to_owned(), |kind| kind.to_string());
        PyTypeError::new_err(format!("{} cannot be of type {kind}: {remedy}", self.name))
    }

    fn out_of_range(&self, limits: impl Display) -> PyErr {
        ConfigError::new_err(format!("{} = {} is not possible: {limits}", self.name, self.value))
    }

    /// A whole number, of Python or of numpy.
    fn integer<T: for<'p> FromPyObject<'p, 'p>>(&self, limits: impl Display) -> PyResult<T> {
        let is_float = self.value.is_instance_of::<PyFloat>();
        if is_float || self.value.is_instance_of::<PyBool>() {
            return Err(self.wrong_type("give a whole number, for example 1_000_000 or int(1e6)"));
        }
        let index = self.value.call_method0("__index__");
        let index = index.map_err(|_| self.wrong_type("give a whole number, for example 1_000_000"))?;
        index.cast::<PyInt>()?.extract().map_err(|_| self.out_of_range(limits))
    }

    pub(super) fn count(&self) -> PyResult<u64> {
        self.integer(format_args!("give 0 to {}", u64::MAX))
    }

    pub(super) fn number(&self) -> PyResult<f64> {
        if self.value.is_instance_of::<PyBool>() || self.value.is_instance_of::<PyString>() {
            return Err(self.wrong_type("give a number, for example 1e-4"));
        }
        self.value.extract().map_err(|_| self.wrong_type("give a number, for example 1e-4"))
    }

    pub(super) fn span(&self) -> PyResult<Duration> {
        if !self.value.is_instance_of::<PyDelta>() {
            return Err(self.wrong_type("give a timedelta, for example timedelta(minutes=10)"));
        }
        self.value.extract().map_err(|_| self.out_of_range("give a positive timedelta"))
    }

    /// One of a few names, exactly as written: keywords of Python distinguish upper and lower case.
    pub(super) fn word<T: Copy>(&self, all: &[T], name: impl Fn(T) -> &'static str) -> PyResult<T> {
        let names =
            || all.iter().map(|&value| format!("\"{}\"", name(value))).collect::<Vec<_>>().join(" or ");
        let word: String = self.value.extract().map_err(|_| self.wrong_type(&format!("give {}", names())))?;
        let found = all.iter().copied().find(|&value| name(value) == word);
        found.ok_or_else(|| self.out_of_range(format_args!("give {}", names())))
    }

    pub(super) fn shape(&self) -> PyResult<(u32, u32)> {
        let pair: (Bound<'_, PyAny>, Bound<'_, PyAny>) = self
            .value
            .extract()
            .map_err(|_| self.wrong_type("give the pair (k, l), for example (12, 14)"))?;
        let one = |value: &Bound<'_, PyAny>| {
            Keyword { name: self.name, value }
                .integer(format_args!("k and l are from 1 to {}", lately::MAX_SEGMENTS))
        };
        Ok((one(&pair.0)?, one(&pair.1)?))
    }

    pub(super) fn key(&self) -> PyResult<[u8; 16]> {
        let bytes = self.value.cast::<PyBytes>().map_err(|_| {
            self.wrong_type("give 16 secret bytes, for example secrets.token_bytes(16), and keep them")
        })?;
        // The message never shows the key itself.
        bytes.as_bytes().try_into().map_err(|_| {
            ConfigError::new_err(format!(
                "a key of {} bytes is not possible: give exactly 16",
                bytes.as_bytes().len()
            ))
        })
    }
}

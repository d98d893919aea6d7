//! The promise of a filter, given as keywords.

use std::fmt::Display;
use std::time::Duration;

use lately::{Builder, HashFunction, Layout, Overload, Prefer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDelta, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::errors::{self, ConfigError};
use crate::report;

/// Returns the plans of filters that keep a promise, best first, without building a filter.
///
/// Takes the keywords of Filter, except seed and key. Filter builds the first plan. The other plans are the
/// best of each other layout and k, ordered by memory.
///
/// >>> from lately import plan
/// >>> best, *others = plan(window=1_000_000, false_positive_rate=1e-4)
/// >>> best.layout, best.memory_bytes
/// ('rows', 5368136)
/// >>> min(others, key=lambda plan: plan.memory_bytes).layout
/// 'slices'
#[pyfunction]
#[pyo3(
    signature = (**promise),
    text_signature = "(*, window=None, within=None, capacity=None, false_positive_rate=None, max_slack=None, layout=None, prefer=None, max_memory=None, shape=None, overload=None)"
)]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    promise: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    let promise = Promise::read("plan", promise)?;
    if promise.hash_function.is_some() {
        return Err(PyTypeError::new_err(
            "plan() takes no seed and no key: leave them out, a plan does not depend on them",
        ));
    }
    let plans = py.detach(|| promise.builder.plans()).map_err(errors::config)?;
    PyList::new(py, plans.iter().map(|plan| report::plan(py, plan)).collect::<PyResult<Vec<_>>>()?)
}

pub(crate) struct Promise {
    builder: Builder,
    hash_function: Option<HashFunction>,
}

impl Promise {
    /// Reads the keywords of a call to `function`.
    pub(crate) fn read(function: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut builder = lately::Filter::builder();
        let (mut window, mut span, mut capacity, mut hash_function) = (None, None, None, None);
        for (name, value) in keywords.into_iter().flatten() {
            let name: String = name.extract()?;
            let value = Value { name: &name, value: &value };
            let is_known = matches!(
                name.as_str(),
                "window"
                    | "within"
                    | "capacity"
                    | "false_positive_rate"
                    | "max_slack"
                    | "layout"
                    | "prefer"
                    | "max_memory"
                    | "shape"
                    | "overload"
                    | "seed"
                    | "key"
            );
            if !is_known {
                return Err(PyTypeError::new_err(format!(
                    "{function}() got an unexpected keyword argument '{name}'"
                )));
            }
            if value.value.is_none() {
                continue;
            }
            match name.as_str() {
                "window" => window = Some(value.count()?),
                "within" => span = Some(value.span()?),
                "capacity" => capacity = Some(value.count()?),
                "false_positive_rate" => builder = builder.false_positive_rate(value.number()?),
                "max_slack" => builder = builder.max_slack(value.number()?),
                "layout" => builder = builder.layout(value.layout()?),
                "prefer" => builder = builder.prefer(value.prefer()?),
                "max_memory" => builder = builder.max_memory(value.count()?),
                "shape" => {
                    let (k, l) = value.shape()?;
                    builder = builder.shape(k, l);
                }
                "overload" => builder = builder.overload(value.overload()?),
                _ => {
                    let another = if name == "seed" {
                        HashFunction::Xxh3 { seed: value.count()? }
                    } else {
                        HashFunction::SipHash13 { key: value.key()? }
                    };
                    if hash_function.replace(another).is_some() {
                        return Err(refused(
                            "seed and key were both given: a seed is for the default hash, a key for SipHash; give only one",
                        ));
                    }
                }
            }
        }
        builder = match (window, span, capacity) {
            (Some(_), Some(_), _) => {
                return Err(refused(
                    "window and within were both given: give window (inserts), or within and capacity (a span of time)",
                ));
            }
            (_, Some(_), None) => {
                return Err(refused(
                    "within needs capacity: give the largest number of inserts that you expect in that time",
                ));
            }
            (_, None, Some(_)) => {
                return Err(refused(
                    "capacity was given without within: leave it out for a count window, or give within for a time window",
                ));
            }
            (_, Some(span), Some(capacity)) => builder.time_window(span, capacity),
            (Some(inserts), None, None) => builder.window(inserts),
            (None, None, None) => builder,
        };
        Ok(Self { builder, hash_function })
    }

    /// Plans and allocates the filter with the GIL released, because this may take a while.
    pub(crate) fn build(&self, py: Python<'_>) -> PyResult<lately::Filter> {
        let builder = self.builder.clone().hash_function(self.hash_function.unwrap_or_default());
        py.detach(|| builder.build()).map_err(errors::config)
    }
}

fn refused(message: impl Into<String>) -> PyErr {
    ConfigError::new_err(message.into())
}

/// The value of a keyword, with a method for each type that a keyword may have.
struct Value<'a, 'py> {
    name: &'a str,
    value: &'a Bound<'py, PyAny>,
}

impl Value<'_, '_> {
    fn wrong_type(&self, remedy: &str) -> PyErr {
        let kind = self.value.get_type().fully_qualified_name();
        let kind = kind.map_or_else(|_| "this".to_owned(), |kind| kind.to_string());
        PyTypeError::new_err(format!("{} cannot be of type {kind}: {remedy}", self.name))
    }

    fn out_of_range(&self, limits: impl Display) -> PyErr {
        refused(format!("{} = {} is not possible: {limits}", self.name, self.value))
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

    fn count(&self) -> PyResult<u64> {
        self.integer(format_args!("give 0 to {}", u64::MAX))
    }

    fn number(&self) -> PyResult<f64> {
        if self.value.is_instance_of::<PyBool>() || self.value.is_instance_of::<PyString>() {
            return Err(self.wrong_type("give a number, for example 1e-4"));
        }
        self.value.extract().map_err(|_| self.wrong_type("give a number, for example 1e-4"))
    }

    fn span(&self) -> PyResult<Duration> {
        if !self.value.is_instance_of::<PyDelta>() {
            return Err(self.wrong_type("give a timedelta, for example timedelta(minutes=10)"));
        }
        self.value.extract().map_err(|_| self.out_of_range("give a positive timedelta"))
    }

    fn word<T: Copy>(&self, words: &[(&str, T)]) -> PyResult<T> {
        let names = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        let word: String = self.value.extract().map_err(|_| self.wrong_type(&format!("give {}", names())))?;
        let found = words.iter().find(|(name, _)| *name == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.out_of_range(format_args!("give {}", names())))
    }

    fn layout(&self) -> PyResult<Layout> {
        self.word(&[("slices", Layout::Slices), ("blocks", Layout::Blocks), ("rows", Layout::Rows)])
    }

    fn prefer(&self) -> PyResult<Prefer> {
        self.word(&[("speed", Prefer::Speed), ("memory", Prefer::Memory)])
    }

    fn overload(&self) -> PyResult<Overload> {
        self.word(&[("keep_window", Overload::KeepWindow), ("keep_rate", Overload::KeepRate)])
    }

    fn shape(&self) -> PyResult<(u32, u32)> {
        let pair: (Bound<'_, PyAny>, Bound<'_, PyAny>) = self
            .value
            .extract()
            .map_err(|_| self.wrong_type("give the pair (k, l), for example (12, 14)"))?;
        let one = |value: &Bound<'_, PyAny>| {
            Value { name: self.name, value }
                .integer(format_args!("k and l are from 1 to {}", lately::MAX_SEGMENTS))
        };
        Ok((one(&pair.0)?, one(&pair.1)?))
    }

    fn key(&self) -> PyResult<[u8; 16]> {
        let bytes = self.value.cast::<PyBytes>().map_err(|_| {
            self.wrong_type("give 16 secret bytes, for example secrets.token_bytes(16), and keep them")
        })?;
        // The message never shows the key itself.
        bytes.as_bytes().try_into().map_err(|_| {
            refused(format!("a key of {} bytes is not possible: give exactly 16", bytes.as_bytes().len()))
        })
    }
}

//! Reads the keywords that describe a filter: its promise, and its hash function.

use std::time::Duration;

use lately::{Builder, Filter, HashFunction, Layout, Overload, Plan, Prefer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::keyword::Keyword;
use crate::errors::{self, ConfigError};

pub(crate) struct Keywords {
    builder: Builder,
    /// From `seed` or `key`.
    pub(super) hash_function: Option<HashFunction>,
}

impl Keywords {
    /// Reads the keywords of a call to `function`. A keyword that is None counts as not given.
    pub(crate) fn read(function: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut promise, mut hash_function) = (Promise::default(), None);
        for (name, value) in keywords.into_iter().flatten() {
            let name: String = name.extract()?;
            let keyword = Keyword { name: &name, value: &value };
            match name.as_str() {
                "window" => promise.window = keyword.given(Keyword::count)?,
                "within" => promise.within = keyword.given(Keyword::span)?,
                "capacity" => promise.capacity = keyword.given(Keyword::count)?,
                "false_positive_rate" => promise.false_positive_rate = keyword.given(Keyword::number)?,
                "max_slack" => promise.max_slack = keyword.given(Keyword::number)?,
                "layout" => promise.layout = keyword.given(Keyword::layout)?,
                "prefer" => promise.prefer = keyword.given(Keyword::prefer)?,
                "max_memory" => promise.max_memory = keyword.given(Keyword::count)?,
                "shape" => promise.shape = keyword.given(Keyword::shape)?,
                "overload" => promise.overload = keyword.given(Keyword::overload)?,
                "seed" => {
                    let seeded = keyword.given(Keyword::count)?.map(|seed| HashFunction::Xxh3 { seed });
                    set_once(&mut hash_function, seeded)?;
                }
                "key" => {
                    let keyed = keyword.given(Keyword::key)?.map(|key| HashFunction::SipHash13 { key });
                    set_once(&mut hash_function, keyed)?;
                }
                _ => {
                    return Err(PyTypeError::new_err(format!(
                        "{function}() got an unexpected keyword argument '{name}'"
                    )));
                }
            }
        }
        Ok(Self { builder: promise.builder()?, hash_function })
    }

    /// Returns the plans that keep the promise, best first. Releases the GIL, because planning may take a
    /// while.
    pub(super) fn plans(&self, py: Python<'_>) -> PyResult<Vec<Plan>> {
        py.detach(|| self.builder.plans()).map_err(errors::config)
    }

    /// Plans and allocates the filter. Releases the GIL, because this may take a while.
    pub(crate) fn build(self, py: Python<'_>) -> PyResult<Filter> {
        let builder = self.builder.hash_function(self.hash_function.unwrap_or_default());
        py.detach(|| builder.build()).map_err(errors::config)
    }
}

fn set_once(hash_function: &mut Option<HashFunction>, given: Option<HashFunction>) -> PyResult<()> {
    if hash_function.is_some() && given.is_some() {
        return Err(ConfigError::new_err(
            "seed and key were both given: a seed is for the default hash, a key for SipHash; give only one",
        ));
    }
    *hash_function = hash_function.or(given);
    Ok(())
}

/// The promise, as its keywords are called.
#[derive(Default)]
struct Promise {
    window: Option<u64>,
    within: Option<Duration>,
    capacity: Option<u64>,
    false_positive_rate: Option<f64>,
    max_slack: Option<f64>,
    layout: Option<Layout>,
    prefer: Option<Prefer>,
    max_memory: Option<u64>,
    shape: Option<(u32, u32)>,
    overload: Option<Overload>,
}

impl Promise {
    /// Fails if the keywords of the window do not go together; the builder checks the rest.
    fn builder(&self) -> PyResult<Builder> {
        let refused = |message| Err(ConfigError::new_err(message));
        let mut builder = match (self.window, self.within, self.capacity) {
            (Some(_), Some(_), _) => {
                return refused(
                    "window and within were both given: give window (inserts), or within and capacity (a span of time)",
                );
            }
            (_, Some(_), None) => {
                return refused(
                    "within needs capacity: give the largest number of inserts that you expect in that time",
                );
            }
            (_, None, Some(_)) => {
                return refused(
                    "capacity was given without within: leave it out for a count window, or give within for a time window",
                );
            }
            (_, Some(span), Some(capacity)) => Filter::builder().time_window(span, capacity),
            (Some(inserts), None, None) => Filter::builder().window(inserts),
            (None, None, None) => Filter::builder(),
        };
        if let Some(rate) = self.false_positive_rate {
            builder = builder.false_positive_rate(rate);
        }
        if let Some(slack) = self.max_slack {
            builder = builder.max_slack(slack);
        }
        if let Some(layout) = self.layout {
            builder = builder.layout(layout);
        }
        if let Some(prefer) = self.prefer {
            builder = builder.prefer(prefer);
        }
        if let Some(bytes) = self.max_memory {
            builder = builder.max_memory(bytes);
        }
        if let Some((k, l)) = self.shape {
            builder = builder.shape(k, l);
        }
        if let Some(overload) = self.overload {
            builder = builder.overload(overload);
        }
        Ok(builder)
    }
}

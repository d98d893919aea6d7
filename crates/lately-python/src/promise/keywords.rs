//! Reads the keywords that describe a filter: its promise, and its hash function.

use lately::{Filter, HashFunction, Layout, Overload, Plan, Prefer, Promise};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::keyword::Keyword;
use super::planning;
use crate::errors::{self, ConfigError};

pub(crate) struct Keywords {
    promise: Promise,
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
                "within" => promise.span = keyword.given(Keyword::span)?,
                "capacity" => promise.capacity = keyword.given(Keyword::count)?,
                "false_positive_rate" => promise.false_positive_rate = keyword.given(Keyword::number)?,
                "max_slack" => promise.max_slack = keyword.given(Keyword::number)?,
                "layout" => promise.layout = keyword.given(|given| given.word(Layout::ALL, Layout::name))?,
                "prefer" => {
                    let given = keyword.given(|given| given.word(Prefer::ALL, Prefer::name))?;
                    promise.prefer = given.unwrap_or_default();
                }
                "max_memory" => promise.max_memory = keyword.given(Keyword::count)?,
                "shape" => promise.shape = keyword.given(Keyword::shape)?,
                "overload" => {
                    promise.overload = keyword.given(|given| given.word(Overload::ALL, Overload::name))?;
                }
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
        Ok(Self { promise, hash_function })
    }

    /// Returns the plans that keep the promise, best first. Releases the GIL, because planning may take a
    /// while.
    pub(super) fn plans(&self, py: Python<'_>) -> PyResult<Vec<Plan>> {
        py.detach(|| self.promise.plans()).map_err(errors::config)
    }

    /// Plans and allocates the filter. Releases the GIL, because this may take a while.
    pub(crate) fn build(self, py: Python<'_>) -> PyResult<Filter> {
        py.detach(|| {
            let plan = planning::best(&self.promise).map_err(errors::config)?;
            self.allocate(&plan)
        })
    }

    /// The same for a filter that threads share.
    pub(crate) fn build_for_threads(self, py: Python<'_>) -> PyResult<Filter> {
        py.detach(|| {
            let plan = planning::best_for_threads(&self.promise).map_err(errors::config)?.ok_or_else(|| {
                ConfigError::new_err(
                    "only the layouts \"slices\" and \"blocks\" can keep this promise, and in these several threads may \
                     be told that the same item is new: ask for more max_slack, more max_memory or no shape, or name the \
                     layout to accept that",
                )
            })?;
            self.allocate(&plan)
        })
    }

    fn allocate(&self, plan: &Plan) -> PyResult<Filter> {
        let blueprint = plan.blueprint(self.hash_function.unwrap_or_default());
        Filter::from_blueprint(&blueprint).map_err(|_| errors::allocation(plan.memory_bytes))
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

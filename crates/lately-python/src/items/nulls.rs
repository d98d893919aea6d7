//! What a call does with missing items.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};

use super::item::Depth;

/// What a call does with missing items: nulls of columns; None, NaN, NA and NaT of objects; keys that lack a
/// value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// The call fails, and adds nothing.
    #[default]
    Fail,
    /// They are answered as new, and not added.
    Pass,
    /// They are answered as seen, and not added.
    Drop,
}

/// The end of an error for a missing item.
pub(super) const REMEDY: &str = "drop nulls first (drop_null, drop_nulls, dropna), fill them with a value of your choice, or \
     give nulls=\"pass\" (answered as new) or nulls=\"drop\" (answered as seen)";

impl Nulls {
    pub(crate) fn read(nulls: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(nulls) = nulls else { return Ok(Self::default()) };
        match nulls.extract::<String>().as_deref() {
            Ok("fail") => Ok(Self::Fail),
            Ok("pass") => Ok(Self::Pass),
            Ok("drop") => Ok(Self::Drop),
            _ => Err(PyValueError::new_err(format!(
                "nulls = {} is not possible: give \"fail\" or \"pass\" or \"drop\"",
                nulls.repr()?
            ))),
        }
    }

    pub(super) fn are_skipped(self) -> bool {
        self != Self::Fail
    }

    /// The answer for a missing item.
    pub(crate) fn answer(self) -> bool {
        self == Self::Drop
    }
}

/// Returns true if an object stands for a missing item.
pub(super) fn is_null(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_none() {
        return Ok(true);
    }
    if let Ok(number) = item.cast::<PyFloat>() {
        return Ok(number.value().is_nan());
    }
    if let Ok(values) = item.cast::<PyTuple>() {
        let _depth = Depth::enter(item.py())?;
        for value in values.iter() {
            if is_null(&value)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    // Of pandas, which is optional.
    let name = item.get_type().name()?;
    Ok(name == "NAType" || name == "NaTType")
}

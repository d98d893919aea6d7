//! The times of time windows: as callers give them, or read from the system clock.
//!
//! | file | owns |
//! |---|---|
//! | `clock.rs` | whose clock a filter follows |
//! | `moment.rs` | one time as a Python object |
//! | `column.rs` | the times of a bulk call: one for all items, or one for each |

mod clock;
mod column;
mod moment;

use std::time::Duration;

use pyo3::prelude::*;

pub(crate) use clock::{Clock, Clocked};
pub(crate) use column::Times;

use crate::promise;

/// The time of a call, and how far ahead of the latest time it may be.
#[derive(Clone, Copy, Default)]
pub(crate) struct Now {
    /// Milliseconds of the caller's clock; `None` if the call gave no time.
    pub(crate) millis: Option<u64>,
    pub(crate) max_jump: Option<Duration>,
}

impl Now {
    #[inline]
    pub(crate) fn read(
        now: Option<&Bound<'_, PyAny>>,
        max_jump: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self { millis: now.map(moment::millis).transpose()?, max_jump: max_jump_of(max_jump)? })
    }
}

fn max_jump_of(max_jump: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    max_jump.map(|max_jump| promise::span("max_jump", max_jump)).transpose()
}

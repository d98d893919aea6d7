//! A safe interface to the server. Every call of its C API is in this directory, except those for memory.
#![allow(unsafe_code)]

mod call;
mod config;
mod data_type;
mod describe;
mod info;
mod key;
mod loading;
mod reply;
mod waiting;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use call::{Argument, Call, Command};
pub(crate) use config::{NumberConfig, TextConfig, WordConfig};
pub(crate) use data_type::{AofWriter, Digest, Loader, Saver};
pub(crate) use describe::{Description, KeyUse, Parameter};
pub(crate) use info::Section;
pub(crate) use key::Key;
pub(crate) use loading::{Loading, Refused};
pub(crate) use reply::Reply;

use crate::raw::{self, ERR, OK};

/// Calls a required function of [`raw`]; for use in unsafe blocks. The server has all required functions,
/// because the module does not load otherwise.
macro_rules! api {
    ($function:ident($($argument:expr),* $(,)?)) => {
        ($crate::raw::$function.get().expect(concat!("the server lacks ", stringify!($function))))(
            $($argument),*
        )
    };
}
use api;

/// Returns the server's clock, in milliseconds since 1970. It may stand still inside a transaction or a
/// script.
pub(crate) fn now_ms() -> u64 {
    // SAFETY: both functions take no arguments and only read the clock. Redis 7.0 lacks the first.
    let millis = unsafe {
        match raw::CachedMicroseconds.get() {
            Some(cached) => cached() / 1000,
            None => api!(Milliseconds()),
        }
    };
    millis.try_into().unwrap_or(0)
}

/// Runs `work`. Returns `None` if it panics: an uncaught panic would end the server.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

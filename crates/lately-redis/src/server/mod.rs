//! The server, in safe words: every call of its C API is in this directory.
#![allow(unsafe_code)]

mod call;
mod config;
mod data_type;
mod describe;
mod info;
mod key;
mod loading;
pub(crate) mod raw;
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

/// Calls a required function of [`raw`], in an unsafe block. The module is only loaded if the server has all of them.
macro_rules! api {
    ($function:ident($($argument:expr),* $(,)?)) => {
        ($crate::server::raw::$function.get().expect(concat!("the server lacks ", stringify!($function))))(
            $($argument),*
        )
    };
}
use api;

use raw::{ERR, OK};

/// The server's clock: milliseconds since 1970. Inside a transaction or a script it may stand still.
pub(crate) fn now_ms() -> u64 {
    // SAFETY: both take nothing and only read the clock; the first is younger than Redis 7.0.
    let millis = unsafe {
        match raw::CachedMicroseconds.get() {
            Some(cached) => cached() / 1000,
            None => api!(Milliseconds()),
        }
    };
    millis.try_into().unwrap_or(0)
}

/// A panic would end the server; here it ends what was being done. `None` after one.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

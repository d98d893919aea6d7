//! The server, in safe words: every call of its C API is in this directory.
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

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use valkey_module::raw;

pub(crate) use call::{Argument, Call, Command};
pub(crate) use config::{NumberConfig, TextConfig, WordConfig};
pub(crate) use data_type::{AofWriter, Digest, Loader, Saver};
pub(crate) use describe::{Description, KeyUse, Parameter};
pub(crate) use info::Section;
pub(crate) use key::Key;
pub(crate) use loading::{Loading, Refused};
pub(crate) use reply::Reply;

/// Calls a function of the server's API, in an unsafe block. All of them were set when the module was loaded; those that
/// a supported server lacks are asked for by hand.
macro_rules! api {
    ($function:ident($($argument:expr),* $(,)?)) => {
        (valkey_module::raw::$function.expect(concat!("the server lacks ", stringify!($function))))(
            $($argument),*
        )
    };
}
use api;

/// What functions of the server's return, and what it is returned.
const OK: c_int = raw::REDISMODULE_OK as c_int;
const ERR: c_int = raw::REDISMODULE_ERR as c_int;

/// The server's clock: milliseconds since 1970. Inside a transaction or a script it may stand still.
pub(crate) fn now_ms() -> u64 {
    // SAFETY: both take nothing and only read the clock; the first is younger than Redis 7.0.
    let millis = unsafe {
        match raw::RedisModule_CachedMicroseconds {
            Some(cached) => cached() / 1000,
            None => api!(RedisModule_Milliseconds()),
        }
    };
    millis.try_into().unwrap_or(0)
}

/// A panic would end the server; here it ends what was being done. `None` after one.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

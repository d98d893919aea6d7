//! What every file here needs to call the server and to be called by it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::raw;

/// Calls a required function of [`raw`]; for use in unsafe blocks. The server has all required functions,
/// because the module does not load otherwise.
macro_rules! api {
    ($function:ident($($argument:expr),* $(,)?)) => {
        ($crate::raw::$function.get().expect(concat!("the server lacks ", stringify!($function))))(
            $($argument),*
        )
    };
}
pub(super) use api;

/// Runs `work`. Returns `None` if it panics: an uncaught panic would end the server.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

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

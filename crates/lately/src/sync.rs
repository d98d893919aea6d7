//! What threads share, from the standard library, or from loom, which tries all the orders in which it can happen.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering, fence},
};

/// Lets another thread finish what it is at, which takes nanoseconds unless the system has put it to sleep.
#[cold]
pub(crate) fn wait_for<T>(attempt: impl Fn() -> Option<T>) -> T {
    let mut tries = 0;
    loop {
        wait_a_moment(tries);
        if let Some(done) = attempt() {
            return done;
        }
        tries += 1;
    }
}

fn wait_a_moment(tries: u32) {
    #[cfg(not(loom))]
    match tries {
        0..64 => std::hint::spin_loop(),
        64..1_000 => std::thread::yield_now(),
        // The other may be of a lower priority, which yielding does not let run.
        _ => std::thread::sleep(std::time::Duration::from_micros(50)),
    }
    #[cfg(loom)]
    {
        let _ = tries;
        loom::thread::yield_now();
    }
}

/// Loom takes sequentially consistent accesses for weaker ones, but not fences; elsewhere the accesses are enough.
#[inline(always)]
#[allow(clippy::inline_always)] // it is nothing
pub(crate) fn sequential() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

//! Synchronisation primitives from the standard library, or from loom, which tries all interleavings of
//! threads.

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

/// Retries `attempt` until another thread finishes its step, which takes nanoseconds unless the system has
/// suspended it.
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
        // The other thread may have a lower priority; yielding would not let it run.
        _ => std::thread::sleep(std::time::Duration::from_micros(50)),
    }
    #[cfg(loom)]
    {
        let _ = tries;
        loom::thread::yield_now();
    }
}

/// Loom treats sequentially consistent accesses as weaker ones, but not sequentially consistent fences.
/// Without loom, the accesses are enough.
#[inline(always)]
#[allow(clippy::inline_always)] // empty without loom
pub(crate) fn sequential() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

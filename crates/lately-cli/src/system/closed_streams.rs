//! Finds standard streams that were closed when the program was started (`>&-` in a shell).
//!
//! The runtime replaces them by `/dev/null` before `main`, so that no other file gets their number. Records would go
//! there without a word, so the program has to look before.

#[cfg(unix)]
pub(crate) use unix::first_closed;

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicU8, Ordering};

    use rustix::io::fcntl_getfd;
    use rustix::stdio::{stderr, stdin, stdout};

    /// One bit for each closed stream.
    static CLOSED: AtomicU8 = AtomicU8::new(0);

    const NAMES: [&str; 3] = ["standard input", "standard output", "standard error"];

    // SAFETY: the loader calls every function in this section once, before `main`, with arguments that a C function
    // may ignore. `look` needs nothing that the runtime has not set up yet: it makes three system calls and
    // stores to an atomic.
    #[allow(unsafe_code)]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    #[used]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        let closed = [fcntl_getfd(stdin()), fcntl_getfd(stdout()), fcntl_getfd(stderr())];
        let bits = closed.iter().enumerate().map(|(bit, flags)| u8::from(flags.is_err()) << bit);
        CLOSED.store(bits.sum(), Ordering::Relaxed);
    }

    /// Returns the name of a stream that was closed at the start.
    pub(crate) fn first_closed() -> Option<&'static str> {
        let closed = CLOSED.load(Ordering::Relaxed);
        (0..3).find(|bit| closed & 1 << bit != 0).map(|bit| NAMES[bit])
    }
}

#[cfg(not(unix))]
pub(crate) fn first_closed() -> Option<&'static str> {
    None
}

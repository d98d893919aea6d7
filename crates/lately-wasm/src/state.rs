//! Everything that lives between two calls.

use alloc::vec::Vec;
use core::cell::RefCell;

use lately::Filter;

use crate::explorer::Scene;
use crate::failure::Failure;
use crate::table::Table;

#[derive(Debug)]
pub(crate) struct State {
    /// Arguments, written by JavaScript.
    pub(crate) input: Vec<u8>,
    /// The latest result that is longer than a number.
    pub(crate) reply: Vec<u8>,
    pub(crate) filters: Table<Filter>,
    pub(crate) scenes: Table<Scene>,
}

/// WebAssembly has one thread; each thread of a test has a state of its own.
#[cfg(target_family = "wasm")]
mod threads {
    #![allow(unsafe_code)]

    use super::{RefCell, State};

    struct OneThread(RefCell<State>);
    // SAFETY: the module has one thread.
    unsafe impl Sync for OneThread {}
    static STATE: OneThread = OneThread(RefCell::new(State::new()));

    pub(crate) fn with<R>(call: impl FnOnce(&mut State) -> R) -> R {
        call(&mut STATE.0.borrow_mut())
    }
}
#[cfg(not(target_family = "wasm"))]
mod threads {
    use super::{RefCell, State};

    std::thread_local! {
        static STATE: RefCell<State> = const { RefCell::new(State::new()) };
    }

    pub(crate) fn with<R>(call: impl FnOnce(&mut State) -> R) -> R {
        STATE.with_borrow_mut(call)
    }
}
pub(crate) use threads::with;

impl State {
    const fn new() -> Self {
        Self { input: Vec::new(), reply: Vec::new(), filters: Table::new(), scenes: Table::new() }
    }

    /// Makes the input so many bytes long, and returns where it is; null if there is no memory.
    pub(crate) fn make_input(&mut self, length: usize) -> *mut u8 {
        let missing = length.saturating_sub(self.input.len());
        if self.input.try_reserve_exact(missing).is_err() {
            return core::ptr::null_mut();
        }
        self.input.resize(length, 0);
        if self.input.capacity() / 4 > length {
            self.input.shrink_to_fit();
        }
        self.input.as_mut_ptr()
    }

    /// Returns the first bytes of the input, and everything else.
    pub(crate) fn split(&mut self, length: usize) -> Result<Parts<'_>, Failure> {
        let Self { input, reply, filters, scenes } = self;
        let input = input.get(..length).ok_or_else(|| Failure::internal("the input is too short"))?;
        Ok(Parts { input, reply, filters, scenes })
    }
}

pub(crate) struct Parts<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) reply: &'a mut Vec<u8>,
    pub(crate) filters: &'a mut Table<Filter>,
    pub(crate) scenes: &'a mut Table<Scene>,
}

/// Runs a call that may fail. Returns its number, which is not negative, or -1 with the failure as the reply.
pub(crate) fn attempt(call: impl FnOnce(&mut State) -> Result<i32, Failure>) -> i32 {
    with(|state| {
        call(state).unwrap_or_else(|Failure { kind, message }| {
            state.reply.clear();
            state.reply.extend_from_slice(&kind.as_bytes()[..1]);
            state.reply.extend_from_slice(message.as_bytes());
            -1
        })
    })
}

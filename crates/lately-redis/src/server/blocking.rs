//! Clients that are blocked until a result is ready, while the server serves other clients.
//!
//! ```text
//! command -> Call::block -> another thread computes -> BlockedClient::unblock -> the command runs again
//!                           client disconnects ------> Awaited::stop_waiting
//! ```

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use crate::raw::{self, OK};

use super::api::api;
use super::call::Call;
use super::failure::Failure;
use super::reply;

/// A result that blocked clients wait for.
pub(crate) trait Awaited: Send + Sized + 'static {
    /// Runs `command` so that it finds this result.
    fn provide_to<T>(&self, command: impl FnOnce() -> T) -> T;

    /// Runs when a blocked client has disconnected. Returns true if the client was still waiting, and from
    /// now on nothing else unblocks it.
    fn stop_waiting(client: &BlockedClient<Self>) -> bool;
}

/// A client that is blocked until an `A` is ready. It must be unblocked exactly once.
pub(crate) struct BlockedClient<A>(*mut raw::BlockedClient, PhantomData<fn(A)>);

// SAFETY: other threads only call `UnblockClient` with it, which the server's documentation allows.
unsafe impl<A> Send for BlockedClient<A> {}

impl<A> PartialEq for BlockedClient<A> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<A: Awaited> BlockedClient<A> {
    fn new(client: *mut raw::BlockedClient) -> Self {
        Self(client, PhantomData)
    }

    /// Unblocks the client. Its command runs again and finds the result.
    pub(crate) fn unblock(self, result: A) {
        self.end(Box::into_raw(Box::new(result)));
    }

    fn unblock_without_result(self) {
        self.end(ptr::null_mut());
    }

    fn end(self, result: *mut A) {
        // SAFETY: the client was blocked and is not yet unblocked. `free` frees `result`.
        unsafe { api!(UnblockClient(self.0, result.cast())) };
    }
}

impl Call<'_> {
    /// Returns true if the client may be blocked until the reply is ready. Returns false inside transactions
    /// and scripts, whose commands must run one directly after the other, for replayed commands, which no
    /// client waits for, and where the server forbids blocking.
    pub(crate) fn may_block(&self) -> bool {
        const FORBIDDEN: c_int = raw::CTX_FLAGS_MULTI | raw::CTX_FLAGS_LUA | raw::CTX_FLAGS_DENY_BLOCKING;
        self.flags() & FORBIDDEN == 0 && !self.is_replayed()
    }

    /// Blocks the client, which must be possible: see [`Call::may_block`]. The command must end without a
    /// reply, and runs again when the client is unblocked.
    pub(crate) fn block<A: Awaited>(&self) -> BlockedClient<A> {
        let when_unblocked: raw::CmdFunc = if self.writes { write_again::<A> } else { run_again::<A> };
        // SAFETY: the context belongs to a running command. 0 means no timeout.
        unsafe {
            let client = api!(BlockClient(self.ctx, Some(when_unblocked), None, Some(free::<A>), 0));
            api!(SetDisconnectCallback(client, Some(disconnected::<A>)));
            BlockedClient::new(client)
        }
    }
}

/// The callback that the server calls when a blocked client has disconnected.
extern "C" fn disconnected<A: Awaited>(_ctx: *mut raw::Ctx, client: *mut raw::BlockedClient) {
    let client = BlockedClient::<A>::new(client);
    if A::stop_waiting(&client) {
        client.unblock_without_result();
    }
}

/// The callback that frees the result of an unblocked client.
extern "C" fn free<A: Awaited>(_ctx: *mut raw::Ctx, result: *mut c_void) {
    // SAFETY: `unblock` made the pointer, and the server does not use it after this call. The server does not
    // call this with null.
    drop(unsafe { Box::from_raw(result.cast::<A>()) });
}

fn try_again(ctx: *mut raw::Ctx, message: &str) {
    reply::send(ctx, Err(Failure::TryAgain(message.into())));
}

/// The callback that the server calls for an unblocked client whose command writes.
///
/// A write while writes are paused would abort the server. The server delays the commands that clients send
/// during a pause, but not this callback, because it accepted the command before.
extern "C" fn write_again<A: Awaited>(ctx: *mut raw::Ctx, argv: *mut *mut raw::String, argc: c_int) -> c_int {
    // SAFETY: the function takes no arguments and only reads the server's state.
    let are_writes_paused = unsafe { api!(AvoidReplicaTraffic()) } != 0;
    if are_writes_paused {
        try_again(ctx, "writes were paused while the filter was planned: send the command again");
        return OK;
    }
    run_again::<A>(ctx, argv, argc)
}

/// The callback that the server calls for an unblocked client whose command only reads. It runs the command
/// again through the `Call` function of the module API, so the server checks again that the key is in one of
/// its slots: the slot may have moved to another node meanwhile. A command that runs through `Call` cannot
/// block a second time.
extern "C" fn run_again<A: Awaited>(ctx: *mut raw::Ctx, argv: *mut *mut raw::String, argc: c_int) -> c_int {
    // SAFETY: the client was unblocked by `unblock`, so its private data is an `A`. The server frees it after
    // this callback.
    let result = unsafe { &*api!(GetBlockedClientPrivateData(ctx)).cast::<A>() };
    // SAFETY: the server passes the command's name and arguments. The arguments match the format: `!`
    // replicates what the command replicates, `0` replies in the client's version of the protocol, and `v` is
    // an array of strings and its length. The reply is freed once, after it was passed on.
    result.provide_to(|| unsafe {
        let name = api!(StringPtrLen(*argv, ptr::null_mut()));
        let arguments = usize::try_from(argc).unwrap_or(1) - 1;
        let reply = api!(Call(ctx, name, c"!0v".as_ptr(), argv.add(1), arguments));
        if reply.is_null() {
            // The server itself would reply where the key is now, but a module does not learn that.
            try_again(
                ctx,
                "the slot moved, or the cluster went down, while the filter was planned: send the command again",
            );
        } else {
            api!(ReplyWithCallReply(ctx, reply));
            api!(FreeCallReply(reply));
        }
    });
    OK
}

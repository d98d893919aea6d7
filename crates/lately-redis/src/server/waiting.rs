//! Clients that wait while another thread works, so that the server goes on.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::thread;

use valkey_module::raw;

use super::call::Command;
use super::{OK, api, guarded};

/// A client that waits.
struct Waiting(*mut raw::RedisModuleBlockedClient);

// SAFETY: the server's documentation has it that other threads end the waiting, which is all that is done with it.
unsafe impl Send for Waiting {}

impl Waiting {
    fn end(self) {
        // SAFETY: the waiting was begun and not ended; there is no private data.
        unsafe { api!(RedisModule_UnblockClient(self.0, ptr::null_mut())) };
    }
}

/// Makes the client wait until the work is done, and then runs its command again.
pub(super) fn run_again_after<C: Command>(
    ctx: *mut raw::RedisModuleCtx,
    work: impl FnOnce() + Send + 'static,
) {
    // SAFETY: the context is that of a running command whose client may wait; 0 is for as long as it takes.
    let client = unsafe { api!(RedisModule_BlockClient(ctx, Some(run_again::<C>), None, None, 0)) };
    let waiting = Waiting(client);
    thread::spawn(move || {
        guarded(work);
        waiting.end();
    });
}

/// The plan is remembered, so a second try is not kept waiting.
fn try_again(ctx: *mut raw::RedisModuleCtx, message: &CStr) -> c_int {
    // SAFETY: the context is that of a client to be answered; the server copies the message.
    unsafe { api!(RedisModule_ReplyWithError(ctx, message.as_ptr())) }
}

/// What the server calls when the waiting is over. The command is run as any module runs one, so the server looks again
/// whether the key is still its own: a slot of a cluster may have moved meanwhile. Within, nobody waits a second time.
///
/// Nothing may be written while writes are paused: the server ends when something is. It holds back the commands that
/// clients send then, but not this, which it let through before.
extern "C" fn run_again<C: Command>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: takes nothing, and only looks.
    let are_writes_paused = unsafe { api!(RedisModule_AvoidReplicaTraffic()) } != 0;
    if are_writes_paused && C::DESCRIPTION.key.is_some() {
        return try_again(
            ctx,
            c"TRYAGAIN writes were paused while the filter was planned: send the command again",
        );
    }
    // SAFETY: the server hands over the command's words, the name first. The format: what it replicates is replicated, replies
    // are of the client's version of the protocol, errors are replies, and an array of words follows with its length. The
    // reply is freed once it is passed on.
    unsafe {
        let name = api!(RedisModule_StringPtrLen(*argv, ptr::null_mut()));
        let call = raw::RedisModule_Call.expect("the server lacks RedisModule_Call");
        let arguments = usize::try_from(argc).unwrap_or(1) - 1;
        let reply = call(ctx, name, c"!0Ev".as_ptr(), argv.add(1), arguments);
        if reply.is_null() {
            api!(RedisModule_ReplyWithError(
                ctx,
                c"ERR the command could not be run after its plan".as_ptr()
            ));
        } else {
            api!(RedisModule_ReplyWithCallReply(ctx, reply));
            api!(RedisModule_FreeCallReply(reply));
        }
    }
    OK
}

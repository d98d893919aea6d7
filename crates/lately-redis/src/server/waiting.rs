//! Clients that wait for a plan while the server goes on.
//!
//! One thread plans, one promise after the other: a plan keeps a processor busy, and the server needs one itself.
//!
//! ```text
//! command -> Failure::Unplanned -> the client is blocked -> QUEUE -> planner -> unblocked with Planned -> run_again
//!                                       it disconnects ------^ leaves
//! ```

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::raw;

use super::call::Command;
use super::{OK, api, guarded, reply};
use crate::failure::Failure;
use crate::promise::{Planned, Promise};
use crate::queue::Queue;

/// Promises that may wait for the planner. The last one waits for half a minute if they are the usual ones.
const MOST: usize = 256;

static QUEUE: Mutex<Queue<Promise, Waiting>> = Mutex::new(Queue::new());
/// Something was put into the queue.
static ASKED: Condvar = Condvar::new();

/// A panic leaves the queue whole.
fn queue() -> MutexGuard<'static, Queue<Promise, Waiting>> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client that waits. Whoever takes it out of the queue ends its waiting, so that it is ended once.
#[derive(PartialEq, Eq)]
struct Waiting(*mut raw::BlockedClient);

// SAFETY: the server's documentation has it that other threads end the waiting, which is all that is done with it.
unsafe impl Send for Waiting {}

impl Waiting {
    fn end_with(self, planned: Planned) {
        self.end(Box::into_raw(Box::new(planned)));
    }

    fn end_unanswered(self) {
        self.end(ptr::null_mut());
    }

    fn end(self, planned: *mut Planned) {
        // SAFETY: the waiting was begun and not ended. `free` frees what it is ended with.
        unsafe { api!(UnblockClient(self.0, planned.cast())) };
    }
}

/// Makes the client wait for the plan, and then runs its command again.
pub(super) fn run_again_after<C: Command>(ctx: *mut raw::Ctx, promise: Promise) -> Result<(), Failure> {
    start_planner().map_err(|error| {
        Failure::new(format!(
            "the thread that plans cannot be started ({error}): allow the server more threads or memory, and send the command again"
        ))
    })?;
    let mut queue = queue();
    if queue.len() >= MOST && !queue.has(&promise) {
        return Err(Failure::TryAgain(format!(
            "{} other promises wait to be planned, and at most {MOST} may: send the command again in some seconds",
            queue.len()
        )));
    }
    // SAFETY: the context is that of a running command whose client may wait; 0 is for as long as it takes.
    let client = unsafe {
        let client = api!(BlockClient(ctx, Some(run_again::<C>), None, Some(free), 0));
        api!(SetDisconnectCallback(client, Some(leave)));
        client
    };
    queue.join(promise, Waiting(client));
    ASKED.notify_one();
    Ok(())
}

/// When it is first needed: most servers get by with the plans that are made when the module is loaded.
fn start_planner() -> io::Result<()> {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    // The server runs one command at a time, so nobody else starts it now.
    if !IS_STARTED.load(Ordering::Relaxed) {
        thread::Builder::new().name("apbf-planner".into()).spawn(plan_for_ever)?;
        IS_STARTED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn plan_for_ever() {
    loop {
        let promise = next_promise();
        let failed = || Err(Failure::new("the planner failed at this promise; the server's log may say why"));
        let plan = guarded(|| promise.plan()).unwrap_or_else(failed);
        let waiting = queue().finish();
        for client in waiting {
            client.end_with(Planned { promise, plan: plan.clone() });
        }
    }
}

fn next_promise() -> Promise {
    let mut queue = queue();
    loop {
        if let Some(promise) = queue.begin() {
            return promise;
        }
        queue = ASKED.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// What the server calls when a client that waits has gone.
extern "C" fn leave(_ctx: *mut raw::Ctx, client: *mut raw::BlockedClient) {
    let client = Waiting(client);
    let was_waiting = queue().leave(&client);
    if was_waiting {
        client.end_unanswered();
    }
}

/// What the server calls when it needs no more what the waiting was ended with.
extern "C" fn free(_ctx: *mut raw::Ctx, planned: *mut c_void) {
    // SAFETY: made by `end_with`, and the server has no other; it does not call this for null.
    drop(unsafe { Box::from_raw(planned.cast::<Planned>()) });
}

/// What the server calls when the waiting is over. The command is run as any module runs one, so the server looks again
/// whether the key is still its own: a slot of a cluster may have moved meanwhile. Within, nobody waits a second time.
///
/// Nothing may be written while writes are paused: the server ends when something is. It holds back the commands that
/// clients send then, but not this, which it let through before.
extern "C" fn run_again<C: Command>(ctx: *mut raw::Ctx, argv: *mut *mut raw::String, argc: c_int) -> c_int {
    let try_again = |message: &str| reply::send(ctx, Err(Failure::TryAgain(message.into())));
    // SAFETY: takes nothing, and only looks.
    let are_writes_paused = unsafe { api!(AvoidReplicaTraffic()) } != 0;
    if are_writes_paused && C::DESCRIPTION.key.is_some() {
        try_again("writes were paused while the filter was planned: send the command again");
        return OK;
    }
    // SAFETY: who is answered was waiting until `end_with`, and the server frees that after this.
    let planned = unsafe { &*api!(GetBlockedClientPrivateData(ctx)).cast::<Planned>() };
    // SAFETY: the server hands over the command's words, the name first. The format: what it replicates is replicated, replies
    // are of the client's version of the protocol, and an array of words follows with its length. The reply is freed once
    // it is passed on.
    planned.at_hand(|| unsafe {
        let name = api!(StringPtrLen(*argv, ptr::null_mut()));
        let arguments = usize::try_from(argc).unwrap_or(1) - 1;
        let reply = api!(Call(ctx, name, c"!0v".as_ptr(), argv.add(1), arguments));
        if reply.is_null() {
            // The server's own answer would say where the key is now, which a module is not told.
            try_again(
                "the slot moved, or the cluster went down, while the filter was planned: send the command again",
            );
        } else {
            api!(ReplyWithCallReply(ctx, reply));
            api!(FreeCallReply(reply));
        }
    });
    OK
}

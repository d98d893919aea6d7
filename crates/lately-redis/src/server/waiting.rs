//! Clients that are blocked until their filter is planned, while the server serves other clients.
//!
//! One thread plans the promises one after the other: planning keeps a core busy, and the server needs one
//! too.
//!
//! ```text
//! command -> Failure::Unplanned -> client is blocked -> QUEUE -> planner -> client is unblocked -> run_again
//!                                client disconnects ------^ leave
//! ```

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::raw::{self, OK};

use super::api::{api, catch_panic};
use super::command::Command;
use super::reply;
use crate::failure::Failure;
use crate::promise::{Planned, Promise};
use crate::queue::Queue;

/// The maximum number of promises in the queue. With typical promises, the last one waits for half a minute.
const MOST: usize = 256;

static QUEUE: Mutex<Queue<Promise, Waiting>> = Mutex::new(Queue::new());
/// Signalled when a client joins the queue.
static ASKED: Condvar = Condvar::new();

/// Ignores poisoning: a panic does not leave the queue half changed.
fn queue() -> MutexGuard<'static, Queue<Promise, Waiting>> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A blocked client. The code that removes it from the queue unblocks it, so it is unblocked exactly once.
#[derive(PartialEq, Eq)]
struct Waiting(*mut raw::BlockedClient);

// SAFETY: other threads only call `UnblockClient` with it, which the server's documentation allows.
unsafe impl Send for Waiting {}

impl Waiting {
    fn end_with(self, planned: Planned) {
        self.end(Box::into_raw(Box::new(planned)));
    }

    fn end_unanswered(self) {
        self.end(ptr::null_mut());
    }

    fn end(self, planned: *mut Planned) {
        // SAFETY: the client was blocked and is not yet unblocked. `free` frees `planned`.
        unsafe { api!(UnblockClient(self.0, planned.cast())) };
    }
}

/// Blocks the client until the promise is planned, and then runs its command again.
pub(super) fn run_again_after<C: Command>(ctx: *mut raw::Ctx, promise: Promise) -> Result<(), Failure> {
    start_planner().map_err(|error| {
        Failure::new(format!(
            "the planner thread cannot be started ({error}): allow the server more threads or memory, then send the command again"
        ))
    })?;
    let mut queue = queue();
    if queue.len() >= MOST && !queue.has(&promise) {
        return Err(Failure::TryAgain(format!(
            "{} other promises are waiting to be planned, and the limit is {MOST}: send the command again in a few seconds",
            queue.len()
        )));
    }
    // SAFETY: the context belongs to a running command whose client may be blocked. 0 means no timeout.
    let client = unsafe {
        let client = api!(BlockClient(ctx, Some(run_again::<C>), None, Some(free), 0));
        api!(SetDisconnectCallback(client, Some(leave)));
        client
    };
    queue.join(promise, Waiting(client));
    ASKED.notify_one();
    Ok(())
}

/// Starts the planner thread when it is first needed. Most servers never need it: the default promise is
/// planned when the module is loaded.
fn start_planner() -> io::Result<()> {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    // The server runs one command at a time, so no other thread starts it now.
    if !IS_STARTED.load(Ordering::Relaxed) {
        thread::Builder::new().name("apbf-planner".into()).spawn(plan_for_ever)?;
        IS_STARTED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn plan_for_ever() {
    loop {
        let promise = next_promise();
        let failed = || Err(Failure::new("internal error in the planner: the server's log may say why"));
        let plan = catch_panic(|| promise.plan()).unwrap_or_else(failed);
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

/// The callback that the server calls when a blocked client has disconnected.
extern "C" fn leave(_ctx: *mut raw::Ctx, client: *mut raw::BlockedClient) {
    let client = Waiting(client);
    let was_waiting = queue().leave(&client);
    if was_waiting {
        client.end_unanswered();
    }
}

/// The callback that frees the private data of an unblocked client.
extern "C" fn free(_ctx: *mut raw::Ctx, planned: *mut c_void) {
    // SAFETY: `end_with` made the pointer, and the server does not use it after this call. The server does
    // not call this with null.
    drop(unsafe { Box::from_raw(planned.cast::<Planned>()) });
}

/// The callback that the server calls for an unblocked client. It runs the command again through the `Call`
/// function of the module API, so the server checks again that the key is in one of its slots: the slot may
/// have moved to another node meanwhile. A command that runs through `Call` cannot block a second time.
///
/// A write while writes are paused would abort the server. The server delays the commands that clients send
/// during a pause, but not this callback, because it accepted the command before.
extern "C" fn run_again<C: Command>(ctx: *mut raw::Ctx, argv: *mut *mut raw::String, argc: c_int) -> c_int {
    let try_again = |message: &str| reply::send(ctx, Err(Failure::TryAgain(message.into())));
    // SAFETY: the function takes no arguments and only reads the server's state.
    let are_writes_paused = unsafe { api!(AvoidReplicaTraffic()) } != 0;
    if are_writes_paused && C::DESCRIPTION.key.is_some() {
        try_again("writes were paused while the filter was planned: send the command again");
        return OK;
    }
    // SAFETY: the client was unblocked by `end_with`, so its private data is a `Planned`. The server frees it
    // after this callback.
    let planned = unsafe { &*api!(GetBlockedClientPrivateData(ctx)).cast::<Planned>() };
    // SAFETY: the server passes the words of the command, the name first. The arguments match the format: `!`
    // replicates what the command replicates, `0` replies in the client's version of the protocol, and `v` is
    // an array of words and its length. The reply is freed once, after it was passed on.
    planned.at_hand(|| unsafe {
        let name = api!(StringPtrLen(*argv, ptr::null_mut()));
        let arguments = usize::try_from(argc).unwrap_or(1) - 1;
        let reply = api!(Call(ctx, name, c"!0v".as_ptr(), argv.add(1), arguments));
        if reply.is_null() {
            // The server itself would reply where the key is now, but a module does not learn that.
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

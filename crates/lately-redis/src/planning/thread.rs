//! The thread that plans while clients are blocked. It plans one promise after the other: planning keeps a
//! core busy, and the server needs one too.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use lately::Promise;

use super::cache::{self, Planned};
use super::queue::Queue;
use crate::server::{Awaited, BlockedClient, Call, Failure, catch_panic};

/// The maximum number of promises in the queue. With typical promises, the last one waits for half a minute.
const MAX_PROMISES: usize = 256;

/// The code that removes a client from the queue unblocks it, so it is unblocked exactly once.
type Clients = Queue<Promise, BlockedClient<Planned>>;

static QUEUE: Mutex<Clients> = Mutex::new(Queue::new());
/// Signalled when a client joins the queue.
static JOINED: Condvar = Condvar::new();

/// Ignores poisoning: a panic does not leave the queue half changed.
fn queue() -> MutexGuard<'static, Clients> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Awaited for Planned {
    fn provide_to<T>(&self, command: impl FnOnce() -> T) -> T {
        self.keep_during(command)
    }

    fn stop_waiting(client: &BlockedClient<Self>) -> bool {
        queue().leave(client)
    }
}

/// Blocks the client until the promise is planned.
pub(super) fn block_until_planned(promise: &Promise, call: &Call<'_>) -> Result<(), Failure> {
    start().map_err(|error| {
        Failure::new(format!(
            "the planner thread cannot be started ({error}): allow the server more threads or memory, then send the command again"
        ))
    })?;
    let mut queue = queue();
    if queue.len() >= MAX_PROMISES && !queue.has(promise) {
        return Err(Failure::TryAgain(format!(
            "{} other promises are waiting to be planned, and the limit is {MAX_PROMISES}: send the command again in a few seconds",
            queue.len()
        )));
    }
    queue.join(*promise, call.block());
    JOINED.notify_one();
    Ok(())
}

/// Starts the thread when it is first needed. Most servers never need it: the default promise is planned when
/// the module is loaded.
fn start() -> io::Result<()> {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    // The server runs one command at a time, so no other thread starts it now.
    if !IS_STARTED.load(Ordering::Relaxed) {
        thread::Builder::new().name("apbf-planner".into()).spawn(plan_queued_promises)?;
        IS_STARTED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Never ends.
fn plan_queued_promises() {
    loop {
        let promise = next_promise();
        let failed = || Err(Failure::new("internal error in the planner: the server's log may say why"));
        let plan = catch_panic(|| cache::plan(&promise)).unwrap_or_else(failed);
        let waiting = queue().finish();
        for client in waiting {
            client.unblock(Planned { promise, plan: plan.clone() });
        }
    }
}

fn next_promise() -> Promise {
    let mut queue = queue();
    loop {
        if let Some(promise) = queue.begin() {
            return promise;
        }
        queue = JOINED.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

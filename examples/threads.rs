//! Several threads share one filter without a lock around it, and each order is new to exactly one of them.
//!
//! Run it: `cargo run -p lately-examples --bin threads`.
//! All four workers get all orders at the same time, as from a queue that delivers more than once. It prints
//! how many orders each worker was the first to see, and that no order was new twice or never.

use std::io::{Write as _, stdout};
use std::sync::{Barrier, mpsc};
use std::thread;

use anyhow::{Result, ensure};
use lately::Filter;

const WORKERS: usize = 4;
const ORDERS: usize = 20_000;

fn main() -> Result<()> {
    let seen = Filter::builder()
        .window((WORKERS * ORDERS) as u64)
        // After a false positive, an order would be new to no worker at all.
        .false_positive_rate(1e-9)
        // If threads check the same new item at the same time, exactly one of them is told that it is new.
        // Slices and blocks, which you would have to ask for, do not promise this.
        .build_shared()?;

    let start = Barrier::new(WORKERS);
    let (new_orders, results) = mpsc::channel();
    let mut first = [0; WORKERS];
    let mut times_new = vec![0; ORDERS];
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (seen, start, new_orders) = (&seen, &start, new_orders.clone());
            scope.spawn(move || {
                start.wait();
                for order in 0..ORDERS {
                    // Checks and inserts in one step. If your work can fail, insert after it instead, as
                    // `webhook_consumer.rs` does.
                    let seen_before = seen.check_or_insert(format!("order-{order}"));
                    if !seen_before && new_orders.send((worker, order)).is_err() {
                        return; // results are no longer received
                    }
                }
            });
        }
        // The results end when the last worker drops its sender, so this thread must not keep one.
        drop(new_orders);
        for (worker, order) in results {
            first[worker] += 1;
            times_new[order] += 1;
        }
    });

    let mut output = stdout().lock();
    for (worker, orders) in first.iter().enumerate() {
        writeln!(output, "worker {worker} was the first to see {orders} orders")?;
    }
    let (never, twice) = (count(&times_new, |times| times == 0), count(&times_new, |times| times > 1));
    ensure!(never == 0 && twice == 0, "{never} orders were never new, {twice} were new more than once");
    writeln!(output, "{} deliveries, and each of {ORDERS} orders was new exactly once", WORKERS * ORDERS)?;
    Ok(())
}

fn count(times_new: &[u32], is_wrong: impl Fn(u32) -> bool) -> usize {
    times_new.iter().filter(|&&times| is_wrong(times)).count()
}

//! Receives webhooks over HTTP and handles each event once, however often its sender delivers it.
//!
//! Run it: `cargo run -p lately-examples --bin webhook_consumer -- 127.0.0.1:8080 orders.jsonl`.
//! Deliver an event: `curl -i -H 'X-Event-Id: evt_1' -d '{"order":17}' http://127.0.0.1:8080`.
//! It appends the event to the file and prints `handled "evt_1"`. Deliver it again, and it prints
//! `known "evt_1"`. The answer is 200 both times. If an event cannot be handled, the answer is 500, so that
//! its sender tries again.
//!
//! The filter is in memory only: events delivered again after a restart are handled again. `restart.rs` shows
//! how to save a filter. Check the sender's signature before you trust an event id.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _, stdout};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, thread};

use anyhow::{Context as _, Result, ensure};
use lately::{Filter, SharedFilter};

const ONE_DAY: Duration = Duration::from_secs(24 * 60 * 60);
const EVENTS_PER_DAY: u64 = 1_000_000;
const MAX_REQUEST_BYTES: u64 = 1 << 20;

struct Consumer {
    seen: SharedFilter,
    turns: [Mutex<()>; 64],
    orders: PathBuf,
}

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (address, orders) =
        arguments.next().zip(arguments.next()).context("usage: webhook_consumer ADDRESS FILE")?;
    // A false positive drops a new event, so the rate is tiny. The filter takes 7 MiB.
    let filter = Filter::builder().time_window(ONE_DAY).capacity(EVENTS_PER_DAY).false_positive_rate(1e-9);
    let turns = [const { Mutex::new(()) }; 64];
    let consumer = Consumer { seen: filter.build_shared()?, turns, orders: orders.into() };
    let listener = TcpListener::bind(&*address.to_string_lossy()).context("cannot listen on ADDRESS")?;
    writeln!(stdout(), "listening on http://{}", listener.local_addr()?)?;
    thread::scope(|scope| {
        for connection in listener.incoming() {
            let answer =
                |connection| thread::Builder::new().spawn_scoped(scope, || consumer.answer(connection));
            if let Err(problem) = connection.and_then(answer) {
                // No event is lost: its sender gets no 200, so it tries again.
                eprintln!("dropped a connection: {problem}");
            }
        }
    });
    Ok(())
}

impl Consumer {
    fn answer(&self, mut connection: TcpStream) {
        let (status, report) = match read_event(&connection) {
            Err(problem) => ("400 Bad Request", format!("refused: {problem}")),
            Ok((id, body)) => match self.deliver(&id, &body) {
                Ok(true) => ("200 OK", format!("handled {id:?}")),
                Ok(false) => ("200 OK", format!("known {id:?}")),
                Err(problem) => ("500 Internal Server Error", format!("failed {id:?}: {problem}")),
            },
        };
        // If the answer does not arrive, the sender delivers the event again, and gets a 200 then.
        let _ = write!(connection, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let _ = writeln!(stdout(), "{report}");
    }

    /// Handles the event unless it is known. Returns whether it was new.
    fn deliver(&self, id: &str, body: &[u8]) -> Result<bool> {
        // Two deliveries of the same event at the same time take turns, so only the first one does the work.
        let turn = &self.turns[(self.seen.hash_of(id) % self.turns.len() as u64) as usize];
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.seen.advance_to(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64);
        if self.seen.contains(id) {
            return Ok(false);
        }
        // Remember the id only after its work has succeeded: a crash in between repeats the work when the
        // sender tries again. `check_or_insert` would be one call, but it remembers first, and a crash would
        // lose the event.
        self.handle(body)?;
        self.seen.insert(id);
        Ok(true)
    }

    /// The work. Replace it by your own.
    fn handle(&self, body: &[u8]) -> Result<()> {
        let mut orders = OpenOptions::new().append(true).create(true).open(&self.orders)?;
        orders.write_all(&[body, b"\n"].concat())?;
        Ok(orders.sync_data()?)
    }
}

/// Reads an event's id and body. This is just enough HTTP for an example; your web framework does it for you.
fn read_event(connection: &TcpStream) -> Result<(String, Vec<u8>)> {
    connection.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut request = BufReader::new(connection.take(MAX_REQUEST_BYTES));
    let lines = request.by_ref().lines().take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
    let head = lines.collect::<Result<Vec<_>, _>>()?;
    let header = |name: &str| {
        let mut headers = head.iter().filter_map(|line| line.split_once(':'));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let length: u64 = header("Content-Length").context("no Content-Length")?.parse()?;
    let mut body = Vec::new();
    request.take(length).read_to_end(&mut body)?;
    ensure!(!body.is_empty() && body.len() as u64 == length, "the body is empty, cut off or too long");
    let id = header("X-Event-Id").filter(|id| !id.is_empty()).context("no X-Event-Id")?;
    Ok((id.to_string(), body))
}

//! Answers requests, one thread for each connection.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::pages;
use super::request::{self, Patient, Refusal};
use crate::failure::Failure;

/// A browser opens six connections; after many more, others wait until one ends.
const MOST_CONNECTIONS: usize = 64;
/// A request takes at most this long, and so does its answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a client may still be sending when it gets its answer.
const LEFT_OVER: u64 = 1 << 20;
/// The page loads its own files only, and runs in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static CONNECTIONS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn serve(listener: &TcpListener, port: u16) -> Result<(), Failure> {
    for stream in listener.incoming() {
        // The other side is gone already, or there are too many open files: the next one may fare better.
        let Ok(stream) = stream else {
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        while CONNECTIONS.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
            thread::sleep(Duration::from_millis(10));
        }
        CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        let answering = thread::Builder::new().spawn(move || {
            // What fails here is the connection's end, and nobody else's concern.
            let _answered = answer(stream, port);
            CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
        });
        if answering.is_err() {
            CONNECTIONS.fetch_sub(1, Ordering::Relaxed);
        }
    }
    Err(Failure::other("the server has ended"))
}

fn answer(mut stream: TcpStream, port: u16) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(head) = request::read(&mut Patient::new(&stream, PATIENCE)) else { return Ok(()) };
    let found = head.and_then(|head| {
        let path = request::path(&head, port)?;
        Ok(pages::at(path))
    });
    let plain = "text/plain; charset=utf-8";
    let (status, kind, content) = match found {
        Ok(Some(page)) => ("200 OK", page.kind, page.content),
        Ok(None) => ("404 Not Found", plain, &b"there is no such file here; the page is at /\n"[..]),
        Err(Refusal::Method) => ("405 Method Not Allowed", plain, &[][..]),
        Err(Refusal::Host) => (
            "421 Misdirected Request",
            plain,
            &b"this server answers only to its own address: use the one that `lately explore` printed\n"[..],
        ),
        Err(Refusal::TooLong) => {
            ("431 Request Header Fields Too Large", plain, &b"the request is too long\n"[..])
        }
        Err(Refusal::NotHttp) => ("400 Bad Request", plain, &b"this is not an HTTP request\n"[..]),
    };
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\n{allow}Content-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
         Cache-Control: no-cache\r\nConnection: close\r\n\r\n",
        content.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(content)?;
    // A connection that is closed while data waits in it is reset, and the client may lose the answer.
    stream.shutdown(Shutdown::Write)?;
    io::copy(&mut Patient::new(&stream, PATIENCE).take(LEFT_OVER), &mut io::sink())?;
    Ok(())
}

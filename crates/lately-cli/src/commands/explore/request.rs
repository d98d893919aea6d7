//! Reads a request, and decides whether it is answered.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A longer head is no request for this page.
const LONGEST: usize = 16 * 1024;

/// Why a request gets no file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    NotHttp,
    TooLong,
    /// Only GET is answered.
    Method,
    /// The request was meant for another host: a page elsewhere may have sent it.
    Host,
}

/// A connection whose reads all together take at most a time: one that sends a byte now and then keeps no thread busy.
#[derive(Debug)]
pub(super) struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Patient<'a> {
    pub(super) fn new(stream: &'a TcpStream, patience: Duration) -> Self {
        Self { stream, until: Instant::now() + patience }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// Reads the head of a request up to the empty line. Returns `None` if the other side has closed or says nothing.
pub(super) fn read(stream: &mut impl Read) -> Option<Result<Vec<u8>, Refusal>> {
    let mut head = Vec::new();
    let mut part = [0; 2048];
    loop {
        match stream.read(&mut part) {
            Ok(0) => return (!head.is_empty()).then_some(Err(Refusal::NotHttp)),
            Ok(length) => head.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            return Some(Ok(head));
        }
        if head.len() > LONGEST {
            return Some(Err(Refusal::TooLong));
        }
    }
}

/// Returns the path that a request asks for.
pub(super) fn path(head: &[u8], port: u16) -> Result<&str, Refusal> {
    let head = str::from_utf8(head).map_err(|_| Refusal::NotHttp)?;
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::NotHttp);
    };
    let mut hosts =
        lines.filter_map(|line| line.split_once(':')).filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    // One Host exactly. A name that leads to 127.0.0.1 is not enough: its owner could lead it there (DNS rebinding).
    match (hosts.next(), hosts.next()) {
        (Some((_, host)), None) if is_ours(host.trim(), port) => {}
        _ => return Err(Refusal::Host),
    }
    if method != "GET" {
        return Err(Refusal::Method);
    }
    Ok(target.split(['?', '#']).next().unwrap_or_default())
}

fn is_ours(host: &str, port: u16) -> bool {
    let with_port = |name: &str| host.eq_ignore_ascii_case(&format!("{name}:{port}"));
    with_port("127.0.0.1") || with_port("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str) -> Result<&str, Refusal> {
        path(head.as_bytes(), 8080)
    }

    #[test]
    fn only_get_for_this_host_is_answered() {
        assert_eq!(asked("GET /main.js?x=1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"), Ok("/main.js"));
        assert_eq!(asked("GET / HTTP/1.1\r\nAccept: *\r\nhost:LOCALHOST:8080\r\n\r\n"), Ok("/"));
        for host in
            ["evil.example:8080", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8080.evil.example", "", "localhost"]
        {
            assert_eq!(
                asked(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")),
                Err(Refusal::Host),
                "{host}"
            );
        }
        assert_eq!(asked("GET / HTTP/1.1\r\n\r\n"), Err(Refusal::Host));
        let two = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nHost: evil.example\r\n\r\n";
        assert_eq!(asked(two), Err(Refusal::Host));
        for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get"] {
            let head = format!("{method} / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
            assert_eq!(path(head.as_bytes(), 8080), Err(Refusal::Method), "{method}");
        }
        for garbage in ["", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n", "\u{1}\u{2}\r\n\r\n"]
        {
            assert_eq!(asked(garbage), Err(Refusal::NotHttp), "{garbage}");
        }
    }

    #[test]
    fn clients_that_send_a_byte_now_and_then_are_left() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let sending = std::thread::spawn(move || {
            while io::Write::write_all(&mut client, b"G").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert!(read(&mut Patient::new(&stream, Duration::from_millis(300))).is_none());
        drop(stream);
        sending.join().unwrap();
    }

    #[test]
    fn heads_end_or_are_refused() {
        assert!(read(&mut &b""[..]).is_none());
        assert_eq!(read(&mut &b"GET / HT"[..]), Some(Err(Refusal::NotHttp)));
        assert_eq!(read(&mut &b"GET / HTTP/1.1\r\n\r\n"[..]).unwrap().unwrap().len(), 18);
        let endless = vec![b'a'; LONGEST * 2];
        assert_eq!(read(&mut &endless[..]), Some(Err(Refusal::TooLong)));
    }
}

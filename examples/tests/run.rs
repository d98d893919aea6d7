//! Runs every program as its users do and checks what it prints.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WEBHOOK_CONSUMER: &str = env!("CARGO_BIN_EXE_webhook_consumer");
const LOG_FOLLOWER: &str = env!("CARGO_BIN_EXE_log_follower");
const THREADS: &str = env!("CARGO_BIN_EXE_threads");
const RESTART: &str = env!("CARGO_BIN_EXE_restart");

/// Starts a program with nothing in its environment.
fn start(program: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Runs a program to its end. The input must be short enough for a pipe.
fn run(program: &str, arguments: &[&str], input: &str) -> Output {
    let mut child = start(program, arguments);
    // A program that fails early does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs a program that must succeed, and returns its output.
#[track_caller]
fn output_of(program: &str, arguments: &[&str], input: &str) -> String {
    let output = run(program, arguments, input);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Runs a program that must fail, and returns its error message.
#[track_caller]
fn error_of(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments, "");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("Error: "), "{error}");
    error
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn next_line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim_end().to_string()
}

/// An empty directory of the test's own.
fn empty_directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

/// A running webhook consumer on a free port. It is stopped when the test ends, also when it fails.
struct Consumer {
    child: Child,
    address: String,
    reports: BufReader<ChildStdout>,
}

impl Consumer {
    fn start(orders: &Path) -> Self {
        let mut child = start(WEBHOOK_CONSUMER, &["127.0.0.1:0", orders.to_str().unwrap()]);
        let mut reports = BufReader::new(child.stdout.take().unwrap());
        let greeting = next_line(&mut reports);
        let address = greeting.strip_prefix("listening on http://").unwrap().to_string();
        Self { child, address, reports }
    }

    /// Sends a whole request, and returns the status of the answer and the line that the consumer prints.
    fn send(&mut self, request: &str) -> (u16, String) {
        let status = Delivery::start(&self.address, request).finish();
        (status, next_line(&mut self.reports))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn event(id: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /hooks HTTP/1.1\r\nHost: example\r\nX-Event-Id: {id}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// A request of which all but the last byte has been sent.
struct Delivery {
    connection: TcpStream,
    last_byte: u8,
}

impl Delivery {
    fn start(address: &str, request: &str) -> Self {
        let mut connection = TcpStream::connect(address).unwrap();
        let (&last_byte, others) = request.as_bytes().split_last().unwrap();
        connection.write_all(others).unwrap();
        Self { connection, last_byte }
    }

    /// Sends the last byte and returns the status of the answer.
    fn finish(mut self) -> u16 {
        self.connection.write_all(&[self.last_byte]).unwrap();
        let mut answer = String::new();
        self.connection.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
        answer.strip_prefix("HTTP/1.1 ").unwrap()[..3].parse().unwrap()
    }
}

#[test]
fn webhook_consumer_handles_an_event_once_if_it_is_delivered_twice() {
    let orders = empty_directory("delivered_twice").join("orders.jsonl");
    let mut consumer = Consumer::start(&orders);
    let report = |what: &str| (200, what.to_string());
    assert_eq!(consumer.send(&event("evt_1", r#"{"order":17}"#)), report(r#"handled "evt_1""#));
    assert_eq!(consumer.send(&event("evt_1", r#"{"order":17}"#)), report(r#"known "evt_1""#));
    // Only the id counts. The name of its header may be written in upper or lower case.
    let same_body = event("evt_2", r#"{"order":17}"#).replace("X-Event-Id", "x-event-ID");
    assert_eq!(consumer.send(&same_body), report(r#"handled "evt_2""#));
    assert_eq!(fs::read_to_string(&orders).unwrap(), "{\"order\":17}\n{\"order\":17}\n");
}

#[test]
fn webhook_consumer_handles_two_events_at_the_same_time() {
    let orders = empty_directory("two_events").join("orders.jsonl");
    let consumer = Consumer::start(&orders);
    // The second event arrives and is answered while the first one is still arriving.
    let first = Delivery::start(&consumer.address, &event("evt_1", "first"));
    let second = Delivery::start(&consumer.address, &event("evt_2", "second"));
    assert_eq!(second.finish(), 200);
    assert_eq!(fs::read_to_string(&orders).unwrap(), "second\n");
    assert_eq!(first.finish(), 200);
    assert_eq!(fs::read_to_string(&orders).unwrap(), "second\nfirst\n");
}

#[test]
fn webhook_consumer_handles_an_event_once_if_many_connections_deliver_it_at_the_same_time() {
    const EVENTS: usize = 10;
    const DELIVERIES: usize = 8;
    let orders = empty_directory("same_event").join("orders.jsonl");
    let mut consumer = Consumer::start(&orders);
    for number in 0..EVENTS {
        let request = event(&format!("evt_{number}"), &format!("order {number}"));
        let deliveries = [(); DELIVERIES].map(|()| Delivery::start(&consumer.address, &request));
        thread::scope(|scope| {
            let answers = deliveries.map(|delivery| scope.spawn(|| delivery.finish()));
            assert_eq!(answers.map(|answer| answer.join().unwrap()), [200; DELIVERIES]);
        });
        let reports = [(); DELIVERIES].map(|()| next_line(&mut consumer.reports));
        assert_eq!(reports.iter().filter(|report| report.starts_with("handled")).count(), 1, "{reports:?}");
    }
    let expected: Vec<String> = (0..EVENTS).map(|number| format!("order {number}")).collect();
    assert_eq!(fs::read_to_string(&orders).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn webhook_consumer_handles_an_event_again_after_a_failure() {
    let directory = empty_directory("failed_handling").join("missing");
    let orders = directory.join("orders.jsonl");
    let mut consumer = Consumer::start(&orders);
    for _ in 0..2 {
        let (status, report) = consumer.send(&event("evt_1", "order 17"));
        assert_eq!(status, 500);
        assert!(report.starts_with(r#"failed "evt_1": "#), "{report}");
    }
    fs::create_dir(&directory).unwrap();
    assert_eq!(consumer.send(&event("evt_1", "order 17")), (200, r#"handled "evt_1""#.to_string()));
    assert_eq!(consumer.send(&event("evt_1", "order 17")), (200, r#"known "evt_1""#.to_string()));
    assert_eq!(fs::read_to_string(&orders).unwrap(), "order 17\n");
}

#[test]
fn webhook_consumer_refuses_incomplete_events() {
    let orders = empty_directory("not_an_event").join("orders.jsonl");
    let mut consumer = Consumer::start(&orders);
    let whole = event("evt_1", "order 17");
    let refused = |why: &str| (400, format!("refused: {why}"));
    assert_eq!(consumer.send(&whole.replace("X-Event-Id", "X-Other")), refused("no X-Event-Id"));
    assert_eq!(consumer.send(&whole.replace("evt_1", " ")), refused("no X-Event-Id"));
    assert_eq!(consumer.send("GET / HTTP/1.1\r\nHost: example\r\n\r\n"), refused("no Content-Length"));
    // Connections that break: in the id, after the id, and in the body.
    for end in [whole.find("t_1").unwrap(), whole.find("\r\nContent").unwrap(), whole.len() - 1] {
        let mut connection = TcpStream::connect(&consumer.address).unwrap();
        connection.write_all(&whole.as_bytes()[..end]).unwrap();
        drop(connection);
        let report = next_line(&mut consumer.reports);
        assert!(report.starts_with("refused: "), "{report}");
    }
    assert!(!orders.exists());
    assert_eq!(consumer.send(&whole), (200, r#"handled "evt_1""#.to_string()));
}

#[test]
fn webhook_consumer_explains_its_arguments() {
    assert!(error_of(WEBHOOK_CONSUMER, &[]).contains("ADDRESS FILE"));
    assert!(error_of(WEBHOOK_CONSUMER, &["nowhere", "orders.jsonl"]).contains("cannot listen on ADDRESS"));
}

#[test]
fn log_follower_prints_new_lines_immediately_and_repeated_lines_not_at_all() {
    let mut child = start(LOG_FOLLOWER, &[]);
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    // Each line must come out before the next one goes in.
    input.write_all(b"disk full\n").unwrap();
    assert_eq!(next_line(&mut lines), "disk full");
    input.write_all(b"disk full\nretrying\n").unwrap();
    assert_eq!(next_line(&mut lines), "retrying");
    // The last line has no end.
    input.write_all(b"retrying\n\xff not UTF-8\n\xff not UTF-8\ndisk full\ndone").unwrap();
    drop(input);
    let mut others = Vec::new();
    lines.read_to_end(&mut others).unwrap();
    assert_eq!(others, b"\xff not UTF-8\ndone\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn log_follower_compares_lines_without_their_first_fields() {
    let lines = ["12:00:00 web1 disk full", "12:00:07 web2 disk full", "12:00:08 web2 disk empty"];
    // These lines have at most two fields, so they are compared as a whole.
    let short_lines = ["web1 stopped", "web2 stopped", "web2 stopped", "stopped", "stopped", "", ""];
    let input = lines.iter().chain(&short_lines).flat_map(|line| [line, "\n"]).collect::<String>();
    let output = output_of(LOG_FOLLOWER, &["600", "2"], &input);
    let expected = [lines[0], lines[2], "web1 stopped", "web2 stopped", "stopped", ""];
    assert_eq!(output.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn log_follower_prints_a_line_again_after_the_span() {
    // More lines than any machine reads in a millisecond.
    const ENOUGH_LINES: usize = 10_000_000;
    let mut child = start(LOG_FOLLOWER, &["0.001"]);
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let came_again = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut left = ENOUGH_LINES;
            while left > 0 && !came_again.load(Ordering::Relaxed) {
                input.write_all(&b"disk full\n".repeat(100)).unwrap();
                left -= 100;
            }
            drop(input);
        });
        let first_two = [next_line(&mut lines), next_line(&mut lines)];
        came_again.store(true, Ordering::Relaxed);
        lines.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(first_two, ["disk full", "disk full"]);
    });
    assert!(child.wait().unwrap().success());
}

#[test]
fn log_follower_ends_when_its_output_is_closed() {
    let mut child = start(LOG_FOLLOWER, &[]);
    drop(child.stdout.take());
    // The input stays open: only the output can end the program.
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"disk full\n").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn log_follower_explains_its_arguments() {
    assert!(error_of(LOG_FOLLOWER, &["ten"]).contains("SECONDS"));
    assert!(error_of(LOG_FOLLOWER, &["600", "-1"]).contains("FIELDS"));
    for impossible in ["0", "-1", "nan", "1e300"] {
        error_of(LOG_FOLLOWER, &[impossible]);
    }
}

#[test]
fn threads_count_each_order_exactly_once() {
    let output = output_of(THREADS, &[], "");
    let lines: Vec<&str> = output.lines().collect();
    let (conclusion, workers) = lines.split_last().unwrap();
    assert_eq!(*conclusion, "80000 deliveries, and each of 20000 orders was new exactly once");
    assert_eq!(workers.len(), 4);
    let orders = |line: &&str| line.split(' ').nth_back(1).unwrap().parse::<u64>().unwrap();
    assert_eq!(workers.iter().map(orders).sum::<u64>(), 20_000, "{output}");
}

#[test]
fn restart_knows_the_records_of_the_first_run() {
    let path = empty_directory("second_run").join("seen.lately");
    let path = path.to_str().unwrap();
    assert_eq!(output_of(RESTART, &[path], "order-1\norder-2\n"), "order-1\norder-2\n2 new, 0 known\n");
    assert_eq!(output_of(RESTART, &[path], "order-1\norder-2\n"), "0 new, 2 known\n");
    assert_eq!(output_of(RESTART, &[path], "order-2\norder-3\norder-3\n"), "order-3\n1 new, 2 known\n");
}

#[test]
fn restart_refuses_a_damaged_file_and_leaves_it_alone() {
    let path = empty_directory("damaged").join("seen.lately");
    let argument = path.to_str().unwrap();
    output_of(RESTART, &[argument], "order-1\n");
    let whole = fs::read(&path).unwrap();
    let middle = whole.len() / 2;
    let flipped = [&whole[..middle], &[!whole[middle]], &whole[middle + 1..]].concat();
    for damaged in [&whole[..whole.len() - 1], &flipped, b"", b"not a filter"] {
        fs::write(&path, damaged).unwrap();
        let error = error_of(RESTART, &[argument]);
        assert!(
            error.contains(argument) && error.contains("Restore it from a copy, or remove it"),
            "{error}"
        );
        assert!(error.contains("Caused by"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(output_of(RESTART, &[argument], "order-1\n"), "order-1\n1 new, 0 known\n");
}

#[test]
fn restart_fails_before_it_prints_if_it_cannot_save() {
    let directory = empty_directory("cannot_save");
    let missing = directory.join("missing").join("seen.lately");
    for path in [&missing, &directory] {
        let output = run(RESTART, &[path.to_str().unwrap()], "order-1\n");
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()), "{error}");
        // Nothing is damaged here, so nothing should be removed.
        assert!(error.contains(path.to_str().unwrap()) && !error.contains("remove it"), "{error}");
    }
    assert!(error_of(RESTART, &[]).contains("restart FILE"));
}

//! Throughput: all contenders run in one process and take turns, round by round; the results are medians of
//! the rounds. Answers are checked before anything is timed. Absolute times on a shared machine mean little;
//! the ratios are the result: of the times of each round, as a median with a range.

mod bursts;
mod contenders;
mod elastic;
pub(crate) mod numbers;
mod pauses;
mod ratios;
mod task;
mod threads;

use std::collections::BTreeMap;
use std::time::Instant;

use contenders::{Contender, contenders};
use ratios::{Ratio, median};
use serde_json::{Value, json};
use task::Task;

/// One measured figure.
struct Figure {
    name: String,
    task: &'static str,
    window: u64,
    /// The nanoseconds per key of each round.
    times: Vec<f64>,
    /// The part of these that is work between calls.
    upkeep_ns: f64,
    memory_bytes: u64,
}

/// Measures only what threads do to each other.
const THREADS: &str = "threads";
/// Measures only elastic windows.
const ELASTIC: &str = "elastic";

/// Times the contenders whose name contains `only`, and the one that the table compares with.
pub(crate) fn run(is_quick: bool, is_json: bool, only: &str) {
    let windows: &[u64] =
        if is_quick { &[1_000_000, 10_000_000] } else { &[1_000_000, 10_000_000, 50_000_000] };
    let rounds = if is_quick { 15 } else { 41 };
    let threads = || windows.iter().flat_map(|&window| threads::measure(window, rounds)).collect::<Vec<_>>();
    if only == THREADS {
        println!("{:#}", json!({ "threads": threads() }));
        return;
    }
    if only == ELASTIC {
        println!("{:#}", elastic::measure(rounds));
        return;
    }
    let mut figures = Vec::new();
    for &window in windows {
        eprintln!("window {window}: filling and checking");
        let mut contenders = contenders(window, only);
        contenders.iter_mut().for_each(|contender| check_answers(contender.as_mut(), window));
        // Strings come last: the queries before them need numbers as known keys.
        let tasks = [Task::CheckAndInsertBatch, Task::Miss, Task::Hit, Task::CheckAndInsertStringBatch];
        for task in tasks {
            eprintln!("window {window}: {}", task.name());
            figures.extend(measure(&mut contenders, window, task, rounds));
        }
    }
    // Measurements that do not compare contenders.
    let alone = only.is_empty().then(|| {
        eprintln!("bursts");
        let bursts = bursts::measure();
        let threads = threads();
        eprintln!("pauses");
        let pauses = pauses::measure(if is_quick { 1_000_000 } else { 10_000_000 });
        json!({ "bursts": bursts, "threads": threads, "pauses": pauses })
    });
    if is_json {
        let figures: Vec<Value> = figures.iter().map(|figure| as_json(figure, &figures)).collect();
        println!("{:#}", json!({ "figures": figures, "alone": alone }));
    } else {
        print_table(&figures);
        if let Some(alone) = alone {
            println!("{alone:#}");
        }
    }
}

/// Inserts new keys and checks the answers. Keys are consecutive numbers; their hashes spread them.
fn check_answers(contender: &mut dyn Contender, window: u64) {
    let first = contender.keys_inserted();
    let keys: Vec<u64> = (first..first + 10_000).collect();
    let mut seen = vec![false; keys.len()];
    contender.check_and_insert_batch(&keys, &mut seen);
    let mistaken = seen.iter().filter(|&&seen| seen).count();
    if contender.answers() {
        assert!(
            mistaken <= most_mistaken(contender, keys.len()),
            "{}: {mistaken} of 10000 new keys are reported, but the promised rate is {:e}",
            contender.name(),
            contender.rate()
        );
        assert!(keys.iter().all(|&key| contender.contains(key)), "{}: a false negative", contender.name());
        let oldest = (first + 10_000).saturating_sub(window.min(first));
        assert!(
            (oldest..oldest + 1_000).all(|key| contender.contains(key)),
            "{}: a key of the window is forgotten",
            contender.name()
        );
    }
}

/// Returns the most new keys that a contender may report: four times as many as promised, and a few for
/// chance.
fn most_mistaken(contender: &dyn Contender, keys: usize) -> usize {
    (4.0 * contender.rate() * keys as f64) as usize + 3
}

/// The number of keys in a turn, which are timed together.
const KEYS: u64 = 50_000;
/// Returns the number of turns before each turn whose time counts. They bring the contender's memory back
/// into the cache, which the other contenders have used since, as if nothing else were running. Of the 74 000
/// rows of a window of a million, one in 3000 is still cold then (after 4 turns, one in 15). Larger windows
/// fit into no cache.
fn warm_ups(window: u64) -> u64 {
    if window <= 1_000_000 { 12 } else { 4 }
}

fn measure(contenders: &mut [Box<dyn Contender>], window: u64, task: Task, rounds: usize) -> Vec<Figure> {
    let mut contenders: Vec<_> =
        contenders.iter_mut().filter(|contender| contender.takes_part(task)).collect();
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    let mut seen = vec![false; KEYS as usize];
    let turns = warm_ups(window) + 1;
    for round in 0..rounds as u64 {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let last = (round * turns..(round + 1) * turns).map(|turn| {
                contender.make_room(KEYS);
                let keys = keys_of(&***contender, task, window, turn);
                time_keys(&mut ***contender, task, &keys, &mut seen)
            });
            times.extend(last.last());
        }
    }
    let named = contenders.iter().zip(times);
    let figure = |(contender, mut times): (&&mut Box<dyn Contender>, Vec<f64>)| {
        let upkeep_ns = if task.inserts() { contender.upkeep_ns() } else { 0.0 };
        times.iter_mut().for_each(|time| *time += upkeep_ns);
        Figure {
            name: contender.name().into(),
            task: task.name(),
            window,
            times,
            upkeep_ns,
            memory_bytes: contender.memory_bytes(),
        }
    };
    named.map(figure).collect()
}

/// Returns the keys of a turn: known keys for hits, new keys otherwise.
fn keys_of(contender: &dyn Contender, task: Task, window: u64, turn: u64) -> Vec<u64> {
    let first = contender.keys_inserted();
    match task {
        Task::Miss => (0..KEYS).map(|i| (1 << 50) + turn * KEYS + i).collect(),
        // Known keys of all ages; the step is a prime.
        Task::Hit => (turn * KEYS..(turn + 1) * KEYS).map(|i| first - 1 - i * 7_919 % (window / 2)).collect(),
        _ => (first..first + KEYS).collect(),
    }
}

/// Returns the nanoseconds per key.
fn time_keys(contender: &mut dyn Contender, task: Task, keys: &[u64], seen: &mut [bool]) -> f64 {
    let strings: Vec<[u8; 24]> = match task {
        Task::CheckAndInsertStringBatch => keys.iter().map(|key| string_of(*key)).collect(),
        _ => Vec::new(),
    };
    let start = Instant::now();
    let reported = match task {
        Task::CheckAndInsertBatch => {
            contender.check_and_insert_batch(keys, seen);
            None
        }
        Task::CheckAndInsertStringBatch => {
            contender.check_and_insert_strings(&strings, seen);
            None
        }
        Task::Miss | Task::Hit => Some(contender.count_contained(keys)),
    };
    let ns = start.elapsed().as_nanos() as f64 / keys.len() as f64;
    let reported = reported.unwrap_or_else(|| seen.iter().filter(|&&seen| seen).count());
    let is_right = match task {
        Task::Hit => reported == keys.len(),
        _ => reported <= most_mistaken(contender, keys.len()),
    };
    assert!(is_right || !contender.answers(), "{}: {reported} of {}", contender.name(), keys.len());
    ns
}

/// Returns a key as 24 bytes of text.
fn string_of(key: u64) -> [u8; 24] {
    let mut string = *b"order-000000000000000000";
    let mut rest = key;
    for digit in string[6..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    string
}

impl Figure {
    fn ns(&self) -> f64 {
        median(&self.times)
    }

    fn is_peer_of(&self, other: &Self) -> bool {
        (self.task, self.window) == (other.task, other.window)
    }
}

/// Returns a figure with the time of each peer relative to it.
fn as_json(figure: &Figure, all: &[Figure]) -> Value {
    let peers = all.iter().filter(|peer| peer.is_peer_of(figure) && peer.name != figure.name);
    let ratios: BTreeMap<&str, Value> =
        peers.map(|peer| (peer.name.as_str(), Ratio::new(&peer.times, &figure.times).to_json())).collect();
    json!({
        "name": figure.name,
        "operation": figure.task,
        "window": figure.window,
        "ns": figure.ns(),
        "upkeep_ns": figure.upkeep_ns,
        "memory_bytes": figure.memory_bytes,
        "ratio_to_peers": ratios,
    })
}

fn print_table(figures: &[Figure]) {
    let mut group = ("", 0);
    for figure in figures {
        if group != (figure.task, figure.window) {
            group = (figure.task, figure.window);
            println!(
                "\n{}, window {}: ns per key, and relative to rows of 64 bytes (median and range)",
                figure.task, figure.window
            );
        }
        let is_reference = |peer: &&Figure| peer.is_peer_of(figure) && peer.name == contenders::REFERENCE;
        let reference = figures.iter().find(is_reference).expect("the reference is always measured");
        let Ratio { median, low, high } = Ratio::new(&figure.times, &reference.times);
        println!("  {:<28} {:>8.1}  {median:>6.2}x  {low:.2} to {high:.2}", figure.name, figure.ns());
    }
}

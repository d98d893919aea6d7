//! The function of the fuzz target `module` (`fuzz/`): it accepts any bytes, and panics if a check fails. A test replays
//! the corpus through it.

mod server;

use std::sync::{Mutex, PoisonError};

use lately::HashFunction;
use server::{From, Part, Reply, Server};

const NAMES: [&str; 4] = ["a", "b", "c", "other"];
const COMMANDS: [&str; 17] = [
    "apbf.add",
    "apbf.addnx",
    "apbf.madd",
    "apbf.maddnx",
    "apbf.insert",
    "apbf.exists",
    "apbf.mexists",
    "apbf.age",
    "apbf.info",
    "apbf.card",
    "apbf.plan",
    "apbf.reserve",
    "apbf.snapshot",
    "apbf.load",
    "apbf.create",
    "apbf.patch",
    "apbf.apply",
];
const WORDS: [&str; 64] = [
    "SPAN",
    "OVERLOAD",
    "SLACK",
    "LAYOUT",
    "SHAPE",
    "SEED",
    "RATE",
    "WINDOW",
    "ERROR",
    "NX",
    "NOCREATE",
    "ITEMS",
    "CURSOR",
    "EVERY",
    "FIRST",
    "bins",
    "rows",
    "slices",
    "blocks",
    "inserts",
    "0",
    "1",
    "2",
    "3",
    "7",
    "10",
    "60",
    "100",
    "1000",
    "5000",
    "65536",
    "4294967295",
    "281474976710656",
    "281474976710657",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "+1",
    "0x10",
    "1e3",
    "0.01",
    "0.001",
    "1e-6",
    "0.1",
    "0.5",
    "1e-15",
    "9e-16",
    "1e-320",
    "1e400",
    "nan",
    "inf",
    "KEYED",
    ".5",
    "5.",
    "",
    " 1",
    "yes",
    "no",
    "template",
    "auto",
    "a* 0.01 50; b 0.1 7 SPAN 60",
    "100kb",
];
/// More than this no key may take, except where the input sets another limit.
const MOST_BYTES: u64 = 1 << 20;
const EPOCH_MS: i64 = 1_700_000_000_000;

/// Reads a fuzzer's bytes; zeros past the end.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        (*first).into()
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() % list.len()]
    }

    fn take(&mut self, most: usize) -> &'a [u8] {
        let len = (self.next() % (most + 1)).min(self.0.len());
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        taken
    }

    fn name(&mut self) -> Vec<u8> {
        self.of(&NAMES).into()
    }

    fn number(&mut self) -> u64 {
        let there = self.next() as u64;
        match there % 4 {
            0 => there / 4,
            1 => 1 << (there / 4),
            2 => (1_u64 << (there / 4)).wrapping_sub(1),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.next() as u8)),
        }
    }

    /// An argument that is nearly right, or not at all.
    fn word(&mut self) -> Vec<u8> {
        match self.next() % 8 {
            0..=3 => self.of(&WORDS).into(),
            4 => self.take(40).to_vec(),
            5 => self.number().to_string().into_bytes(),
            _ => format!("item-{}", self.next()).into_bytes(),
        }
    }
}

/// A server with a replica. Both have loaded the module of this process, whose configs they share.
struct Pair {
    primary: &'static mut Server,
    replica: &'static mut Server,
}

// SAFETY: one thread at a time uses them, because a lock is around them.
#[allow(unsafe_code)]
unsafe impl Send for Pair {}

/// Any commands, on any filters: none panics, what was just added is known, the replica has the same bits, and so has
/// what was saved and loaded, or rewritten and replayed.
pub fn commands(bytes: &[u8]) {
    static PAIR: Mutex<Option<Pair>> = Mutex::new(None);
    let mut pair = PAIR.lock().unwrap_or_else(PoisonError::into_inner);
    let pair = pair.get_or_insert_with(|| {
        let primary = Server::load();
        let replica = primary.another();
        Pair { primary, replica }
    });
    pair.reset();
    let mut bytes = Bytes(bytes);
    while !bytes.0.is_empty() {
        pair.step(&mut bytes);
        pair.check();
    }
}

impl Pair {
    fn reset(&mut self) {
        for server in [&mut *self.primary, &mut *self.replica] {
            server.names().iter().for_each(|name| server.delete(name));
            server.is_out_of_memory = false;
            server.put_other(b"other");
        }
        self.primary.reset_configs();
        self.primary.set_config("max-bytes-per-key", MOST_BYTES.to_string().as_bytes()).unwrap();
        server::set_now(EPOCH_MS);
    }

    /// Sends a command to the primary, and what comes of it to the replica.
    fn run(&mut self, words: &[Vec<u8>]) -> Vec<Reply> {
        let (replies, sent) = self.primary.run(From::Client, words);
        if let [Reply::Error(message)] = &replies[..] {
            assert!(!message.contains("internal error"), "{words:?}: {message}");
            assert!(message.len() < 600 && !message.contains(['\r', '\n']), "{words:?}: {message}");
        }
        for command in sent {
            let (replies, sent) = self.replica.run(From::Primary, &command);
            assert!(!matches!(replies[..], [Reply::Error(_)]), "{command:?} on the replica: {replies:?}");
            assert!(sent.len() <= 1);
        }
        replies
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.next() % 16 {
            0..=4 => self.any_command(bytes),
            5 | 6 => self.line(bytes),
            7 | 8 => self.add(bytes),
            9 | 10 => self.forge(bytes),
            11 => server::set_now(EPOCH_MS + i64::try_from(bytes.number() >> 12).unwrap_or(0)),
            12 => self.configure(bytes),
            13 => self.reload(&bytes.name()),
            14 => self.copy(&bytes.name(), &bytes.name()),
            _ => self.primary.is_out_of_memory = bytes.next() % 2 == 1,
        }
    }

    fn any_command(&mut self, bytes: &mut Bytes<'_>) {
        let mut words = vec![bytes.of(&COMMANDS).into(), bytes.name()];
        for _ in 0..bytes.next() % 12 {
            words.push(bytes.word());
        }
        self.run(&words);
    }

    /// A command as a person writes it, up to the next line.
    fn line(&mut self, bytes: &mut Bytes<'_>) {
        let end = bytes.0.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.0.len());
        let (line, rest) = bytes.0.split_at(end);
        bytes.0 = rest.get(1..).unwrap_or_default();
        let words = line.split(|byte| *byte == b' ').map(<[u8]>::to_vec);
        self.run(&words.collect::<Vec<_>>());
    }

    /// Adds items; if that is not refused, they are known.
    fn add(&mut self, bytes: &mut Bytes<'_>) {
        let (command, name) = (bytes.of(&["apbf.madd", "apbf.maddnx"]), bytes.name());
        let (first, count) = (bytes.next(), 1 + bytes.next() % 64);
        let items = (first..first + count).map(|number| format!("item-{number}").into_bytes());
        let with = |command: &str| {
            [command.into(), name.clone()].into_iter().chain(items.clone()).collect::<Vec<_>>()
        };
        let replies = self.run(&with(command));
        let [Reply::Many, added @ ..] = &replies[..] else { return };
        assert_eq!(added.len(), count);
        // The window may be smaller: only the last item is certainly in it.
        let known = self.run(&with("apbf.mexists"));
        assert_eq!(known.last(), Some(&Reply::Integer(1)), "{command} of {count} items");
    }

    /// Loads a snapshot with other contents and a checksum that fits, in each way that a client has.
    fn forge(&mut self, bytes: &mut Bytes<'_>) {
        let (from, to) = (bytes.name(), bytes.name());
        let Some((kind, parts)) = self.primary.dump(&from) else { return };
        let mut forged = Vec::new();
        for part in &parts {
            if let Part::Bytes(bytes) = part {
                forged.extend_from_slice(bytes);
            }
        }
        // Numbers of the head are at multiples of four.
        let content = forged.len().saturating_sub(8);
        for _ in 0..bytes.next() % 4 {
            let place = (bytes.next() << 8 | bytes.next()) * 4 % content.max(1);
            let number = bytes.number().to_le_bytes();
            let len = [1, 4, 8][bytes.next() % 3].min(content - place.min(content));
            forged[place..place + len].copy_from_slice(&number[..len]);
        }
        if forged.len() > 8 {
            let checksum = HashFunction::default().hash(&forged[..content]);
            forged[content..].copy_from_slice(&checksum.to_le_bytes());
        }
        self.send_forged(bytes, &to, kind, forged);
    }

    fn send_forged(&mut self, bytes: &mut Bytes<'_>, to: &[u8], kind: usize, mut forged: Vec<u8>) {
        let command = |name: &str, words: &[&[u8]]| {
            [name.as_bytes(), to]
                .into_iter()
                .chain(words.iter().copied())
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>()
        };
        let way = bytes.next();
        match way % 6 {
            0 => drop(self.run(&command("apbf.load", &[&forged]))),
            1 => {
                // The words are at the end of the snapshot, before its checksum.
                let words = bytes.next() * 8 + 8;
                forged.truncate(forged.len().saturating_sub(words));
                let checksum = HashFunction::default().hash(&forged);
                forged.extend_from_slice(&checksum.to_le_bytes());
                self.run(&command("apbf.create", &[&forged]));
            }
            2 => {
                let first = bytes.number().to_string();
                let begin = (bytes.next() * 8).min(forged.len());
                let end = (begin + bytes.next() * 8).min(forged.len());
                self.run(&command("apbf.patch", &[first.as_bytes(), &forged[begin..end]]));
            }
            3 | 4 => {
                let len = forged.len() as u64;
                let said = if bytes.next() % 8 == 1 { bytes.number() } else { len };
                let first = (bytes.next() * 16).min(forged.len());
                let rest = forged.split_off(first);
                let kind = if way % 6 == 4 { 1 - kind.min(1) } else { kind };
                self.restore(to, kind, &[Part::Number(said), Part::Bytes(forged), Part::Bytes(rest)]);
            }
            _ => {
                let mut begin = 0;
                for piece in 0..8 {
                    let len = if piece == 7 { forged.len() } else { bytes.next() * 16 };
                    let end = (begin + len).min(forged.len());
                    let said = if bytes.next() % 16 == 1 { bytes.number() } else { begin as u64 };
                    let said = said.to_string();
                    self.run(&command("apbf.load", &[b"CURSOR", said.as_bytes(), &forged[begin..end]]));
                    begin = end;
                }
            }
        }
    }

    /// `RESTORE`: the server sends it to replicas as it is, if the primary has accepted it.
    fn restore(&mut self, name: &[u8], kind: usize, parts: &[Part]) {
        if !self.primary.has(name) && self.primary.restore(From::Client, name, kind, parts.to_vec()) {
            assert!(self.replica.restore(From::Primary, name, kind, parts.to_vec()));
        }
    }

    fn configure(&mut self, bytes: &mut Bytes<'_>) {
        let names = self.primary.config_names();
        let name = &names[bytes.next() % names.len()];
        let value = bytes.word();
        let is_too_large = || {
            str::from_utf8(&value)
                .ok()
                .and_then(|text| text.parse().ok())
                .is_some_and(|most: u64| most > 4 * MOST_BYTES)
        };
        if name == "max-bytes-per-key" && is_too_large() {
            return;
        }
        if let Err(message) = self.primary.set_config(name, &value) {
            assert!(!message.contains("internal error"), "{name} {value:?}: {message}");
        }
        self.primary.info();
    }

    /// Saves a key and loads it, and rewrites it and replays that.
    fn reload(&mut self, name: &[u8]) {
        let Some((kind, parts)) = self.primary.dump(name) else { return };
        let before = self.primary.digest(name);
        let commands = self.primary.rewritten(name);
        self.primary.delete(name);
        assert!(self.primary.restore(From::File, name, kind, parts), "what was saved can be loaded");
        assert!(self.primary.digest(name) == before, "loading has changed something");
        self.primary.delete(name);
        for command in commands {
            let (replies, _) = self.primary.run(From::File, &command);
            assert!(!matches!(replies[..], [Reply::Error(_)]), "{replies:?}");
        }
        assert!(self.primary.digest(name) == before, "replaying has changed something");
    }

    fn copy(&mut self, from: &[u8], to: &[u8]) {
        if from != to && !self.primary.has(to) && self.primary.copy(from, to) {
            assert!(self.replica.copy(from, to));
            assert!(self.primary.digest(from) == self.primary.digest(to));
        }
    }

    fn check(&mut self) {
        assert!(self.primary.names() == self.replica.names());
        for name in self.primary.names() {
            assert!(self.primary.digest(&name) == self.replica.digest(&name), "the replica differs");
            assert!(
                self.primary.memory_usage(&name) as u64 <= 5 * MOST_BYTES,
                "a key takes more than it may"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::commands;

    /// Says that this process has only one test: configs belong to a process.
    const ALONE: &str = "LATELY_FUZZ_ALONE";

    #[test]
    fn no_bytes_break_the_module() {
        if env::var_os(ALONE).is_none() {
            let mut alone = process::Command::new(env::current_exe().unwrap());
            let name = concat!(module_path!(), "::no_bytes_break_the_module").split_once("::").unwrap().1;
            let status = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "yes").status().unwrap();
            assert!(status.success(), "{status}");
            return;
        }
        let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/module");
        let mut count = 0;
        for entry in fs::read_dir(kept).unwrap() {
            commands(&fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 0);
        // Numbers that look random, the same in every run.
        let mut state = 24_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        for _ in 0..2_000 {
            commands(&(0..next()).map(|_| next()).collect::<Vec<_>>());
        }
    }
}

//! The preloaded library `shim.c`: builds it, tells it what to do, and reads what it has noted.
#![allow(dead_code, unreachable_pub)]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::Directory;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This call fails.
    Once(&'static str),
    /// This call fails, and all after it: a full disk, a directory that became read-only, a permission that was lost.
    From(&'static str),
    /// Half of the bytes are written.
    Cut,
    /// The process is killed before the call, or in the middle of it.
    Kill,
    CutAndKill,
    /// The last step of a save, which makes its name durable, fails, and the next save is killed in its middle.
    BetweenSaves,
}

/// What is tried at every call that writes.
pub const FAULTS: [Fault; 7] = [
    Fault::Once("EIO"),
    Fault::From("ENOSPC"),
    Fault::From("EROFS"),
    Fault::From("EACCES"),
    Fault::Cut,
    Fault::Kill,
    Fault::CutAndKill,
];

impl Fault {
    pub fn kills(self) -> bool {
        matches!(self, Self::Kill | Self::CutAndKill | Self::BetweenSaves)
    }
}

pub struct Shim {
    beside: Directory,
    library: PathBuf,
}

impl Shim {
    pub fn new(name: &str) -> Self {
        let beside = Directory::new(&format!("{name}-beside"));
        let library = beside.path("shim.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/shim.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([library.as_path(), Path::new(source)])
            .status();
        assert!(
            built.is_ok_and(|status| status.success()),
            "cc, which Rust needs too, cannot build {source}"
        );
        Self { beside, library }
    }

    /// Forgets all calls and what is durable: what is in these directories now is on the disk.
    pub fn reset(&self, directories: &[&Path]) {
        let _ = fs::remove_dir_all(self.beside.path("durable"));
        fs::create_dir(self.beside.path("durable")).unwrap();
        self.forget_calls();
        for directory in directories {
            let names = names_in(directory);
            for (inode, name) in &names {
                fs::copy(directory.join(name), self.beside.path(&format!("durable/{inode}"))).unwrap();
            }
            fs::write(self.names_of(directory), lines_of(&names)).unwrap();
        }
    }

    pub fn forget_calls(&self) {
        let _ = fs::remove_file(self.beside.path("log"));
    }

    /// Watches the files below this directory, and makes a fault at this call. With `reads`, calls that only read count,
    /// too.
    pub fn watch(&self, command: &mut Command, watched: &Path, reads: bool, fault: Option<(Fault, u64)>) {
        command.env("LD_PRELOAD", &self.library).env("FAULT_DIR", watched.components().as_path());
        command.env("FAULT_LOG", self.beside.path("log")).env("FAULT_DURABLE", self.beside.path("durable"));
        if reads {
            command.env("FAULT_READS", "1");
        }
        let Some((fault, at)) = fault else { return };
        let (kind, lasts) = match fault {
            Fault::Once(error) => (error, false),
            Fault::BetweenSaves => ("EIO", false),
            Fault::From(error) => (error, true),
            Fault::Cut => ("cut", false),
            Fault::Kill => ("kill", false),
            Fault::CutAndKill => ("cut-kill", false),
        };
        command.env("FAULT_KIND", kind).env("FAULT_AT", at.to_string());
        if lasts {
            command.env("FAULT_FROM", "1");
        }
        if fault == Fault::BetweenSaves {
            command.env("FAULT_CALL", "fsync state").env("FAULT_KILL_CALL", "rename seen");
        }
    }

    pub fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.beside.path("log")).unwrap_or_default();
        log.lines().map(str::to_string).collect()
    }

    /// What a power cut leaves in a directory: of each file what was synced, under the names at the last sync of the
    /// directory, or under the present ones.
    pub fn after_power_cut(&self, directory: &Path, has_present_names: bool) -> HashMap<String, Vec<u8>> {
        let names = if has_present_names {
            lines_of(&names_in(directory))
        } else {
            // Nothing, if it was never synced.
            fs::read_to_string(self.names_of(directory)).unwrap_or_default()
        };
        let file = |line: &str| {
            let (inode, name) = line.split_once(' ').unwrap();
            let bytes = fs::read(self.beside.path(&format!("durable/{inode}"))).unwrap_or_default();
            (name.to_string(), bytes)
        };
        names.lines().map(file).collect()
    }

    fn names_of(&self, directory: &Path) -> PathBuf {
        self.beside.path(&format!("durable/names-{}", fs::metadata(directory).unwrap().ino()))
    }
}

/// The files of a directory.
fn names_in(directory: &Path) -> Vec<(u64, String)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.metadata().unwrap().ino(), entry.file_name().into_string().unwrap())).collect()
}

fn lines_of(names: &[(u64, String)]) -> String {
    let lines: Vec<String> = names.iter().map(|(inode, name)| format!("{inode} {name}")).collect();
    lines.join("\n")
}

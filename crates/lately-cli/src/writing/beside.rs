//! What a run keeps beside its state, in `FILE.stream`: how far a followed file was read, how long the files of output
//! were, and the header of CSV.
//!
//! It belongs to one save of the state and must change with it in one step, but the two are separate files. So it has
//! what belongs to the save that is there *and* to the one that replaces it next, each with the fingerprint of the
//! filter. It is written before the state is replaced. Whichever of the two a crash leaves, the reader finds its entry. If
//! the last step of a save fails, which makes its name durable, either of two saves is there, and both entries stay.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lately::{Filter, HashFunction};
use serde::{Deserialize, Serialize};

use super::sink::Sink;
use crate::failure::Failure;
use crate::reading::Position;
use crate::system::directory::sync_name;
use crate::system::identity::Identity;

/// A longer header is not kept.
const MOST_HEADER_BYTES: usize = 64 << 10;

/// What is known besides the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The name of the followed file, and how far it was read.
    pub(crate) followed: Option<String>,
    pub(crate) position: Option<Position>,
    /// The files of output at the save.
    outputs: Vec<Length>,
    /// The header of CSV.
    pub(crate) header: Option<Vec<u8>>,
}

/// How long a file of output was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Length {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl Known {
    pub(super) fn measure(&mut self, outputs: &[Sink]) {
        let length = |sink: &Sink| {
            let metadata = sink.file().metadata().ok()?;
            let (device, inode) = Identity::numbers_of(&metadata)?;
            Some(Length { device, inode, bytes: metadata.len() })
        };
        // Standard output may be a file that other programs write, too.
        self.outputs = outputs.iter().filter(|sink| sink.is_named()).filter_map(length).collect();
    }

    /// Returns how long this file was.
    pub(super) fn length_of(&self, file: &File) -> Option<u64> {
        let numbers = Identity::numbers_of(&file.metadata().ok()?)?;
        self.outputs.iter().find(|length| (length.device, length.inode) == numbers).map(|length| length.bytes)
    }

    pub(super) fn note_header(&mut self, header: &[u8]) {
        self.header = Some(header.to_vec()).filter(|header| header.len() <= MOST_HEADER_BYTES);
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What belongs to one save.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The fingerprint of the saved filter; `None` before the first save.
    filter: Option<u64>,
    known: Known,
}

/// The file.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    state: PathBuf,
    path: PathBuf,
    /// What belongs to the save that is there, and before it, what belongs to one that a power cut may bring back.
    current: Vec<Entry>,
}

impl Entry {
    /// `filter`: the fingerprint of the filter that is saved.
    pub(super) fn new(filter: Option<u64>, known: Known) -> Self {
        Self { filter, known }
    }
}

impl Beside {
    /// The file beside this state.
    pub(super) fn of(state: &Path) -> Self {
        Self { state: state.to_path_buf(), path: Self::path_of(state), current: Vec::new() }
    }

    pub(super) fn path_of(state: &Path) -> PathBuf {
        let mut name = state.as_os_str().to_owned();
        name.push(".stream");
        name.into()
    }

    /// Returns what is known about the state that holds this filter, or about the first run if there is none yet.
    pub(super) fn load(&mut self, filter: Option<&Filter>) -> Result<Known, Failure> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
            read => read.map_err(|error| Failure::file(&self.path, &error))?,
        };
        let entries: Vec<Entry> = serde_json::from_slice(&bytes).map_err(|error| {
            Failure::other(format!(
                "{}: is damaged: {error}; if you remove it, a followed file is read from its beginning",
                self.path.display()
            ))
        })?;
        let filter = filter.map(Self::fingerprint);
        // The later one, if a run has changed nothing in the filter.
        let current = entries.into_iter().rev().find(|entry| entry.filter == filter);
        self.current = current.iter().cloned().collect();
        Ok(current.unwrap_or_default().known)
    }

    /// Writes what belongs to the next save, and keeps what belongs to the present one.
    pub(super) fn write(&mut self, next: &Entry) -> io::Result<()> {
        let is_known = |entry: &Entry| !entry.known.is_empty();
        if !is_known(next) && !self.current.iter().any(is_known) {
            return Ok(());
        }
        let entries: Vec<&Entry> = self.current.iter().chain([next]).collect();
        self.replace(&entries)?;
        // The state is in the same directory, whose names are durable now.
        self.current.drain(..self.current.len().saturating_sub(1));
        Ok(())
    }

    /// The next save is in place.
    pub(super) fn is_saved(&mut self, next: Entry) {
        self.current = vec![next];
    }

    /// The next save is in place, but its name may not be durable.
    pub(super) fn may_be_saved(&mut self, next: Entry) {
        self.current.push(next);
    }

    /// Forgets the saves that were replaced.
    pub(super) fn tidy(&self) -> io::Result<()> {
        match self.current.last() {
            Some(entry) if !entry.known.is_empty() => self.replace(&[entry]),
            _ => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        }
    }

    fn replace(&self, entries: &[&Entry]) -> io::Result<()> {
        let mut temporary = self.path.clone().into_os_string();
        temporary.push(".tmp");
        let written = write_new(Path::new(&temporary), &serde_json::to_vec(entries)?)
            .and_then(|()| fs::rename(&temporary, &self.path));
        written.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
        sync_name(&self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// Two filters of one stream differ in their counters, so in their blueprints, if they differ at all.
    pub(super) fn fingerprint(filter: &Filter) -> u64 {
        HashFunction::default().hash(&filter.blueprint())
    }
}

/// Only the owner may read it, as the state.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

//! Standard output: all bytes are written, or the caller is told of the failure.

use std::fs::File;
use std::io::{self, Write as _};

use crate::failure::Failure;
use crate::system::{standard_streams, waiting};

pub(super) struct StandardOutput {
    file: File,
}

impl StandardOutput {
    pub(super) fn open() -> Result<Self, Failure> {
        let file = standard_streams::output().map_err(|error| Failure::output(&error))?;
        Ok(Self { file })
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        write_all(&self.file, bytes).map_err(|error| Failure::output(&error))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// Prints the whole output of a command.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    StandardOutput::open()?.write(text.as_bytes())
}

/// Writes all bytes, even if another process that shares the output has made it nonblocking.
fn write_all(mut file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => waiting::until_writable(file),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

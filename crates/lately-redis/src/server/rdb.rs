//! RDB files, from which the server loads keys and to which it saves them. `DUMP` and `RESTORE` use the same
//! format.

use std::ffi::c_char;
use std::ptr;
use std::slice;

use crate::raw;

use super::api::api;

/// The data is cut off or damaged; the server reported a read error.
#[derive(Debug)]
pub(crate) struct Damaged;

/// Reads a value from an RDB file or from the argument of RESTORE.
pub(crate) struct Loader {
    io: *mut raw::IO,
    /// The latest string that was loaded; its first `taken` bytes are used.
    piece: LoadedString,
}

/// A string from the server's allocator.
struct LoadedString {
    start: *mut c_char,
    len: usize,
    taken: usize,
}

impl Drop for LoadedString {
    fn drop(&mut self) {
        // SAFETY: the string comes from the server's allocator, or is null, which is ignored.
        unsafe { api!(Free(self.start.cast())) };
    }
}

impl Loader {
    pub(super) fn new(io: *mut raw::IO) -> Self {
        Self { io, piece: LoadedString { start: ptr::null_mut(), len: 0, taken: 0 } }
    }

    fn check(&self) -> Result<(), Damaged> {
        // SAFETY: the file is being read.
        if unsafe { api!(IsIOError(self.io)) } == 0 { Ok(()) } else { Err(Damaged) }
    }

    /// Returns true if a client's `RESTORE` is executed: no file is loaded, and no primary sends it.
    pub(crate) fn is_for_client(&self) -> bool {
        // SAFETY: the server is loading a value, and the context belongs to that.
        let flags = unsafe { api!(GetContextFlags(api!(GetContextFromIO(self.io)))) };
        flags & (raw::CTX_FLAGS_LOADING | raw::CTX_FLAGS_SLAVE) == 0
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        // SAFETY: as above.
        let number = unsafe { api!(LoadUnsigned(self.io)) };
        self.check().map(|()| number)
    }

    /// Fills `bytes` with the next bytes. They may span several strings.
    pub(crate) fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), Damaged> {
        while !bytes.is_empty() {
            if self.piece.taken == self.piece.len {
                self.next_string()?;
            }
            let count = bytes.len().min(self.piece.len - self.piece.taken);
            // SAFETY: the string has `len` bytes, and `taken + count` is at most `len`.
            let piece =
                unsafe { slice::from_raw_parts(self.piece.start.add(self.piece.taken).cast(), count) };
            let (head, rest) = bytes.split_at_mut(count);
            head.copy_from_slice(piece);
            self.piece.taken += count;
            bytes = rest;
        }
        Ok(())
    }

    fn next_string(&mut self) -> Result<(), Damaged> {
        let mut len = 0;
        // SAFETY: the file is being read. The module owns the string and frees it.
        let start = unsafe { api!(LoadStringBuffer(self.io, &raw mut len)) };
        self.piece = LoadedString { start, len, taken: 0 };
        self.check()?;
        // With empty strings, `fill` might never end.
        if start.is_null() || len == 0 { Err(Damaged) } else { Ok(()) }
    }
}

/// Writes a value to an RDB file or to the reply of DUMP.
pub(crate) struct Saver(pub(super) *mut raw::IO);

impl Saver {
    pub(crate) fn number(&mut self, number: u64) {
        // SAFETY: the file is being written.
        unsafe { api!(SaveUnsigned(self.0, number)) };
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: as above; the server copies the bytes.
        unsafe { api!(SaveStringBuffer(self.0, bytes.as_ptr().cast(), bytes.len())) };
    }
}

//! The callbacks of the data type. The work itself is done in `crate::data_type`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::raw;

use super::api::{api, catch_panic};
use super::call::Argument;
use super::module::{Module, NotRegistered};
use crate::data_type::{self, ENCODING, LoadFailure};
use crate::value::Value;

/// Must have exactly nine characters. It is written to every RDB file.
const NAME: &CStr = c"apbf-late";
/// The version of Redis 7.0.
const METHODS_VERSION: u64 = 4;

static FILTER_TYPE: AtomicPtr<raw::Type> = AtomicPtr::new(ptr::null_mut());

pub(super) fn filter_type() -> *mut raw::Type {
    FILTER_TYPE.load(Ordering::Relaxed)
}

impl Module {
    pub(crate) fn data_type(&self) -> Result<(), NotRegistered> {
        let mut methods = raw::TypeMethods {
            version: METHODS_VERSION,
            rdb_load: Some(rdb_load),
            rdb_save: Some(rdb_save),
            aof_rewrite: Some(aof_rewrite),
            mem_usage: Some(mem_usage),
            digest: Some(digest),
            free: Some(free),
            aux_load: None,
            aux_save: None,
            aux_save_triggers: 0,
            free_effort: Some(free_effort),
            unlink: None,
            copy: Some(copy),
            defrag: None,
            mem_usage2: None,
            free_effort2: None,
            unlink2: None,
            copy2: None,
        };
        // SAFETY: the server copies the methods.
        let created = unsafe { api!(CreateDataType(self.ctx, NAME.as_ptr(), ENCODING, &raw mut methods)) };
        FILTER_TYPE.store(created, Ordering::Relaxed);
        if created.is_null() { Err(NotRegistered) } else { Ok(()) }
    }
}

/// # Safety
/// `value` points to a live value of our type. It is neither changed nor freed while the reference is used.
unsafe fn value<'a>(value: *const c_void) -> &'a Value {
    // SAFETY: as the caller promises.
    unsafe { &*value.cast::<Value>() }
}

fn handed_over(value: Option<Box<Value>>) -> *mut c_void {
    value.map_or(ptr::null_mut(), |value| Box::into_raw(value).cast())
}

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
    fn check(&self) -> Result<(), LoadFailure> {
        // SAFETY: the file is being read.
        if unsafe { api!(IsIOError(self.io)) } == 0 { Ok(()) } else { Err(LoadFailure::Io) }
    }

    pub(crate) fn number(&mut self) -> Result<u64, LoadFailure> {
        // SAFETY: as above.
        let number = unsafe { api!(LoadUnsigned(self.io)) };
        self.check().map(|()| number)
    }

    /// Fills `bytes` with the next bytes. They may span several strings.
    pub(crate) fn fill(&mut self, mut bytes: &mut [u8]) -> Result<(), LoadFailure> {
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

    fn next_string(&mut self) -> Result<(), LoadFailure> {
        let mut len = 0;
        // SAFETY: the file is being read. The module owns the string and frees it.
        let start = unsafe { api!(LoadStringBuffer(self.io, &raw mut len)) };
        self.piece = LoadedString { start, len, taken: 0 };
        self.check()?;
        // With empty strings, `fill` might never end.
        if start.is_null() || len == 0 { Err(LoadFailure::Io) } else { Ok(()) }
    }
}

unsafe extern "C" fn rdb_load(io: *mut raw::IO, encoding: c_int) -> *mut c_void {
    let loaded = catch_panic(|| {
        let piece = LoadedString { start: ptr::null_mut(), len: 0, taken: 0 };
        data_type::load(&mut Loader { io, piece }, encoding)
    });
    let failure = match loaded {
        Some(Ok(value)) => return handed_over(Some(value)),
        Some(Err(failure)) => failure.to_string(),
        None => "internal error in the module".into(),
    };
    let message = CString::new(failure).unwrap_or_default();
    // SAFETY: the arguments match the format: one C string.
    unsafe {
        let format = c"a filter cannot be loaded: %s".as_ptr();
        api!(LogIOError(io, c"warning".as_ptr(), format, message.as_ptr()));
    }
    ptr::null_mut()
}

/// Writes a value to an RDB file or to the reply of DUMP.
pub(crate) struct Saver(*mut raw::IO);

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

unsafe extern "C" fn rdb_save(io: *mut raw::IO, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    catch_panic(|| data_type::save(unsafe { value(filter) }, &mut Saver(io)));
}

/// Writes commands to the append-only file while the server rewrites it.
pub(crate) struct AofWriter {
    io: *mut raw::IO,
    key: Argument,
}

impl AofWriter {
    /// Writes a command with the key and bytes.
    pub(crate) fn command(&mut self, name: &CStr, bytes: &[u8]) {
        // SAFETY: the arguments match the format: a string, then bytes and their length.
        unsafe {
            api!(EmitAOF(self.io, name.as_ptr(), c"sb".as_ptr(), self.key.0, bytes.as_ptr(), bytes.len(),));
        }
    }

    /// Writes a command with the key, a number and bytes.
    pub(crate) fn command_at(&mut self, name: &CStr, number: u64, bytes: &[u8]) {
        // SAFETY: the arguments match the format: a string, a number, then bytes and their length.
        unsafe {
            api!(EmitAOF(
                self.io,
                name.as_ptr(),
                c"slb".as_ptr(),
                self.key.0,
                number.cast_signed(),
                bytes.as_ptr(),
                bytes.len(),
            ));
        }
    }
}

unsafe extern "C" fn aof_rewrite(io: *mut raw::IO, key: *mut raw::String, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    catch_panic(|| data_type::rewrite(unsafe { value(filter) }, &mut AofWriter { io, key: Argument(key) }));
}

/// The digest that `DEBUG DIGEST` computes.
pub(crate) struct Digest(*mut raw::Digest);

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // SAFETY: the server is computing the digest.
        unsafe { api!(DigestAddStringBuffer(self.0, bytes.as_ptr().cast(), bytes.len())) };
    }
}

unsafe extern "C" fn digest(digest: *mut raw::Digest, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    // Afterwards the digest of this value ends.
    unsafe {
        catch_panic(|| data_type::digest(value(filter), &mut Digest(digest)));
        api!(DigestEndSequence(digest));
    }
}

unsafe extern "C" fn mem_usage(filter: *const c_void) -> usize {
    // SAFETY: as above.
    unsafe { value(filter) }.allocated_bytes()
}

unsafe extern "C" fn free_effort(_key: *mut raw::String, filter: *const c_void) -> usize {
    // SAFETY: as above.
    data_type::free_effort(unsafe { value(filter) })
}

/// Runs in the server's main thread or, for large values, in a background thread.
unsafe extern "C" fn free(filter: *mut c_void) {
    // SAFETY: `Box::into_raw` made the pointer, and the server does not use it after this call.
    catch_panic(|| drop(unsafe { Box::from_raw(filter.cast::<Value>()) }));
}

unsafe extern "C" fn copy(
    _from: *mut raw::String,
    _to: *mut raw::String,
    filter: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    handed_over(catch_panic(|| unsafe { value(filter) }.copy()).flatten())
}

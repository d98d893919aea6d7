//! The data type: what the server asks of the values of keys.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt::Display;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::raw;

use super::api::{api, catch_panic};
use super::call::Argument;
use super::module::{Module, NotRegistered};
use super::rdb::{Loader, Saver};

/// The version of Redis 7.0.
const METHODS_VERSION: u64 = 4;

/// A type of values that keys can hold. Values are `Send`, because a background thread may drop them.
pub(crate) trait DataType: Send + Sized + 'static {
    /// Must have exactly nine characters. It is written to every RDB file.
    const NAME: &'static CStr;
    /// Version of the encoding in RDB files.
    const ENCODING: c_int;

    type LoadFailure: Display;

    /// Returns the handle of this type, a static.
    fn handle() -> &'static Handle<Self>;

    /// Loads a value from an RDB file, which may have another encoding.
    fn load(loader: &mut Loader, encoding: c_int) -> Result<Box<Self>, Self::LoadFailure>;

    /// Saves the value to an RDB file.
    fn save(&self, saver: &mut Saver);

    /// Writes commands that restore the value to the append-only file.
    fn rewrite(&self, aof: &mut AofWriter);

    fn digest(&self, digest: &mut Digest);

    /// Returns `None` if the value cannot be copied.
    fn copy(&self) -> Option<Box<Self>>;

    /// Returns the bytes that `MEMORY USAGE` shows.
    fn memory_usage(&self) -> usize;

    /// Returns how much work it is to drop the value. A background thread does it if it is much.
    fn free_effort(&self) -> usize;
}

/// Refers to the registered type whose values are `V`s; null until it is registered.
pub(crate) struct Handle<V> {
    registered: AtomicPtr<raw::Type>,
    values: PhantomData<fn(V)>,
}

impl<V: DataType> Handle<V> {
    pub(crate) const fn new() -> Self {
        Self { registered: AtomicPtr::new(ptr::null_mut()), values: PhantomData }
    }

    pub(super) fn get(&self) -> *mut raw::Type {
        self.registered.load(Ordering::Relaxed)
    }
}

impl Module {
    pub(crate) fn data_type<V: DataType>(&self) -> Result<(), NotRegistered> {
        let mut methods = raw::TypeMethods {
            version: METHODS_VERSION,
            rdb_load: Some(rdb_load::<V>),
            rdb_save: Some(rdb_save::<V>),
            aof_rewrite: Some(aof_rewrite::<V>),
            mem_usage: Some(mem_usage::<V>),
            digest: Some(digest::<V>),
            free: Some(free::<V>),
            aux_load: None,
            aux_save: None,
            aux_save_triggers: 0,
            free_effort: Some(free_effort::<V>),
            unlink: None,
            copy: Some(copy::<V>),
            defrag: None,
            mem_usage2: None,
            free_effort2: None,
            unlink2: None,
            copy2: None,
        };
        // SAFETY: the server copies the methods.
        let created =
            unsafe { api!(CreateDataType(self.ctx, V::NAME.as_ptr(), V::ENCODING, &raw mut methods)) };
        V::handle().registered.store(created, Ordering::Relaxed);
        if created.is_null() { Err(NotRegistered) } else { Ok(()) }
    }
}

/// # Safety
/// `value` points to a live `V`. It is neither changed nor freed while the reference is used.
unsafe fn value<'a, V: DataType>(value: *const c_void) -> &'a V {
    // SAFETY: as the caller promises.
    unsafe { &*value.cast() }
}

/// The server owns the value from now on.
fn into_pointer<V: DataType>(value: Option<Box<V>>) -> *mut c_void {
    value.map_or(ptr::null_mut(), |value| Box::into_raw(value).cast())
}

unsafe extern "C" fn rdb_load<V: DataType>(io: *mut raw::IO, encoding: c_int) -> *mut c_void {
    let failure = match catch_panic(|| V::load(&mut Loader::new(io), encoding)) {
        Some(Ok(value)) => return into_pointer(Some(value)),
        Some(Err(failure)) => failure.to_string(),
        None => "internal error in the module".into(),
    };
    // SAFETY: the server is loading. The arguments match the format: one C string.
    unsafe {
        let key = api!(GetKeyNameFromIO(io)).cast_mut();
        let key = if key.is_null() { "?".into() } else { Argument(key).as_ref().escape_ascii().to_string() };
        let message = CString::new(format!("the filter of the key '{key}' cannot be loaded: {failure}"));
        let message = message.unwrap_or_default();
        api!(LogIOError(io, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr()));
    }
    ptr::null_mut()
}

unsafe extern "C" fn rdb_save<V: DataType>(io: *mut raw::IO, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    catch_panic(|| unsafe { value::<V>(filter) }.save(&mut Saver(io)));
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

    /// Writes a command with the key, a keyword, a number and bytes.
    pub(crate) fn command_after(&mut self, name: &CStr, keyword: &CStr, number: u64, bytes: &[u8]) {
        // SAFETY: the arguments match the format: a string, a C string, a number, then bytes and their length.
        unsafe {
            api!(EmitAOF(
                self.io,
                name.as_ptr(),
                c"sclb".as_ptr(),
                self.key.0,
                keyword.as_ptr(),
                number.cast_signed(),
                bytes.as_ptr(),
                bytes.len(),
            ));
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

unsafe extern "C" fn aof_rewrite<V: DataType>(io: *mut raw::IO, key: *mut raw::String, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    catch_panic(|| unsafe { value::<V>(filter) }.rewrite(&mut AofWriter { io, key: Argument(key) }));
}

/// The digest that `DEBUG DIGEST` computes.
pub(crate) struct Digest(*mut raw::Digest);

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        // SAFETY: the server is computing the digest.
        unsafe { api!(DigestAddStringBuffer(self.0, bytes.as_ptr().cast(), bytes.len())) };
    }
}

unsafe extern "C" fn digest<V: DataType>(digest: *mut raw::Digest, filter: *mut c_void) {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    // Afterwards the digest of this value ends.
    unsafe {
        catch_panic(|| value::<V>(filter).digest(&mut Digest(digest)));
        api!(DigestEndSequence(digest));
    }
}

unsafe extern "C" fn mem_usage<V: DataType>(filter: *const c_void) -> usize {
    // SAFETY: as above.
    unsafe { value::<V>(filter) }.memory_usage()
}

unsafe extern "C" fn free_effort<V: DataType>(_key: *mut raw::String, filter: *const c_void) -> usize {
    // SAFETY: as above.
    unsafe { value::<V>(filter) }.free_effort()
}

/// Runs in the server's main thread or, for large values, in a background thread.
unsafe extern "C" fn free<V: DataType>(filter: *mut c_void) {
    // SAFETY: `Box::into_raw` made the pointer, and the server does not use it after this call.
    catch_panic(|| drop(unsafe { Box::from_raw(filter.cast::<V>()) }));
}

unsafe extern "C" fn copy<V: DataType>(
    _from: *mut raw::String,
    _to: *mut raw::String,
    filter: *const c_void,
) -> *mut c_void {
    // SAFETY: the server passes a live value of our type and does not change or free it during this call.
    into_pointer(catch_panic(|| unsafe { value::<V>(filter) }.copy()).flatten())
}

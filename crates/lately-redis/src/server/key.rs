//! Keys that a command reads or writes.

use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

use crate::raw::{self, OK};

use super::api::api;
use super::call::{Argument, Call};
use super::data_type;
use super::failure::Failure;
use crate::value::Value;

/// An open key.
struct Open(*mut raw::Key);

impl Open {
    fn new(call: &Call<'_>, name: &Argument, mode: c_int) -> Self {
        // SAFETY: context and name belong to the running command.
        Self(unsafe { api!(OpenKey(call.ctx, name.0, mode)) })
    }

    /// Returns the stored value; `None` if the key does not exist.
    fn value(&self) -> Result<Option<NonNull<Value>>, Failure> {
        // SAFETY: the key is open, or null, which both functions treat as empty. A value of our type is a
        // `Value`.
        unsafe {
            if api!(KeyType(self.0)) == raw::KEYTYPE_EMPTY {
                return Ok(None);
            }
            if api!(ModuleTypeGetType(self.0)) != data_type::filter_type() {
                return Err(Failure::WrongType);
            }
            Ok(NonNull::new(api!(ModuleTypeGetValue(self.0)).cast()))
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: `new` opened the key, and it is not used afterwards. Null is ignored.
        unsafe { api!(CloseKey(self.0)) };
    }
}

/// A key open for reading.
pub(crate) struct ReadKey(Open);

impl Call<'_> {
    pub(crate) fn open(&self, name: &Argument) -> ReadKey {
        ReadKey(Open::new(self, name, raw::READ))
    }

    pub(crate) fn open_to_write<'a>(&'a self, name: &'a Argument) -> Key<'a> {
        let mode = raw::READ | raw::WRITE;
        Key { open: Open::new(self, name, mode), call: self, name }
    }
}

impl ReadKey {
    pub(crate) fn value(&self) -> Result<Option<&Value>, Failure> {
        // SAFETY: the server runs one command at a time, and the value lives as long as its key is open.
        Ok(self.0.value()?.map(|value| unsafe { value.as_ref() }))
    }
}

/// A key open for writing.
pub(crate) struct Key<'a> {
    open: Open,
    call: &'a Call<'a>,
    name: &'a Argument,
}

impl Key<'_> {
    pub(crate) fn value(&mut self) -> Result<Option<&mut Value>, Failure> {
        // SAFETY: as for reading, and no other code uses the value while this key is borrowed.
        Ok(self.open.value()?.map(|mut value| unsafe { value.as_mut() }))
    }

    /// Stores a value in a key that does not exist.
    pub(crate) fn set(&mut self, value: Box<Value>) -> Result<&mut Value, Failure> {
        let value = Box::into_raw(value);
        // SAFETY: the key is open for writing. The server owns the value from now on; if it refuses the
        // value, the module still owns it and drops it.
        unsafe {
            let stored = api!(ModuleTypeSetValue(self.open.0, data_type::filter_type(), value.cast()));
            if stored == OK {
                return Ok(&mut *value);
            }
            drop(Box::from_raw(value));
        }
        Err(Failure::new("the server did not store the key"))
    }

    /// Notifies clients that watch the key, and subscribers to keyspace events, that it has changed.
    pub(crate) fn has_changed(&self, event: &CStr) {
        // SAFETY: context and name belong to the running command.
        unsafe {
            api!(SignalModifiedKey(self.call.ctx, self.name.0));
            api!(NotifyKeyspaceEvent(self.call.ctx, raw::NOTIFY_MODULE, event.as_ptr(), self.name.0,));
        }
    }
}

//! Keys that a command reads or writes.

use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::raw::{self, OK};

use super::api::api;
use super::call::{Argument, Call};
use super::data_type::DataType;
use super::failure::Failure;

/// An open key that should hold a `V`.
struct OpenKey<V>(*mut raw::Key, PhantomData<V>);

impl<V: DataType> OpenKey<V> {
    fn new(call: &Call<'_>, name: &Argument, mode: c_int) -> Self {
        // SAFETY: context and name belong to the running command.
        Self(unsafe { api!(OpenKey(call.ctx, name.0, mode)) }, PhantomData)
    }

    /// Returns the stored value; `None` if the key does not exist.
    fn value(&self) -> Result<Option<NonNull<V>>, Failure> {
        // SAFETY: the key is open, or null, which both functions treat as empty. A value whose type has this
        // handle is a `V`; the type was registered when the module was loaded.
        unsafe {
            if api!(KeyType(self.0)) == raw::KEYTYPE_EMPTY {
                return Ok(None);
            }
            if api!(ModuleTypeGetType(self.0)) != V::handle().get() {
                return Err(Failure::WrongType);
            }
            Ok(NonNull::new(api!(ModuleTypeGetValue(self.0)).cast()))
        }
    }
}

impl<V> Drop for OpenKey<V> {
    fn drop(&mut self) {
        // SAFETY: `new` opened the key, and it is not used afterwards. Null is ignored.
        unsafe { api!(CloseKey(self.0)) };
    }
}

impl Call<'_> {
    pub(crate) fn open_to_read<V: DataType>(&self, name: &Argument) -> ReadKey<V> {
        ReadKey(OpenKey::new(self, name, raw::READ))
    }

    /// Opens a key to read about it. Unlike other reads, this does not protect it from eviction.
    pub(crate) fn open_to_look<V: DataType>(&self, name: &Argument) -> ReadKey<V> {
        ReadKey(OpenKey::new(self, name, raw::READ | raw::OPEN_KEY_NOTOUCH))
    }

    pub(crate) fn open_to_write<'a, V: DataType>(&'a self, name: &'a Argument) -> WriteKey<'a, V> {
        let mode = raw::READ | raw::WRITE;
        WriteKey { open: OpenKey::new(self, name, mode), call: self, name }
    }
}

/// A key that is open for reading.
pub(crate) struct ReadKey<V>(OpenKey<V>);

impl<V: DataType> ReadKey<V> {
    pub(crate) fn value(&self) -> Result<Option<&V>, Failure> {
        // SAFETY: the server runs one command at a time, and the value lives as long as its key is open.
        Ok(self.0.value()?.map(|value| unsafe { value.as_ref() }))
    }
}

/// A key that is open for reading and writing.
pub(crate) struct WriteKey<'a, V> {
    open: OpenKey<V>,
    call: &'a Call<'a>,
    name: &'a Argument,
}

impl<'a, V: DataType> WriteKey<'a, V> {
    pub(crate) fn name(&self) -> &'a Argument {
        self.name
    }

    pub(crate) fn value(&mut self) -> Result<Option<&mut V>, Failure> {
        // SAFETY: as for reading, and no other code uses the value while this key is borrowed.
        Ok(self.open.value()?.map(|mut value| unsafe { value.as_mut() }))
    }

    /// Stores a value in a key that does not exist.
    pub(crate) fn set(&mut self, value: Box<V>) -> Result<&mut V, Failure> {
        self.replace(value)
    }

    /// Stores a value, also of another type, in place of the present one. The key keeps its expiry.
    pub(crate) fn replace<W: DataType>(&mut self, value: Box<W>) -> Result<&mut W, Failure> {
        let value = Box::into_raw(value);
        // SAFETY: the key is open for writing. The server owns the value from now on, and frees the old one; if it
        // refuses the value, the module still owns it and drops it.
        unsafe {
            let expires = api!(GetAbsExpire(self.open.0));
            let stored = api!(ModuleTypeSetValue(self.open.0, W::handle().get(), value.cast()));
            if stored == OK {
                if expires != raw::NO_EXPIRE {
                    api!(SetAbsExpire(self.open.0, expires));
                }
                return Ok(&mut *value);
            }
            drop(Box::from_raw(value));
        }
        Err(Failure::new("the server did not store the key"))
    }

    pub(crate) fn delete(&mut self) {
        // SAFETY: the key is open for writing; the server frees its value.
        unsafe { api!(DeleteKey(self.open.0)) };
    }

    /// Tells clients that watch the key, and subscribers to keyspace events, that it has changed.
    pub(crate) fn notify_change(&self, event: &CStr) {
        // SAFETY: context and name belong to the running command.
        unsafe {
            api!(SignalModifiedKey(self.call.ctx, self.name.0));
            api!(NotifyKeyspaceEvent(self.call.ctx, raw::NOTIFY_MODULE, event.as_ptr(), self.name.0,));
        }
    }
}

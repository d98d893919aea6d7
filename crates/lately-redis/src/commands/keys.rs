//! Keys that a command expects to exist or to be missing.

use std::ffi::CStr;

use crate::server::{Argument, Call, DataType, Failure, Reply, WriteKey};
use crate::value::Value;

pub(super) fn no_such_key() -> Failure {
    Failure::new("no such key: create a filter with APBF.RESERVE")
}

/// Opens a key to create a filter. Fails if the key exists.
pub(super) fn open_missing<'a, V: DataType>(
    call: &'a Call<'_>,
    name: &'a Argument,
) -> Result<WriteKey<'a, V>, Failure> {
    let mut key = call.open_to_write::<V>(name);
    if key.value()?.is_some() {
        return Err(key_exists());
    }
    Ok(key)
}

pub(super) fn key_exists() -> Failure {
    Failure::new("the key already exists: delete it first, or choose another name")
}

/// Creates the filter that the command's arguments contain, and replicates the command unchanged.
pub(super) fn create_from_arguments(
    call: &Call<'_>,
    mut key: WriteKey<'_, Value>,
    value: Box<Value>,
    event: &CStr,
) -> Result<Reply, Failure> {
    // A filter that was accepted once may have counted further since.
    if !call.is_replayed() {
        value.check_counts()?;
    }
    key.set(value)?;
    call.replicate_verbatim();
    key.notify_change(event);
    Ok(Reply::Ok)
}

//! A running command: its arguments, and the server functions that it calls.

use std::ffi::{CStr, CString};
use std::process;
use std::slice;

use crate::raw;

use super::api::api;
use super::failure::Failure;

/// An argument of a command: any bytes.
#[repr(transparent)]
pub(crate) struct Argument(pub(super) *mut raw::String);

impl AsRef<[u8]> for Argument {
    fn as_ref(&self) -> &[u8] {
        let mut len = 0;
        // SAFETY: the string is the server's and lives as long as the call that borrows it; its bytes do not
        // move.
        unsafe {
            let bytes = api!(StringPtrLen(self.0, &raw mut len));
            slice::from_raw_parts(bytes.cast(), len)
        }
    }
}

impl lately::Item for Argument {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self.as_ref())
    }
}

/// A running command: its arguments, and access to the server.
pub(crate) struct Call<'a> {
    pub(super) ctx: *mut raw::Ctx,
    /// The arguments after the command's name.
    pub(super) arguments: &'a [Argument],
}

impl<'a> Call<'a> {
    pub(crate) fn arguments(&self) -> &'a [Argument] {
        self.arguments
    }

    /// Returns the first argument, which was declared as the key, and all arguments after it.
    pub(crate) fn key_and_rest(&self) -> Result<(&'a Argument, &'a [Argument]), Failure> {
        self.arguments.split_first().ok_or(Failure::Arity)
    }

    /// Returns the key and the `N` arguments after it. Fails if there are more or fewer.
    pub(crate) fn key_and<const N: usize>(&self) -> Result<(&'a Argument, &'a [Argument; N]), Failure> {
        let (key, rest) = self.key_and_rest()?;
        Ok((key, rest.try_into().map_err(|_| Failure::Arity)?))
    }

    /// Returns true if the command was already executed once: it comes from the primary or from the
    /// append-only file, not from a client.
    pub(crate) fn is_replayed(&self) -> bool {
        // SAFETY: the context belongs to the running command.
        let flags = unsafe { api!(GetContextFlags(self.ctx)) };
        flags & (raw::CTX_FLAGS_REPLICATED | raw::CTX_FLAGS_LOADING) != 0
    }

    /// Ends the server, as it ends if any other type of key gets no memory, unless a client has sent the command.
    pub(super) fn end_if_replayed(&self, why: &str) {
        if !self.is_replayed() {
            return;
        }
        let message = CString::new(format!(
            "{why}; this server ends, because it would differ from its primary or its file"
        ));
        let message = message.unwrap_or_default();
        // SAFETY: the context belongs to the running command. The arguments match the format: one C string.
        unsafe { api!(Log(self.ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr())) };
        process::exit(1);
    }

    /// Returns true if the server uses more memory than `maxmemory` allows.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        // SAFETY: the context belongs to the running command.
        unsafe { api!(GetContextFlags(self.ctx)) & raw::CTX_FLAGS_OOM != 0 }
    }

    /// Sends the command unchanged to replicas and the append-only file.
    pub(crate) fn replicate_verbatim(&self) {
        // SAFETY: the context belongs to the running command.
        unsafe { api!(ReplicateVerbatim(self.ctx)) };
    }

    /// Sends a command with a key and bytes to replicas and the append-only file.
    pub(crate) fn replicate_bytes(&self, command: &CStr, key: &Argument, bytes: &[u8]) {
        // SAFETY: the arguments match the format: a string, then bytes and their length.
        unsafe {
            api!(Replicate(self.ctx, command.as_ptr(), c"sb".as_ptr(), key.0, bytes.as_ptr(), bytes.len(),));
        }
    }

    /// Sends the deletion of a key to replicas and the append-only file.
    pub(crate) fn replicate_deletion(&self, key: &Argument) {
        // SAFETY: the arguments match the format: a string.
        unsafe { api!(Replicate(self.ctx, c"DEL".as_ptr(), c"s".as_ptr(), key.0)) };
    }

    /// Sends a command with a key and items to replicas and the append-only file.
    pub(crate) fn replicate_items(&self, command: &CStr, key: &Argument, items: &[Argument]) {
        // SAFETY: the arguments match the format: a string, then an array of strings and its length. The
        // server only reads the array.
        unsafe {
            api!(Replicate(self.ctx, command.as_ptr(), c"sv".as_ptr(), key.0, items.as_ptr(), items.len(),));
        }
    }

    /// Sends a command with a key, a number, a keyword and items to replicas and the append-only file.
    pub(crate) fn replicate_items_at(
        &self,
        command: &CStr,
        key: &Argument,
        number: u64,
        keyword: &CStr,
        items: &[Argument],
    ) {
        // SAFETY: the arguments match the format: a string, a number, a C string, then an array of strings
        // and its length.
        unsafe {
            api!(Replicate(
                self.ctx,
                command.as_ptr(),
                c"slcv".as_ptr(),
                key.0,
                number.cast_signed(),
                keyword.as_ptr(),
                items.as_ptr(),
                items.len(),
            ));
        }
    }
}

//! Replies to clients.

use std::ffi::{CString, c_char, c_long};

use crate::raw;

use super::api::api;
use super::failure::Failure;

/// A reply that can be sent in both versions of the protocol.
pub(crate) enum Reply {
    Ok,
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// An array of the integers 1 and 0.
    Flags(Vec<bool>),
    Array(Vec<Reply>),
    /// RESP2 clients receive an array of alternating names and values.
    Map(Vec<(&'static str, Reply)>),
}

impl Reply {
    pub(crate) fn count(count: u64) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Reply {
    fn from(flag: bool) -> Self {
        Self::Integer(flag.into())
    }
}

impl From<Vec<bool>> for Reply {
    fn from(flags: Vec<bool>) -> Self {
        Self::Flags(flags)
    }
}

pub(super) fn send(ctx: *mut raw::Ctx, result: Result<Reply, Failure>) {
    match result {
        Ok(reply) => send_reply(ctx, &reply),
        // SAFETY: the context belongs to the running command.
        Err(Failure::Arity) => unsafe {
            api!(WrongArity(ctx));
        },
        Err(failure) => {
            let message = CString::new(failure.to_string()).unwrap_or_default();
            // SAFETY: as above; the message lives longer than the call.
            unsafe { api!(ReplyWithError(ctx, message.as_ptr())) };
        }
    }
}

/// Converts a length. No list is longer than `c_long::MAX`.
fn signed(len: usize) -> c_long {
    c_long::try_from(len).unwrap_or(c_long::MAX)
}

fn send_reply(ctx: *mut raw::Ctx, reply: &Reply) {
    let send_bytes = |bytes: &[u8]| {
        // SAFETY: the context belongs to the running command, and the bytes live longer than the call.
        unsafe { api!(ReplyWithStringBuffer(ctx, bytes.as_ptr().cast::<c_char>(), bytes.len())) };
    };
    // SAFETY: as above; each array or map is followed by exactly the announced number of replies.
    unsafe {
        match reply {
            Reply::Ok => {
                api!(ReplyWithSimpleString(ctx, c"OK".as_ptr()));
            }
            Reply::Null => {
                api!(ReplyWithNull(ctx));
            }
            Reply::Integer(number) => {
                api!(ReplyWithLongLong(ctx, *number));
            }
            Reply::Real(number) => {
                api!(ReplyWithDouble(ctx, *number));
            }
            Reply::Text(text) => send_bytes(text.as_bytes()),
            Reply::Bytes(bytes) => send_bytes(bytes),
            Reply::Flags(flags) => {
                api!(ReplyWithArray(ctx, signed(flags.len())));
                for &flag in flags {
                    api!(ReplyWithLongLong(ctx, flag.into()));
                }
            }
            Reply::Array(replies) => {
                api!(ReplyWithArray(ctx, signed(replies.len())));
                replies.iter().for_each(|reply| send_reply(ctx, reply));
            }
            Reply::Map(entries) => {
                api!(ReplyWithMap(ctx, signed(entries.len())));
                for (name, reply) in entries {
                    send_bytes(name.as_bytes());
                    send_reply(ctx, reply);
                }
            }
        }
    }
}

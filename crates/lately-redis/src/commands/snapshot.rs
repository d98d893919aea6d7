//! `APBF.SNAPSHOT` and `APBF.LOAD`: the snapshot format that the command line, Python and all servers share, as a whole or
//! in pieces.

use std::ffi::CStr;

use lately::{Clock, Filter};

use super::keys::{create_from_arguments, key_exists, no_such_key, open_missing};
use super::room::check_memory;
use crate::arguments::{integer, shown};
use crate::configs::check_size;
use crate::incoming::Incoming;
use crate::replication::{CURSOR, LOAD};
use crate::server::{
    self, Argument, Call, Command, Description, Failure, KeyUse, Parameter, Reply, WriteKey,
};
use crate::value::Value;

const LOADED: &CStr = LOAD;
/// The largest piece that SNAPSHOT returns. Copying it takes less than a millisecond.
const PIECE_BYTES: usize = 1 << 20;
/// The largest piece that LOAD takes.
const MOST_PIECE_BYTES: usize = 2 << 20;
pub(super) struct Snapshot;
pub(super) struct Load;

impl Command for Snapshot {
    const DESCRIPTION: Description = Description::new(
        c"apbf.snapshot",
        c"Returns the filter as bytes, in the format of the command line tool lately; with CURSOR, in pieces.",
        Some(KeyUse::Reads),
        &[Parameter::integer(c"cursor").after(CURSOR).optional()],
    )
    .takes(c"O(N) for N bytes; with CURSOR O(1)");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (key, rest) = call.key_and_rest()?;
        let key = call.open_to_look::<Value>(key);
        let value = key.value()?.ok_or_else(no_such_key)?;
        match rest {
            [] => Ok(Reply::Bytes(value.filter().to_bytes())),
            [keyword, begin] => next_piece(value, cursor(keyword, begin)?),
            _ => Err(Failure::Arity),
        }
    }
}

impl Command for Load {
    const DESCRIPTION: Description = Description::new(
        LOAD,
        c"Creates a filter from a snapshot; with CURSOR, from the pieces of one.",
        Some(KeyUse::Creates),
        &[Parameter::integer(c"cursor").after(CURSOR).optional(), Parameter::text(c"bytes")],
    )
    .takes(c"O(N) for N bytes");

    fn run(call: &Call<'_>) -> Result<Reply, Failure> {
        let (name, rest) = call.key_and_rest()?;
        match rest {
            [bytes] => load_whole(call, name, bytes.as_ref()),
            [keyword, begin, bytes] => {
                let begin = cursor(keyword, begin)?;
                let bytes = bytes.as_ref();
                if bytes.len() > MOST_PIECE_BYTES {
                    return Err(Failure::new(format!(
                        "the piece has {} bytes, but can have at most {MOST_PIECE_BYTES}: send smaller ones",
                        bytes.len()
                    )));
                }
                let next = if begin == 0 {
                    begin_load(call, name, bytes)
                } else {
                    load_piece(call, name, begin, bytes)
                };
                next.map(Reply::count)
            }
            _ => Err(Failure::Arity),
        }
    }
}

fn cursor(keyword: &Argument, begin: &Argument) -> Result<u64, Failure> {
    let keyword = keyword.as_ref();
    if !keyword.eq_ignore_ascii_case(CURSOR.to_bytes()) {
        return Err(Failure::new(format!("'{}' is not an option: the option is CURSOR", shown(keyword))));
    }
    integer("CURSOR", begin.as_ref(), 0..=i64::MAX.cast_unsigned())
}

/// Returns the next cursor, 0 after the last piece, and the piece.
fn next_piece(value: &Value, begin: u64) -> Result<Reply, Failure> {
    let piece = value.piece_of_snapshot(begin, PIECE_BYTES).ok_or_else(|| {
        Failure::new(format!(
            "there is no piece at CURSOR {begin}: the filter has changed since CURSOR 0, or that was read by another client: begin again, with a COPY of a key that is written to"
        ))
    })?;
    let next = begin + piece.len() as u64;
    let next = if next == value.filter().snapshot_len() { 0 } else { next };
    Ok(Reply::Array(vec![Reply::count(next), Reply::Bytes(piece)]))
}

fn load_whole(call: &Call<'_>, name: &Argument, bytes: &[u8]) -> Result<Reply, Failure> {
    let key = open_missing(call, name)?;
    if !call.is_replayed() {
        check_memory(call)?;
        check_size(Filter::memory_of_snapshot(bytes)?)?;
    }
    let value = Value::new(|| Filter::from_bytes(bytes))?;
    if !call.is_replayed() {
        check_clock(value.filter())?;
    }
    create_from_arguments(call, key, with_system_clock(value), LOADED)
}

/// Creates the key of a filter that comes in pieces. Returns the next cursor; 0 if nothing is missing.
fn begin_load(call: &Call<'_>, name: &Argument, bytes: &[u8]) -> Result<u64, Failure> {
    if matches!(call.open_to_look::<Value>(name).value(), Ok(Some(_))) {
        return Err(key_exists());
    }
    let mut key = open_missing::<Incoming>(call, name)?;
    if !call.is_replayed() {
        check_memory(call)?;
        check_size(Filter::memory_of_snapshot(bytes)?)?;
    }
    let mut incoming = Box::<Incoming>::default();
    incoming.push(bytes)?;
    let Some(filter) = incoming.reader().partial() else {
        return Err(Failure::new(format!(
            "the first piece has {} bytes, which is too few to tell what follows: send 64 KiB or more",
            bytes.len()
        )));
    };
    if !call.is_replayed() {
        check_clock(filter)?;
    }
    key.set(incoming)?;
    after_piece(call, key)
}

fn load_piece(call: &Call<'_>, name: &Argument, begin: u64, bytes: &[u8]) -> Result<u64, Failure> {
    let mut key = call.open_to_write::<Incoming>(name);
    let incoming = key.value()?.ok_or_else(|| Failure::new("no such key: begin with CURSOR 0"))?;
    let expected = incoming.reader().received();
    if begin != expected {
        return Err(Failure::new(format!(
            "CURSOR is {begin}, but the next piece begins at {expected}: send that one"
        )));
    }
    match incoming.push(bytes) {
        Ok(()) => after_piece(call, key),
        Err(error) => Err(drop_damaged(call, key, &error.into())),
    }
}

/// Makes a filter of the pieces if all have come. Returns the next cursor.
fn after_piece(call: &Call<'_>, mut key: WriteKey<'_, Incoming>) -> Result<u64, Failure> {
    let incoming = key.value()?.ok_or_else(no_such_key)?;
    let mut next = incoming.reader().received();
    if incoming.reader().is_complete() {
        let reader = incoming.take();
        let built = Value::new(|| reader.finish()).map_err(Failure::from);
        let check = |value: &Value| if call.is_replayed() { Ok(()) } else { value.check_counts() };
        match built.and_then(|value| check(&value).map(|()| value)) {
            Ok(value) => key.replace(with_system_clock(value))?,
            Err(failure) => return Err(drop_damaged(call, key, &failure)),
        };
        next = 0;
    }
    call.replicate_verbatim();
    key.notify_change(LOADED);
    Ok(next)
}

/// Deletes a key whose pieces are no snapshot.
fn drop_damaged(call: &Call<'_>, mut key: WriteKey<'_, Incoming>, failure: &Failure) -> Failure {
    key.delete();
    call.replicate_deletion(key.name());
    key.notify_change(LOADED);
    Failure::new(format!("{}. The key is deleted: begin again with CURSOR 0", failure.message()))
}

/// On a server, a time window lives on the server's clock.
fn with_system_clock(mut value: Box<Value>) -> Box<Value> {
    value.change(|filter| filter.set_clock(Clock::System));
    value
}

/// Fails if the server's clock is more than a span behind the filter, or if the filter lived on the times of events, and
/// the server's clock would forget all of them at once.
fn check_clock(filter: &Filter) -> Result<(), Failure> {
    let (Some(latest_ms), Some(span)) = (filter.latest_ms(), filter.window().span()) else { return Ok(()) };
    let (now_ms, span_ms) = (server::now_ms(), span.as_millis() as u64);
    if latest_ms.saturating_sub(now_ms) > span_ms {
        return Err(Failure::new(format!(
            "the latest time of the filter is {latest_ms}, which this server reaches only {} ms later than now, and until then nothing would be forgotten: set the clock, or load a filter with the times of now",
            latest_ms - now_ms
        )));
    }
    if filter.clock() != Clock::Events || now_ms.saturating_sub(latest_ms) <= span_ms {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the filter lives on the times of events, the latest is {latest_ms}, and its span is {span_ms} ms; at {now_ms}, the time of this server, all its items would be forgotten: use it where the times of the events are given, or load a newer one"
    )))
}

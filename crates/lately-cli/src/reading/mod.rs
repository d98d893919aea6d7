//! Reads bytes, finds the records in them and hashes their keys, on a thread of its own.

mod batch;
mod content;
mod followed;
mod input;
mod oversize;
#[cfg(any(test, fuzzing))]
mod pieces;
mod position;
mod reader;
mod record_finder;
mod source;
mod splitter;
mod stop;

pub(crate) use batch::{BLOCK_BYTES, Batch, UnkeyedKind};
pub(crate) use input::{Follow, Inputs};
pub(crate) use oversize::{Limit, OnOversize};
#[cfg(any(test, fuzzing))]
pub(crate) use pieces::{ends_in_pieces, read_in_pieces};
pub(crate) use position::Position;
pub(crate) use record_finder::{EarlierHeader, RecordFinder, header_text};
pub(crate) use source::{InputEnd, Next, Source};
pub(crate) use splitter::Splitter;

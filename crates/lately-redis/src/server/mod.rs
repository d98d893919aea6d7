//! A safe interface to the server. Every call of its C API is in this directory, except those for memory.
//!
//! Of this crate, these files know only `raw`. The rest implements the traits below, and the server calls
//! them:
//!
//! | trait | the server calls it | implemented by |
//! |---|---|---|
//! | [`Command`] | for each command | the files in `commands` |
//! | [`DataType`] | to save, load, rewrite, copy and drop the value of a key | `data_type` |
//! | [`Configs`] | after `CONFIG SET` | `configs` |
//! | [`InfoSection`] | for `INFO` | `info_section` |
//!
//! A running command has a [`Call`]: its arguments, its key, and replication.
#![allow(unsafe_code)]

mod api;
mod call;
mod command;
mod config;
mod data_type;
mod description;
mod failure;
mod info_section;
mod key;
pub(crate) mod module;
mod rdb;
mod reply;

pub(crate) use api::now_ms;
pub(crate) use call::{Argument, Call};
pub(crate) use command::Command;
pub(crate) use config::{Configs, EnumConfig, IntegerConfig, TextConfig};
pub(crate) use data_type::{AofWriter, DataType, Digest, Handle};
pub(crate) use description::{Description, KeyUse, Parameter};
pub(crate) use failure::Failure;
pub(crate) use info_section::{InfoFields, InfoSection};
pub(crate) use key::WriteKey;
pub(crate) use module::{Module, NotRegistered, entry_point};
pub(crate) use rdb::{Damaged, Loader, Saver};
pub(crate) use reply::Reply;

//! A safe interface to the server. Every call of its C API is in this directory, except those for memory.
#![allow(unsafe_code)]

mod api;
mod blocking;
mod call;
mod command;
mod config;
mod data_type;
mod description;
mod failure;
mod info_section;
mod key;
mod module;
mod rdb;
mod reply;

pub(crate) use api::{catch_panic, now_ms};
pub(crate) use blocking::{Awaited, BlockedClient};
pub(crate) use call::{Argument, Call};
pub(crate) use command::{BlockingCommand, Command, Outcome};
pub(crate) use config::{Configs, EnumConfig, IntegerConfig, RealConfig};
pub(crate) use data_type::{AofWriter, DataType, Digest, Handle};
pub(crate) use description::{Description, KeyUse, Parameter};
pub(crate) use failure::Failure;
pub(crate) use info_section::{InfoFields, InfoSection};
pub(crate) use key::WriteKey;
pub(crate) use module::{Module, NotRegistered, entry_point, load};
pub(crate) use rdb::{Damaged, Loader, Saver};
pub(crate) use reply::Reply;

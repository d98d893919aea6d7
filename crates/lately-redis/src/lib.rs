//! A module that adds the filter to Redis and Valkey as a native data type. The library `lately` does the
//! planning, the windows and the snapshots. docs/redis.md is the manual for users and operators.
//!
//! Each module uses only those below it:
//!
//! ```text
//! commands                        one file per family of commands
//! incoming                        a filter whose snapshot comes in pieces
//! data_type  info_section         how a key is saved, loaded and rewritten; the section of INFO
//! configs                         the default promise, and the largest size of a key
//! planning                        where a promise becomes a plan
//! replication                     what replicas and the append-only file receive
//! arguments  value                a command's arguments; what a key holds
//! traffic                         what commands did, counted
//! server                          a safe interface to the server
//! allocator  raw                  the server's memory; declarations of its C interface
//! ```
//!
//! Only the last two rows contain unsafe code and know the C interface.

mod allocator;
mod arguments;
mod commands;
mod configs;
mod data_type;
mod incoming;
mod info_section;
mod planning;
mod raw;
mod replication;
mod server;
mod traffic;
mod value;

/// A server in memory, and what the fuzzer (fuzz/) sends to it.
#[cfg(any(test, fuzzing))]
#[path = "../tests/fuzzing/mod.rs"]
pub mod fuzzing;

use server::{Module, NotRegistered};

server::entry_point!(register);

/// Registers everything that the server can call. On `Err` the server does not load the module.
fn register(module: &Module) -> Result<(), NotRegistered> {
    // While a forked process saves, each page that the server writes is copied: huge pages make that
    // expensive.
    lately::ask_for_huge_pages(false);
    module.data_type::<value::Value>()?;
    module.data_type::<incoming::Incoming>()?;
    configs::register(module)?;
    commands::register(module)?;
    module.load_configs()?;
    module.info_section::<info_section::Totals>()?;
    // CONFIG SET refuses defaults for which no plan exists, but a configuration file can contain them.
    if let Err(failure) = planning::plan(&configs::default_promise()) {
        module.warn(&format!(
            "no filter can be created with the apbf.default-* configs; change them with CONFIG SET: {failure}"
        ));
    }
    Ok(())
}

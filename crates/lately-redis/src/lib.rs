//! The filter as a native data type of Redis and Valkey: a module that both servers load.
//!
//! Planning, windows and snapshots are those of the library `lately`; here they are translated into commands
//! (`commands`), a data type (`data_type`), configs and replication. All that talks to the server in its own terms, and
//! all unsafe code, is in `server` and `allocator`. docs/redis.md describes what users and operators see.

mod allocator;
mod arguments;
mod commands;
mod configs;
mod data_type;
mod failure;
mod info;
mod promise;
mod queue;
mod replication;
mod server;
mod value;

use server::Loading;

/// What happens when a server loads the module. `Err` makes it refuse.
fn load(loading: &Loading) -> Result<(), server::Refused> {
    // A server that saves in a forked process copies every page it writes meanwhile.
    lately::ask_for_huge_pages(false);
    data_type::register(loading)?;
    configs::register(loading)?;
    commands::register(loading)?;
    info::register(loading)?;
    // The first ADD to a missing key shall not wait for the planner.
    if let Err(failure) = promise::Promise::by_default().plan() {
        loading
            .warn(&format!("the default promise cannot be kept, so only RESERVE creates filters: {failure}"));
    }
    Ok(())
}

//! Writes the kept records to standard output or to files, the filter to the state file, and the progress to a terminal.

mod destination;
mod output;
mod progress;
mod repeats;
mod sink;
mod state;

pub(crate) use output::{Emit, Output};
pub(crate) use progress::progress_bar;
pub(crate) use repeats::{Lifetime, LineFormat, Moment, Repeats};
pub(crate) use sink::print;
pub(crate) use state::{StateFile, load_state};

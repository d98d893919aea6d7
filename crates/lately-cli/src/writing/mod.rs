//! Writes the kept records to standard output or to files, the filter to the state file, and the progress to a terminal.

mod beside;
mod destination;
mod output;
mod progress;
mod repeats;
mod sink;
mod state;
mod torn;

pub(crate) use output::{Continued, Emit, Output};
pub(crate) use progress::progress_bar;
pub(crate) use repeats::{Lifetime, LineFormat, Moment, Repeats};
pub(crate) use sink::print;
pub(crate) use state::{StateFile, load_state};

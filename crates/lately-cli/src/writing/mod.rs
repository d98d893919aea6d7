//! Writes the kept records to standard output, the filter to the state file, and the progress to a terminal.

mod output;
mod progress;
mod standard_output;
mod state;

pub(crate) use output::{Emit, Output};
pub(crate) use progress::progress_bar;
pub(crate) use standard_output::print;
pub(crate) use state::{StateFile, load_state};

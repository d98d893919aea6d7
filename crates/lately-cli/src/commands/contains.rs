//! `lately contains`: tags records as seen or new.

use std::path::PathBuf;

use clap::Args;

use super::files::Files;
use super::flags::RecordFlags;
use super::reports::Reports;
use super::stream::{self, Outputs};
use crate::deciding::{Clock, Refresh, Sieve};
use crate::failure::Failure;
use crate::reading::{InputEnd, Inputs};
use crate::writing::{Emit, Output, load_state};

const EXAMPLES: &str = "\
Examples:
  Which of these orders were seen lately?
    lately contains --state orders.lately < orders.txt
  The same for a state that was made with a JSON key:
    lately contains --state hooks.lately --json event.id < hooks.jsonl";

/// Tag each record of standard input as seen or new, without changing the state
///
/// Each record is written after `seen`, `new` or `missing` (no key) and a tab, or the delimiter. Give the
/// same key flags as when the state was made. A time window ends at the latest time that the state has
/// stored.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Contains {
    /// A state saved by `dedup --state`
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
    #[command(flatten)]
    records: RecordFlags,
    /// These groups of --key-regex are the time, and not part of the key
    #[arg(
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        requires = "key_regex",
        help_heading = "Records and keys"
    )]
    time_field: Vec<String>,
}

impl Contains {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let inputs = Inputs::new(&[])?;
        let mut output = Output::open(Emit::Tagged, self.records.tag_delimiter())?;
        let mut files = Files::default();
        files.read_inputs(&inputs)?;
        files.read("--state", &self.state)?;
        files.write_output(output.main().file())?;
        let filter = load_state(&self.state)?;
        let finder = self.records.finder(&self.time_field, None, filter.hash_function())?;
        let mut sieve =
            Sieve::new(filter, Refresh::Never, Clock::None, self.records.missing, self.records.oversize);
        let outputs = Outputs { records: &mut output, state: None, reports: &mut Reports::new(None, None) };
        match stream::run(inputs, finder, &mut sieve, outputs)? {
            InputEnd::Complete => Ok(()),
            InputEnd::Failed(failure) => Err(failure),
            InputEnd::Stopped(signal) => Err(Failure::Stopped(signal)),
        }
    }
}

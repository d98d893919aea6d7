//! `lately contains`: tags records as seen or new.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::input::Inputs;
use crate::output::{Emit, Output};
use crate::progress;
use crate::sieve::{Clock, Operation, Sieve};
use crate::state;
use crate::stream::{RecordArgs, Source, StreamEnd};

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
    records: RecordArgs,
}

impl Contains {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let filter = state::load(&self.state)?;
        let inputs = Inputs::new(&[])?;
        let mut output = Output::new(Emit::Tagged(self.records.tag_delimiter()))?;
        inputs.check_output(output.file())?;
        let progress = progress::bar(inputs.total_bytes(), true);
        let source = Source::start(inputs, &self.records, None, filter.hash_function())?;
        let mut sieve = Sieve::new(filter, Operation::Look, Clock::None, self.records.missing);
        let ended = source.run(&mut sieve, &mut output, None, &progress);
        progress.finish_and_clear();
        ended.map_err(|end| match end {
            StreamEnd::OutputFailed(failure) | StreamEnd::InputFailed(failure) => failure,
            StreamEnd::Stopped(signal) => Failure::Stopped(signal),
        })
    }
}

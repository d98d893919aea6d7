//! `lately contains`: which records has a state seen?

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
  Which of these orders went through lately?
    lately contains --state orders.lately < orders.txt
  The same by a JSON key, as the state was made:
    lately contains --state hooks.lately --json event.id < hooks.jsonl";

/// Tag each record of standard input as seen or new, without changing the state
///
/// Each record comes out behind `seen`, `new` or `missing` (no key) and a tab, or the delimiter. Keys must be asked for as
/// they were when the state was made. A window of time is the one before the last record the state knows.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Contains {
    /// The state, as `dedup --state` saves it
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

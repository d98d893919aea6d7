//! Runs a stream: takes batches from the reading thread, decides, writes, and saves the state when it is due.

use indicatif::ProgressBar;

use crate::deciding::Sieve;
use crate::failure::Failure;
use crate::reading::{InputEnd, Inputs, RecordFinder, Source};
use crate::writing::{Output, StateFile, progress_bar};

/// Runs until the input ends, fails or is stopped. Afterwards every record that `sieve` has counted has been
/// written. After a failure, counted records may not have been written.
pub(super) fn run(
    inputs: Inputs,
    finder: RecordFinder,
    sieve: &mut Sieve,
    output: &mut Output,
    state: Option<&mut StateFile>,
) -> Result<InputEnd, Failure> {
    let progress = progress_bar(inputs.total_bytes(), output.writes_records());
    let source = Source::start(inputs, finder)?;
    let ended = pass_through(source, sieve, output, state, &progress);
    progress.finish_and_clear();
    ended
}

fn pass_through(
    mut source: Source,
    sieve: &mut Sieve,
    output: &mut Output,
    mut state: Option<&mut StateFile>,
    progress: &ProgressBar,
) -> Result<InputEnd, Failure> {
    loop {
        match source.next(state.as_ref().and_then(|state| state.until_checkpoint())) {
            Ok(None) => {}
            Ok(Some(batch)) => {
                let decided = sieve.decide(&batch, |record, verdict| output.note(&batch, record, verdict));
                output.write(&batch)?;
                progress.inc(batch.bytes().len() as u64);
                if let Some(state) = &mut state {
                    state.touch();
                }
                // The records before the one that ends the run have been written, and count.
                if let Err(failure) = decided {
                    return Ok(InputEnd::Failed(failure));
                }
                source.recycle(batch);
            }
            Err(end) => return Ok(end),
        }
        if let Some(state) = &mut state {
            state.checkpoint_if_due(&sieve.filter, || output.durable())?;
        }
    }
}

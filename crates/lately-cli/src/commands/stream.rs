//! Runs a stream: takes batches from the reading thread, decides, writes, and saves the state when it is due.

use std::time::Duration;

use indicatif::ProgressBar;

use super::reports::Reports;
use crate::deciding::Sieve;
use crate::failure::Failure;
use crate::reading::{Batch, InputEnd, Inputs, Next, RecordFinder, Source};
use crate::writing::{Moment, Output, StateFile, progress_bar};

/// What a stream leaves behind besides the decisions.
pub(super) struct Outputs<'a> {
    pub(super) records: &'a mut Output,
    pub(super) state: Option<&'a mut StateFile>,
    pub(super) reports: &'a mut Reports,
}

/// Runs until the input ends, fails or is stopped. Afterwards every record that `sieve` has counted has been
/// written. After a failure, counted records may not have been written.
pub(super) fn run(
    inputs: Inputs,
    finder: RecordFinder,
    sieve: &mut Sieve,
    mut outputs: Outputs<'_>,
) -> Result<InputEnd, Failure> {
    let progress = progress_bar(inputs.total_bytes(), outputs.records.writes_records());
    let source = Source::start(inputs, finder)?;
    let ended = pass_through(source, sieve, &mut outputs, &progress);
    progress.finish_and_clear();
    let end = ended?;
    outputs.records.finish()?;
    Ok(end)
}

fn pass_through(
    mut source: Source,
    sieve: &mut Sieve,
    outputs: &mut Outputs<'_>,
    progress: &ProgressBar,
) -> Result<InputEnd, Failure> {
    loop {
        match source.next(outputs.patience()) {
            Ok(Next::Nothing) => {}
            Ok(Next::Report) => outputs.reports.print(sieve, outputs.state.as_deref()),
            Ok(Next::Batch(batch)) => {
                let decided = outputs.pass(sieve, &batch)?;
                progress.inc(batch.bytes().len() as u64);
                // The records before the one that ends the run have been written, and count.
                if let Err(failure) = decided {
                    return Ok(InputEnd::Failed(failure));
                }
                source.recycle(batch);
            }
            Err(end) => return Ok(end),
        }
        outputs.do_what_is_due(sieve)?;
    }
}

impl Outputs<'_> {
    /// Returns how long there is nothing to do but to wait for records.
    fn patience(&self) -> Option<Duration> {
        let checkpoint = self.state.as_ref().and_then(|state| state.until_checkpoint());
        let sweep = self.records.sweep_interval_ms().map(Duration::from_millis);
        [checkpoint, sweep, self.reports.until_due()].into_iter().flatten().min()
    }

    /// Decides on a batch and writes it. The inner error ends the run after it.
    fn pass(&mut self, sieve: &mut Sieve, batch: &Batch) -> Result<Result<(), Failure>, Failure> {
        self.records.start_batch(moment_of(sieve));
        let decided = sieve.decide(batch, |decided| self.records.note(batch, decided));
        self.records.write(batch)?;
        if let Some(state) = &mut self.state {
            state.note(batch);
            state.touch();
        }
        Ok(decided)
    }

    fn do_what_is_due(&mut self, sieve: &Sieve) -> Result<(), Failure> {
        if self.records.sweep_interval_ms().is_some() {
            self.records.tell_ended(moment_of(sieve))?;
        }
        if let Some(state) = &mut self.state {
            state.checkpoint_if_due(&sieve.filter, || self.records.durable())?;
        }
        self.reports.report_if_due(sieve, self.state.as_deref());
        Ok(())
    }
}

fn moment_of(sieve: &Sieve) -> Moment {
    Moment { ms: sieve.now_ms(), records: sieve.counts.records }
}

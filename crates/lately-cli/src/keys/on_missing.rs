//! `--missing`: what to do with a record without a key.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnMissing {
    /// Let it pass, as if it were new
    Pass,
    /// Leave it out
    Drop,
    /// End the run with an error
    Fail,
}

//! `--late`: what to do with a record whose window has passed.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnLate {
    /// Let it pass, as if it were new
    Pass,
    /// Leave it out
    Drop,
    /// End the run with an error
    Fail,
}

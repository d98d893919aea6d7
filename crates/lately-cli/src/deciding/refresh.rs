//! `--refresh`: which sightings of a record are inserted into the filter.

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Refresh {
    /// Every sighting: a record passes again after it has been absent for the window
    Every,
    /// Only the first: a record passes about once per window. A key that was mistaken for another one stays
    /// mistaken until that one is forgotten: --fp is a share of keys, not of records
    First,
    /// None: the filter is only queried
    #[value(skip)]
    Never,
}

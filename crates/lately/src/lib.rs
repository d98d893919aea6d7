#![doc = "Have I seen this lately?"]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod ageing;
mod builder;
mod error;
#[cfg(feature = "std")]
mod file;
mod filter;
mod hash;
mod layout;
pub mod model;
mod operations;
mod plan;
mod query;
mod ring;
#[cfg(feature = "serde")]
mod serde_impls;
mod shape;
mod snapshot;
mod statistics;
mod window;

pub use ageing::AgeRange;
pub use builder::Builder;
pub use error::{ConfigError, SnapshotError};
pub use filter::Filter;
pub use hash::HashFunction;
pub use plan::{DEFAULT_SLACK, MAX_WINDOW, MIN_RATE, Plan};
pub use shape::{Layout, MAX_PARTS, MAX_SEGMENTS, Segment, Shape};
pub use snapshot::FORMAT_VERSION;
pub use statistics::Statistics;
pub use window::{Overload, Window};

//! "Have I seen this lately?", answered for an endless stream, in fixed memory.
//!
//! A [`Filter`] is a sliding-window Bloom filter (age-partitioned, after Shtul, Baquero and Almeida). It promises:
//!
//! 1. Any of the last *window* inserts is reported. Always.
//! 2. An item never inserted is reported at most at the rate asked for, at the worst moment, by an exact model.
//! 3. Items that have left the window are soon forgotten; how many linger on average is bounded too.
//! 4. Memory is fixed, and known before construction.
//! 5. The same input gives the same filter, bit for bit, on every platform.
//!
//! ```
//! use lately::{Filter, Layout};
//! use std::time::Duration;
//!
//! let mut seen = Filter::builder()
//!     .window(1_000_000)               // never forgets the last million inserts
//!     .false_positive_rate(1e-4)       // at the worst moment, by the exact model
//!     .build()?;
//!
//! seen.insert("order-17");
//! assert!(seen.contains("order-17"));
//! let seen_before = seen.check_and_insert("order-18");   // dedup; every sighting refreshes
//! let seen_before = seen.check_or_insert("order-18");    // dedup; only the first sighting counts
//!
//! let mut recent = Filter::builder()
//!     .time_window(Duration::from_secs(600), 5_000_000)  // span, and the most items expected in one span
//!     .false_positive_rate(1e-3)
//!     .max_slack(0.1)                  // peak NPWS
//!     .layout(Layout::Blocks)          // optional: the planner chooses otherwise
//!     .build()?;
//! recent.advance_to(1_700_000_000_000); // caller's clock, milliseconds
//! recent.insert(b"bytes work too");
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! # Quirks
//!
//! - **No deletion.** An item leaves by ageing out, or with everything else by [`clear`](Filter::clear).
//! - **`false` means "not in the window".** It does not mean "never inserted": old items are forgotten, on purpose.
//! - **Slack.** Items that have just left the window are still reported for a while: the first generation after it
//!   always, the next ones ever less often. [`max_slack`](Builder::max_slack) bounds how many, on average.
//! - **Whole generations.** A window is rounded up to a multiple of l, so
//!   [`guaranteed_window`](Filter::guaranteed_window) may be a little more than was asked for. The surplus counts as
//!   slack. The filter forgets in steps, one generation at a time.
//! - **Rates are expectations.** One filter's own rate scatters around the prediction, noticeably for windows below a
//!   few hundred items; and they are worst-case in time: before the filter is full, and right after a shift, the rate
//!   is lower. Repeated items lower it further.
//! - **Every insert counts** towards the window, also of an item that is already there. With
//!   [`check_or_insert`](Filter::check_or_insert) repeats are not inserted, and so do not age the filter.
//! - **Shifts.** With [`Layout::Slices`] and [`Layout::Blocks`] every g-th insert empties one segment, 1/(k + l) of the
//!   memory, and takes longer. [`Layout::Rows`] has no such pause.
//! - **Time windows** shift only when told the time. The rate is promised for inserts spread over the span: when one
//!   generation, 1/l of the span, brings more than 1/l of the capacity, the rate rises or the span gets shorter, as
//!   [`Overload`] says, even if the whole span brings no more than its capacity. It is counted.
//! - **Hashes are 64 bits.** Two items with equal hashes are one item to the filter; the predicted rate includes that.
//! - **Hashing is not secret** unless you ask for it: with the default hash, whoever knows the seed can make items
//!   collide. See [`HashFunction::SipHash13`].
//!
//! # Features
//!
//! `std` (default) adds `Filter::save` and `Filter::load`; without it the crate needs only `core` and `alloc`.
//! `serde` adds `Serialize` and `Deserialize`.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod ageing;
mod as_of;
mod batch;
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
#[cfg(feature = "std")]
mod shared;
mod single;
mod snapshot;
mod statistics;
#[cfg(feature = "std")]
mod sync;
mod window;

pub use ageing::AgeRange;
pub use as_of::AsOf;
pub use builder::Builder;
pub use error::{ConfigError, SnapshotError};
#[cfg(feature = "std")]
pub use file::PendingSave;
pub use filter::Filter;
pub use hash::HashFunction;
pub use layout::huge_pages::ask_for_huge_pages;
pub use plan::{DEFAULT_SLACK, MAX_WINDOW, MIN_RATE, Plan, Prefer, shard_window};
pub use shape::{Layout, MAX_PARTS, MAX_SEGMENTS, Segment, Shape};
#[cfg(feature = "std")]
pub use shared::SharedFilter;
pub use snapshot::FORMAT_VERSION;
pub use statistics::{Counters, Statistics};
pub use window::{Overload, Window};

/// The documents' examples are tests too.
#[cfg(all(doctest, feature = "std"))]
mod documents {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/choosing.md")]
    struct Choosing;
}

//! "Have I seen this lately?", answered for an endless stream, in fixed memory.
//!
//! A [`Filter`] is a sliding-window Bloom filter (age-partitioned, after Shtul, Baquero and Almeida). It
//! promises:
//!
//! 1. It reports every one of the last *window* inserts. Always.
//! 2. It reports an item that was never inserted at most at the requested rate, at the worst moment, by an
//!    exact model.
//! 3. It soon forgets items that have left the window. How many of them it still reports, on average, is
//!    bounded too.
//! 4. Its memory is fixed, and known before construction.
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
//! - **No deletion.** Items leave only by ageing, or all at once by [`clear`](Filter::clear).
//! - **`false` means "not in the window".** It does not mean "never inserted": the filter forgets old items
//!   on purpose.
//! - **Slack.** Items that have just left the window are still reported for a while: always during the first
//!   generation after it, then less and less often. [`max_slack`](Builder::max_slack) bounds how many, on
//!   average.
//! - **Whole generations.** A window is rounded up to a multiple of l, so
//!   [`guaranteed_window`](Filter::guaranteed_window) may be a little larger than requested. The surplus
//!   counts as slack. The filter forgets in steps of one generation.
//! - **Rates are expectations.** The actual rate of one filter varies around the prediction, noticeably for
//!   windows below a few hundred items. The promised rate is the worst case over time: before the filter is
//!   full, and right after a shift, the rate is lower. Repeated items lower it further.
//! - **Every insert counts** towards the window, also an insert of an item that is already there.
//!   [`check_or_insert`](Filter::check_or_insert) does not insert repeats, so repeats do not age the filter.
//! - **Shifts.** With [`Layout::Slices`] and [`Layout::Blocks`] every g-th insert takes longer: it empties
//!   one segment, 1/(k + l) of the memory. [`Layout::Rows`] has no such pause.
//! - **Time windows** shift only when the caller advances the clock. The rate is promised for inserts that
//!   are spread over the span. When one generation (1/l of the span) receives more than 1/l of the capacity,
//!   the rate rises or the span gets shorter, as [`Overload`] selects. This happens even if the whole span
//!   receives no more than its capacity. The filter counts these generations.
//! - **Hashes are 64 bits.** Two items with equal hashes are one item to the filter. The predicted rate
//!   includes this.
//! - **Hashing is not secret** by default: anybody who knows the seed of the default hash can construct
//!   colliding items. See [`HashFunction::SipHash13`].
//!
//! # Features
//!
//! `std` (default) adds `Filter::save`, `Filter::load` and `SharedFilter`; without it the crate needs only
//! `core` and `alloc`. `serde` adds `Serialize` and `Deserialize`.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod ageing;
mod error;
mod filter;
mod hash;
mod item;
mod layout;
mod limits;
mod milliseconds;
pub mod model;
mod names;
mod plan;
mod promise;
mod ring;
mod shape;
#[cfg(feature = "std")]
mod sync;
mod window;

pub use ageing::AgeRange;
pub use error::{ConfigError, SnapshotError};
pub use filter::{
    AnyFilter, AsOf, Builder, Counters, FORMAT_VERSION, Filter, Statistics, UnseenExt, UnseenIter,
};
#[cfg(feature = "std")]
pub use filter::{PendingSave, SharedFilter};
#[cfg(feature = "futures")]
pub use filter::{UnseenStream, UnseenStreamExt};
pub use hash::HashFunction;
pub use item::{CompositeKey, Item};
pub use layout::kernel::Instructions;
pub use layout::words::huge_pages::ask_for_huge_pages;
pub use limits::{MAX_PARTS, MAX_SEGMENTS, MAX_WINDOW, MIN_RATE};
pub use names::UnknownName;
pub use plan::{DEFAULT_SLACK, Plan, shard_window};
pub use promise::{Prefer, Promise};
pub use shape::{Layout, Segment, Shape};
pub use window::{Overload, Window};

/// The README's examples are tests too. Those of the whole project are tested in `lately-examples`.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;

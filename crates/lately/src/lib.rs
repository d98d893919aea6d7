//! "Have I seen this lately?", answered for an endless stream, in fixed memory.
//!
//! A [`Filter`] is a sliding-window Bloom filter (age-partitioned, after Shtul, Baquero and Almeida). Use it
//! wherever something must be handled once but arrives more than once: webhooks, queue messages, clicks, log
//! lines, URLs.
//!
//! ```
//! let mut seen = lately::Filter::new(1_000_000, 1e-4)?; // the last million; 1 new item in 10 000 is mistaken
//! for order in ["order-17", "order-18", "order-17"] {
//!     if !seen.check_and_insert(order) {
//!         println!("handle {order}"); // order-17 and order-18, once each
//!     }
//! }
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! It promises:
//!
//! 1. It reports every one of the last *window* inserts. Always.
//! 2. It reports an item that was never inserted at most at the requested rate, at the worst moment, by an
//!    exact model.
//! 3. It soon forgets items that have left the window. How many of them it still reports, on average, is
//!    bounded too.
//! 4. Its memory is fixed, and known before construction.
//! 5. The same input gives the same filter, bit for bit, on every platform.
//!
//! | to | use |
//! |---|---|
//! | remember items | [`Filter`]; [`SharedFilter`] for many threads; [`AnyFilter`] for code that takes either |
//! | describe a filter | [`Builder`], or all settings at once as a [`Promise`] |
//! | know what it costs | [`Plan`], with its [`Window`], [`Shape`] and [`Segment`]; [`model`] has the formulas |
//! | drop repeats of an iterator or a stream | [`UnseenExt`]; `UnseenStreamExt` with the feature `futures` |
//! | use your own types as items | [`Item`], [`CompositeKey`], [`HashFunction`] |
//! | look inside | [`Statistics`], [`Counters`], [`AgeRange`]; [`AsOf`] for a later time |
//! | survive a restart | [`Filter::save`], [`Filter::load`], [`PendingSave`], [`FORMAT_VERSION`] |
//! | handle errors | [`ConfigError`], [`SnapshotError`], [`UnknownName`] (of a [`Layout`], [`Prefer`] or [`Overload`]) |
//! | know the limits | [`MAX_WINDOW`], [`MIN_RATE`], [`MAX_SEGMENTS`], [`MAX_PARTS`], [`DEFAULT_SLACK`] |
//! | spread a window over shards, or decide on huge pages | [`shard_window`], [`ask_for_huge_pages`] |
//!
//! # Windows, rates and limits
//!
//! ```
//! use lately::{Filter, Layout, Overload, Prefer, Window};
//! use std::time::Duration;
//!
//! let mut recent = Filter::builder()
//!     .time_window(Duration::from_secs(600)).capacity(5_000_000)  // span, and the most different items expected in it
//!     .overload(Overload::KeepWindow)  // what to keep if more arrive (the default)
//!     .false_positive_rate(1e-3)       // at the worst moment, by the exact model
//!     .max_slack(0.1)                  // expired items still reported, as a share of the window
//!     .prefer(Prefer::Memory)          // optional: the least memory, whatever the number of memory accesses
//!     .layout(Layout::Bins)            // optional: the planner chooses otherwise
//!     .build()?;
//! recent.advance_to(1_700_000_000_000); // your clock, in milliseconds
//! recent.insert("click-1");
//! assert!(matches!(recent.window(), Window::Time { capacity: 5_000_000, .. }));
//!
//! // The planner tells what a promise costs, or why it cannot be kept.
//! let plan = Filter::builder().window(1_000_000).false_positive_rate(1e-6).plan()?;
//! println!("{}: {} bytes, {:.1} bits per item", plan.shape, plan.memory_bytes, plan.bits_per_item);
//! let refused = Filter::builder().window(1_000_000).false_positive_rate(2.0).plan().unwrap_err();
//! assert!(refused.to_string().starts_with("a false positive rate of 2 cannot be promised"));
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! # Two ways to deduplicate
//!
//! | call | an item is new again when | use it for |
//! |---|---|---|
//! | [`check_and_insert`](Filter::check_and_insert) | it was not seen for a whole window; every sighting refreshes it | retries, replays, gossip |
//! | [`check_or_insert`](Filter::check_or_insert) | about a window has passed since it was last new | "at most once per ten minutes", alerts |
//!
//! Iterators, and streams with the feature `futures`, have both steps in one call:
//!
//! ```
//! use lately::UnseenExt;
//!
//! let mut seen = lately::Filter::new(1000, 1e-6)?;
//! let new: Vec<_> = ["a", "b", "a"].into_iter().unseen(&mut seen).collect();
//! assert_eq!(new, ["a", "b"]);
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! # Items
//!
//! An item is bytes, text, an integer, or a tuple of them. Integers are their decimal text, and a tuple is
//! one unambiguous key. The command and the Python package use the same rules, so they understand each
//! other's files.
//!
//! ```
//! use lately::{CompositeKey, Filter, HashFunction};
//!
//! let mut seen = Filter::builder()
//!     .window(1000)
//!     .false_positive_rate(1e-9)
//!     .hash_function(HashFunction::SipHash13 { key: *b"sixteen secret b" }) // for hostile senders
//!     .build()?;
//! seen.insert(("user-5", 17));
//! let mut key = CompositeKey::new(); // the same key, for any number of values
//! key.push("user-5");
//! key.push("17");
//! assert!(seen.contains(&key));
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! # Many at once, and many threads
//!
//! A batch gives the same answers as single calls, and is mostly faster: with AVX2 or AVX-512
//! ([`Instructions`]) it fetches memory ahead.
//!
//! ```
//! let seen = lately::Filter::builder().window(100_000).false_positive_rate(1e-6).build_shared()?;
//! std::thread::scope(|scope| {
//!     for worker in 0..4 {
//!         let seen = &seen;
//!         scope.spawn(move || {
//!             let orders = [("worker", worker), ("order", 17)];
//!             let mut seen_before = [false; 2];
//!             seen.check_and_insert_batch(&orders, &mut seen_before); // new for one worker, seen for the others
//!         });
//!     }
//! });
//! assert_eq!(seen.counters().inserts, 8);
//! # Ok::<(), lately::ConfigError>(())
//! ```
//!
//! # Restarts, ages, statistics
//!
//! ```
//! # let path = std::env::temp_dir().join(format!("front-page-{}.lately", std::process::id()));
//! use lately::{Filter, SnapshotError};
//!
//! let mut seen = match Filter::load(&path) {
//!     Err(SnapshotError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
//!         Filter::new(1000, 1e-6)?
//!     }
//!     loaded => loaded?,
//! };
//! seen.insert("order-17");
//! seen.save(&path)?;                                     // atomic and synced
//! let age = seen.age_of("order-17").unwrap();            // an AgeRange, accurate to one generation
//! assert!(age.inserts.contains(&0));
//! let statistics = seen.statistics();                    // estimates from the bits
//! assert!(statistics.estimated_distinct_items < 10.0);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
//! - **A single `u8` is an integer:** `insert(b'a')` inserts the item `97`. A slice of `u8` is bytes.
//! - **Shifts.** With [`Layout::Slices`] and [`Layout::Blocks`] every g-th insert takes longer: it empties
//!   one segment, 1/(k + l) of the memory. With [`Layout::Bins`] it reads one line in 128, with
//!   [`Layout::Rows`] one row in 16 384.
//! - **Time windows** shift only when the caller advances the clock. The rate is promised for any arrivals, as
//!   long as a span and one generation of it (1/l) bring no more different items than the capacity. Beyond, the
//!   rate rises or the span gets shorter, as [`Overload`] selects, and the filter counts it. This is true for
//!   [`Layout::Bins`], which time windows are planned with; in the other layouts each generation has room for
//!   1/l of the capacity only.
//! - **A mistaken item may refresh another one.** With [`Layout::Bins`], an item that is taken for another one
//!   renews that one instead of being written. Both are then reported for a whole window.
//! - **Hashes are 64 bits.** Two items with equal hashes are one item to the filter. The predicted rate
//!   includes this.
//! - **Hashing is not secret** by default: anybody who knows the seed of the default hash can construct
//!   colliding items. See [`HashFunction::SipHash13`].
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | `Filter::save`, `Filter::load` and `SharedFilter`; without it the crate needs only `core` and `alloc`. It needs a target with 64-bit atomics |
//! | `serde` | `Serialize` and `Deserialize` for promises, plans, statistics, and filters (as snapshot bytes) |
//! | `futures` | `unseen` for streams |

#![no_std]
#![deny(unsafe_code)]

#[cfg(all(feature = "std", not(target_has_atomic = "64")))]
compile_error!(
    "lately's feature `std` needs 64-bit atomics, which this target does not have: set default-features = false, which \
     leaves out `SharedFilter`, `save` and `load`"
);

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
pub use error::{ConfigError, JumpError, SnapshotError};
pub use filter::{
    AnyFilter, AsOf, Builder, Counters, FORMAT_VERSION, Filter, SnapshotReader, SnapshotWriter, Statistics,
    Unseen, UnseenBy, UnseenExt,
};
#[cfg(feature = "std")]
pub use filter::{PendingSave, SharedFilter};
#[cfg(feature = "futures")]
pub use filter::{UnseenByStream, UnseenStream, UnseenStreamExt};
pub use hash::HashFunction;
pub use item::{CompositeKey, Item};
pub use layout::instructions::Instructions;
pub use layout::words::huge_pages::ask_for_huge_pages;
pub use limits::{MAX_PARTS, MAX_SEGMENTS, MAX_WINDOW, MIN_RATE};
pub use names::UnknownName;
pub use plan::{DEFAULT_ELASTIC_MEMORY, DEFAULT_SLACK, Plan, shard_window};
pub use promise::{Prefer, Promise};
pub use shape::{Layout, Segment, Shape};
pub use window::{Clock, Overload, Window};

/// The README's examples are tests too. Those of the whole project are tested in `lately-examples`.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../README.md")]
struct Readme;

//! The classes `Filter` and `SharedFilter`, and `BaseFilter`, which they extend.
//!
//! | file | owns |
//! |---|---|
//! | `classes.rs` | the classes and their docstrings: what objects hold, how they are made |
//! | `base_methods.rs` | the methods that both classes have |
//! | `filter_methods.rs`, `shared_filter_methods.rs` | the methods that only one class has |
//! | `core_filter.rs` | a filter of the core: behind a lock, or shared |
//! | `action.rs` | what a call does with its items: add, contains, check_and_add, check_or_add |
//! | `bulk.rs` | one action on many items, each at its time, in turns |
//! | `snapshot.rs` | a filter as bytes, and back |

mod action;
mod base_methods;
mod bulk;
mod classes;
mod core_filter;
mod filter_methods;
mod shared_filter_methods;
mod snapshot;

pub(crate) use classes::{BaseFilter, Filter, SharedFilter};

//! The core of `lately` as WebAssembly.
//!
//! JavaScript writes the arguments of a call to the *input*, a region of memory, and reads longer results from the
//! *reply*, another one. So no pointer crosses the border, and the only unsafe code is the list of exported names
//! (`exports`). Options and reports cross as lists of `f64`, JavaScript's numbers: a JSON library would be a third of
//! the module's size. `explorer` has what only the page needs: curves, and a look inside a small filter.

// Without std: its reports of panics would be a tenth of the module.
#![cfg_attr(target_family = "wasm", no_std)]

extern crate alloc;

mod asked;
mod clock;
mod decimal;
mod explorer;
mod exports;
mod failure;
mod items;
mod numbers;
mod operation;
mod report;
#[cfg(target_family = "wasm")]
mod runtime;
mod state;
mod table;

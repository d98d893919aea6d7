//! Compiles and runs the Rust examples in the project's documents, as documentation tests.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/choosing.md")]
struct Choosing;

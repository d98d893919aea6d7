#![no_main]

#[path = "../../crates/lately/tests/common/mod.rs"]
mod common;
#[path = "../../crates/lately/tests/fuzzing/mod.rs"]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::operations(bytes));

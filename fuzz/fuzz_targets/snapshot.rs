#![no_main]

#[path = "../../crates/lately/tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| common::fuzzing::snapshot(bytes));

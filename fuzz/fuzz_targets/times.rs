#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| command::fuzzing::times(bytes));

//! Bytes of a saved plan to a compiled model.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| texpool_fuzz::saved_plan(bytes));

//! Text of usage records to a plan.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| texpool_fuzz::records(text));

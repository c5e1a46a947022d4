//! Bytes of an ONNX model to a plan.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| texpool_fuzz::model(bytes));

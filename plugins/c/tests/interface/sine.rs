//! Extracts the test model from the header of the C tests.

/// Returns a model that computes y = sin(x) of 105 floats, which keeps the cost of a run minimal.
pub(crate) fn sine() -> Vec<u8> {
    let header = include_str!("../models.h");
    let of_array = header.split("SINE[").nth(1).and_then(|rest| rest.split(['{', '}']).nth(1));
    let byte = |text: &str| u8::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    of_array.into_iter().flat_map(|bytes| bytes.split(',')).filter_map(byte).collect()
}

//! Constant folding: computes nodes whose operands are all known. Shape arithmetic is exact, in integers.

pub(super) mod math;
pub(super) mod reduce;

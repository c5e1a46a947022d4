//! Constant folding: evaluates nodes whose operands are all known. Shape arithmetic uses integers and is exact.

pub(super) mod batch_norm;
pub(super) mod math;
pub(super) mod one_hot;
pub(super) mod reduce;

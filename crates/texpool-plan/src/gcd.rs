//! The greatest common divisor. A sum of sizes is a multiple of the sizes' greatest common divisor.

/// Returns the greatest common divisor. With 0 as one argument, it is the other one.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! The greatest common divisor: a sum of sizes is a multiple of that of the sizes.

/// The greatest common divisor; that of a number and 0 is the number.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! 64-bit FNV-1a hash by Fowler, Noll and Vo. Changing one byte always changes the hash. It does not protect against
//! forgery and need not, because a loaded plan is checked.

/// Running hash value.
pub(super) struct Fnv(pub(super) u64);

impl Fnv {
    /// Returns the hash of an empty input.
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn number(&mut self, number: usize) {
        self.bytes(&(number as u64).to_le_bytes());
    }

    /// Adds a string with its length, so that its end is unambiguous.
    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }
}

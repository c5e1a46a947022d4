//! FNV-1a of 64 bits, by Fowler, Noll and Vo. A change of one byte always changes it; it withstands no forger, and need
//! not, since what is loaded is checked.

/// The hash of the bytes so far.
pub(super) struct Fnv(pub(super) u64);

impl Fnv {
    /// The hash of no bytes.
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

    /// A text, and where it ends.
    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len());
        self.bytes(text.as_bytes());
    }
}

//! Random numbers that are the same on every machine and in every run, so that searches are deterministic.

/// Marsaglia's xorshift.
pub(super) struct Random(u64);

impl Random {
    /// The sequence that every search starts with.
    pub(super) const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * limit as u64) >> 32) as usize
    }
}

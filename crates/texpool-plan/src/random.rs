//! Random numbers that are the same on every machine and in every run, so that searches are deterministic.

/// Marsaglia's xorshift.
pub(super) struct Random(u64);

impl Random {
    /// Creates the sequence with which every search starts.
    pub(super) const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Creates one of many unrelated sequences. Xorshift sequences with similar seeds take long to diverge, so the
    /// seed is mixed first (with the finaliser of Steele, Lea and Flood's SplitMix).
    pub(super) const fn sequence(number: u64) -> Self {
        let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The state must not be zero, since xorshift never leaves zero.
        Self(mixed ^ mixed >> 31 | 1)
    }

    /// Returns a number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * limit as u64) >> 32) as usize
    }
}

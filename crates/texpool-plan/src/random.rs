//! Random numbers that are the same on every machine and in every run, so that searches are deterministic.

/// Marsaglia's xorshift.
pub(super) struct Random(u64);

impl Random {
    /// The sequence that every search starts with.
    pub(super) const fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// One of many sequences, which have nothing to do with each other: xorshift takes long to part from a seed that is
    /// nearly the same, so the seed is mixed first (the finaliser of Steele, Lea and Flood's SplitMix).
    pub(super) const fn sequence(number: u64) -> Self {
        let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // Any state but zero, which xorshift never leaves.
        Self(mixed ^ mixed >> 31 | 1)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * limit as u64) >> 32) as usize
    }
}

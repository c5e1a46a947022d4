//! Numbers that look random and are the same in every run.

/// A linear congruential generator.
pub(crate) struct Rng(u64);

impl Rng {
    /// Starts at `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        rng.next();
        rng
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    /// One of `0..n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    /// A value of either sign, of an absolute value between a quarter and two: safe to divide by.
    pub(crate) fn value(&mut self) -> f32 {
        let magnitude = 0.25 + 1.75 * (self.next() % 4096) as f32 / 4096.0;
        if self.below(2) == 0 { magnitude } else { -magnitude }
    }

    /// Such values.
    pub(crate) fn values(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.value()).collect()
    }

    /// `0..n` in some order.
    pub(crate) fn order(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

//! Declares the loops of shaders, and computes the number of rounds that an invocation takes.
//!
//! Mesa's llvmpipe silently ends all loops of an invocation after 65535 rounds, so every dispatch declares its
//! rounds. A shader declares its nested loops, a dispatch the number of indices of each loop, and the rounds follow
//! from both. `tests/library/loops.rs` reads the WGSL of every shader and fails if a loop is not declared;
//! `tests/gpu/loops.rs` runs kernels up to the allowed number of rounds.
//!
//! Measured on Mesa 22.3.6 with loops of run-time bounds: one loop runs 65535 rounds; two consecutive loops run 32767
//! each, also inside functions. A loop takes one round more than it has indices. If no lane is active, or in a branch
//! that no lane takes, each loop still takes one round. Loops over the pixels and slices of a block, of at most 8
//! constant rounds, are unrolled and take no rounds. A loop of 13 was not unrolled when its body was long (a
//! depthwise window with 16-bit weights).
//!
//! Kernels that follow a long axis take 16 elements in each round (the constant `TAKEN`). The shader names them one by
//! one, so that nothing depends on a driver that unrolls. The order of the elements stays the same, and with it every
//! bit of the result.

/// Number of elements from which a loop takes several in each round. With fewer, the longer shader gains nothing.
const LONG_LOOP: usize = 4096;

/// Returns the number of elements that an invocation takes in each round of a loop over `elements`: 1 or 16.
pub(crate) const fn taken_a_round(elements: usize) -> usize {
    if elements < LONG_LOOP { 1 } else { 16 }
}

/// A shader loop that counts towards the round limit. Loops with a constant bound of at most [`Loop::UNROLLED`] are
/// not declared, because drivers unroll them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop {
    /// Name of the loop variable in WGSL.
    pub name: &'static str,
    /// Loops inside this loop, including those of functions that it calls.
    pub inner: &'static [Self],
}

impl Loop {
    /// Largest constant bound of a loop that need not be declared.
    pub const UNROLLED: u32 = 8;

    /// Upper limit on the rounds of undeclared top-level loops, in case a driver does not unroll them.
    pub const UNROLLED_ROUNDS: u64 = 512;

    /// Returns the number of loops, counting this loop and all loops inside it.
    fn count(&self) -> u64 {
        self.inner.iter().fold(1, |sum, inner| sum + inner.count())
    }

    /// Returns the rounds of the loop and of the loops inside it. A loop ends with an extra round in which no lane is
    /// active; each loop inside it takes one round then.
    fn rounds(&self, extents: &[(&'static str, usize)]) -> u64 {
        let Some(&(_, extent)) = extents.iter().find(|(name, _)| *name == self.name) else { return u64::MAX };
        let inner = self.inner.iter().fold(1, |sum: u64, inner| sum.saturating_add(inner.rounds(extents)));
        inner.saturating_mul(extent as u64).saturating_add(self.count())
    }

    fn has(&self, name: &str) -> bool {
        self.name == name || self.inner.iter().any(|inner| inner.has(name))
    }
}

/// Returns the rounds of all `loops`; `extents` gives the number of indices of each. If a name occurs only on one
/// side, the result is above any limit.
pub(crate) fn rounds(loops: &[Loop], extents: &[(&'static str, usize)]) -> u64 {
    if extents.iter().any(|(name, _)| !loops.iter().any(|one| one.has(name))) {
        return u64::MAX;
    }
    loops.iter().fold(Loop::UNROLLED_ROUNDS, |sum, one| sum.saturating_add(one.rounds(extents)))
}

/// Declares loops by the names of their variables; nested loops follow in brackets.
macro_rules! loops {
    ($($name:ident $([$($inner:tt)*])?),*) => {
        &[$($crate::kernels::loops::Loop {
            name: stringify!($name),
            inner: $crate::kernels::loops::loops!($($($inner)*)?),
        }),*]
    };
}

pub(crate) use loops;

#[cfg(test)]
mod tests {
    use super::{Loop, rounds};

    const LOOPS: &[Loop] = loops![row[texel], lane];

    #[test]
    fn nested_loops_multiply_rounds_and_sequential_loops_add_them() {
        let count = |row, texel, lane| rounds(LOOPS, &[("row", row), ("texel", texel), ("lane", lane)]);
        let fixed = Loop::UNROLLED_ROUNDS;
        // Each row takes one round plus three texel rounds and one final texel round. The final row round also takes
        // one texel round.
        assert_eq!(count(5, 3, 7), fixed + 5 * (1 + 3 + 1) + 2 + 8);
        assert_eq!(count(0, 0, 0), fixed + 2 + 1);
        assert_eq!(count(usize::MAX, usize::MAX, 1), u64::MAX);
    }

    #[test]
    fn rounds_stated_on_one_side_only_exceed_any_limit() {
        assert_eq!(rounds(LOOPS, &[("row", 1), ("texel", 1)]), u64::MAX);
        assert_eq!(rounds(LOOPS, &[("row", 1), ("texel", 1), ("lane", 1), ("slice", 1)]), u64::MAX);
        assert_eq!(rounds(&[], &[("row", 1)]), u64::MAX);
        assert_eq!(rounds(&[], &[]), Loop::UNROLLED_ROUNDS);
    }
}

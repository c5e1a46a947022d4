//! The loops of shaders, and how many rounds of them an invocation takes.
//!
//! Mesa's llvmpipe ends all loops of an invocation once it has taken 65535 rounds, without an error, so every dispatch
//! states its rounds. A shader states its loops as they are nested, a dispatch how many indices each of them has, and
//! the rounds follow from both. `tests/library/loops.rs` reads the WGSL of every shader and fails for a loop that is not
//! stated; `tests/gpu/loops.rs` runs kernels up to the number that is allowed.
//!
//! Measured on Mesa 22.3.6 with loops of run-time bounds: one loop runs 65535 rounds, two loops one after the other 32767
//! each, in functions as well. A loop takes one round more than it has indices. Where no lane is left, or in a branch that
//! no lane takes, each loop still takes one. Loops over the pixels and slices of a block, of at most 8 constant rounds, are
//! unrolled and take none. One of 13 was not unrolled where its body is long (a depthwise window, weights of 16 bits).

/// A loop of a shader that takes rounds. Loops that have a constant bound of at most [`Loop::UNROLLED`] are not stated:
/// drivers unroll them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loop {
    /// Its variable in WGSL.
    pub name: &'static str,
    /// The loops inside it, and those of functions that it calls.
    pub inner: &'static [Self],
}

impl Loop {
    /// The greatest constant bound of a loop that is not stated.
    pub const UNROLLED: u32 = 8;

    /// The rounds that unrolled loops outside all others may take where a driver does not unroll them.
    pub const UNROLLED_ROUNDS: u64 = 512;

    /// This loop and those inside it.
    fn count(&self) -> u64 {
        self.inner.iter().fold(1, |sum, inner| sum + inner.count())
    }

    /// Rounds of the loop, and of those inside it. A loop ends in a round of its own, in which no lane is left; loops
    /// inside it take one round each then.
    fn rounds(&self, extents: &[(&'static str, usize)]) -> u64 {
        let Some(&(_, extent)) = extents.iter().find(|(name, _)| *name == self.name) else { return u64::MAX };
        let inner = self.inner.iter().fold(1, |sum: u64, inner| sum.saturating_add(inner.rounds(extents)));
        inner.saturating_mul(extent as u64).saturating_add(self.count())
    }

    fn has(&self, name: &str) -> bool {
        self.name == name || self.inner.iter().any(|inner| inner.has(name))
    }
}

/// Rounds of all `loops`, of which each has as many indices as `extents` say. A name that stands on one side alone
/// makes more rounds than any limit allows.
pub(crate) fn rounds(loops: &[Loop], extents: &[(&'static str, usize)]) -> u64 {
    if extents.iter().any(|(name, _)| !loops.iter().any(|one| one.has(name))) {
        return u64::MAX;
    }
    loops.iter().fold(Loop::UNROLLED_ROUNDS, |sum, one| sum.saturating_add(one.rounds(extents)))
}

/// States loops by the names of their variables, with the loops inside them in brackets.
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
    fn rounds_are_those_of_nested_loops_and_of_loops_that_follow_each_other() {
        let count = |row, texel, lane| rounds(LOOPS, &[("row", row), ("texel", texel), ("lane", lane)]);
        let fixed = Loop::UNROLLED_ROUNDS;
        // Rows of one round and three texels, each with a round to end in; a round to end the rows in, with one of texels.
        assert_eq!(count(5, 3, 7), fixed + 5 * (1 + 3 + 1) + 2 + 8);
        assert_eq!(count(0, 0, 0), fixed + 2 + 1);
        assert_eq!(count(usize::MAX, usize::MAX, 1), u64::MAX);
    }

    #[test]
    fn what_is_stated_on_one_side_alone_is_beyond_any_limit() {
        assert_eq!(rounds(LOOPS, &[("row", 1), ("texel", 1)]), u64::MAX);
        assert_eq!(rounds(LOOPS, &[("row", 1), ("texel", 1), ("lane", 1), ("slice", 1)]), u64::MAX);
        assert_eq!(rounds(&[], &[("row", 1)]), u64::MAX);
        assert_eq!(rounds(&[], &[]), Loop::UNROLLED_ROUNDS);
    }
}

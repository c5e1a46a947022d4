//! Random small changes of a division into cascades. The seed is constant, so the same model always gets the same
//! plan.

use std::ops::Range;

use crate::schedule::tiling::Cascade;

/// Numbers of stripes to choose from; the largest means one stripe per row.
const STRIPES: &[u32] = &[u32::MAX, 64, 32, 16, 8, 4, 2, 1];
/// Finer choice of numbers of stripes, for stripes as high as memory allows. Contains stripes of every height of 56
/// rows.
const FINE_STRIPES: &[u32] = &[u32::MAX, 64, 56, 48, 38, 32, 28, 24, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1];
/// Upper limit on the size of weight tiles, as a multiple of the requested size.
const MAX_TILE_SCALE: u32 = 64;

/// Allowed sizes of weight tiles, as multiples of the requested size.
#[derive(Clone, Copy, Debug)]
pub(super) enum TileScales {
    /// Powers of two.
    Doubled,
    /// Any integer.
    Any,
}

impl TileScales {
    /// Returns the sizes to try first, in order of increasing number of steps.
    pub(super) const fn coarse(self) -> &'static [u32] {
        match self {
            Self::Doubled => &[64, 32, 16, 8, 4, 2],
            Self::Any => &[64, 32, 24, 16, 12, 8, 7, 6, 5, 4, 3, 2],
        }
    }
}

/// Draws random mutations with a xorshift generator.
pub(super) struct Mutator {
    state: u64,
    finest: u32,
    /// If set, tile sizes and numbers of stripes may also change by small amounts; the value gives the allowed tile
    /// sizes.
    fine: Option<TileScales>,
}

impl Mutator {
    /// Creates a mutator that uses at most `finest` stripes. `sequence` selects one of several random sequences.
    pub(super) const fn new(finest: u32, sequence: u64) -> Self {
        // Any nonzero seed works; xorshift never leaves zero.
        let state = 0x9e37_79b9_7f4a_7c15_u64.rotate_left(sequence as u32 % u64::BITS);
        Self { state, finest, fine: None }
    }

    /// Creates a mutator with a finer choice of numbers of stripes that also grows and shrinks weight tiles.
    pub(super) const fn fine(finest: u32, scales: TileScales, sequence: u64) -> Self {
        Self { fine: Some(scales), ..Self::new(finest, sequence) }
    }

    fn random_below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // Scales the upper bits to the limit, because they are the better bits of xorshift.
        (((self.state >> 32) * limit as u64) >> 32) as usize
    }

    const fn stripes(&self) -> &'static [u32] {
        if self.fine.is_some() { FINE_STRIPES } else { STRIPES }
    }

    /// Returns a neighbouring number of stripes, smaller or larger at random.
    fn next_stripes(&mut self, stripes: u32) -> u32 {
        let at = self.stripes().partition_point(|&greater| greater > stripes);
        let next = if self.random_below(2) == 0 { at.saturating_sub(1) } else { at + 1 };
        self.stripes().get(next).copied().unwrap_or(1).min(self.finest)
    }

    /// Returns a neighbouring tile size, smaller or larger at random.
    fn next_tile_scale(&mut self, scale: u32) -> u32 {
        let ways = if matches!(self.fine, Some(TileScales::Any)) { 4 } else { 2 };
        let next = match self.random_below(ways) {
            0 => scale / 2,
            1 => scale * 2,
            2 => scale - 1,
            _ => scale + 1,
        };
        next.clamp(1, MAX_TILE_SCALE)
    }

    /// Returns the division with one mutation, or with two in one case of three.
    pub(super) fn mutate_once_or_twice(&mut self, cascades: &[Cascade], operators: usize) -> Vec<Cascade> {
        let once = self.mutate(cascades, operators);
        match self.random_below(3) {
            0 => self.mutate(&once, operators),
            _ => once,
        }
    }

    /// Returns the division with one mutation: a border between cascades is moved, removed or inserted, or one
    /// cascade gets another number of stripes or another tile size.
    pub(super) fn mutate(&mut self, cascades: &[Cascade], operators: usize) -> Vec<Cascade> {
        // Until the borders are put in order below, only the ends of cascades are meaningful.
        let mut mutant = cascades.to_vec();
        let at = self.random_below(mutant.len());
        let stripes = self.stripes()[self.random_below(self.stripes().len())].min(self.finest);
        match self.random_below(if self.fine.is_some() { 5 } else { 4 }) {
            0 if at + 1 < mutant.len() => {
                let step = 1 + self.random_below(3);
                let end = &mut mutant[at].operators.end;
                *end = if self.random_below(2) == 0 { end.saturating_sub(step) } else { *end + step };
            }
            1 if at + 1 < mutant.len() => {
                mutant.remove(at);
            }
            2 => {
                let Range { start, end } = mutant[at].operators;
                let inner = start + 1 + self.random_below((end - start).max(1));
                let mut first = Cascade { operators: start..inner, ..mutant[at].clone() };
                if self.random_below(2) == 0 {
                    first.stripes = stripes;
                }
                mutant.insert(at, first);
            }
            3 if self.fine.is_some() && self.random_below(2) == 0 => {
                mutant[at].stripes = self.next_stripes(mutant[at].stripes);
            }
            4 => mutant[at].tile_scale = self.next_tile_scale(mutant[at].tile_scale),
            _ => mutant[at].stripes = stripes,
        }
        // A moved border may have passed other borders or the last operator. Empty cascades are dropped, so that the
        // cascades still cover every operator once.
        let mut begin = 0;
        mutant.retain_mut(|cascade| {
            cascade.operators = begin..cascade.operators.end.min(operators);
            begin = begin.max(cascade.operators.end);
            !cascade.operators.is_empty()
        });
        mutant
    }
}

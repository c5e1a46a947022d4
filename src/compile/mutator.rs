//! Random small changes of a division into segments. Seeded with a constant: the same model gets the same plan every
//! time.

use std::ops::Range;

use crate::schedule::phases::Segment;

/// Numbers of phases that a segment may change to; the greatest is one phase a row.
const PHASES: &[u32] = &[u32::MAX, 64, 32, 16, 8, 4, 2, 1];
/// The same where bands are to be as high as there is room for: bands of every height of 56 rows.
const FINE_PHASES: &[u32] = &[u32::MAX, 64, 56, 48, 38, 32, 28, 24, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1];
/// Tiles of weights grow to at most so many times the size that was asked for.
const MAX_TILE_SCALE: u32 = 64;

/// Draws mutations, by a xorshift generator.
pub(super) struct Mutator {
    state: u64,
    finest: u32,
    phases: &'static [u32],
    /// Whether phases may change by a little, and tiles of weights, too.
    fine: bool,
}

/// What segments are told apart by, but for their operators.
#[derive(Clone, Copy)]
struct Shape {
    phases: u32,
    tile_scale: u32,
}

impl Mutator {
    /// Mutations to at most `finest` phases, drawn in one of several sequences.
    pub(super) const fn new(finest: u32, sequence: u64) -> Self {
        // Any seed but zero would do, which xorshift never leaves.
        let state = 0x9e37_79b9_7f4a_7c15_u64.rotate_left(sequence as u32 % u64::BITS);
        Self { state, finest, phases: PHASES, fine: false }
    }

    /// The same with more numbers of phases, and with tiles of weights that grow and shrink.
    pub(super) const fn fine(finest: u32, sequence: u64) -> Self {
        Self { phases: FINE_PHASES, fine: true, ..Self::new(finest, sequence) }
    }

    fn random_below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // The upper bits, xorshift's better ones, scaled to the limit.
        (((self.state >> 32) * limit as u64) >> 32) as usize
    }

    /// One of the numbers of phases next to this one.
    fn next_phases(&mut self, phases: u32) -> u32 {
        let at = self.phases.partition_point(|&greater| greater > phases);
        let next = if self.random_below(2) == 0 { at.saturating_sub(1) } else { at + 1 };
        self.phases.get(next).copied().unwrap_or(1).min(self.finest)
    }

    /// The division with one mutation, one time in three with two.
    pub(super) fn mutate_once_or_twice(&mut self, segments: &[Segment], operators: usize) -> Vec<Segment> {
        let once = self.mutate(segments, operators);
        match self.random_below(3) {
            0 => self.mutate(&once, operators),
            _ => once,
        }
    }

    /// The division with a border between segments moved, removed or inserted, or with another number of phases, or
    /// other tiles, in one.
    pub(super) fn mutate(&mut self, segments: &[Segment], operators: usize) -> Vec<Segment> {
        let shape = |s: &Segment| Shape { phases: s.phases, tile_scale: s.tile_scale };
        let mut ends: Vec<(usize, Shape)> = segments.iter().map(|s| (s.operators.end, shape(s))).collect();
        let at = self.random_below(ends.len());
        let phases = self.phases[self.random_below(self.phases.len())].min(self.finest);
        match self.random_below(if self.fine { 5 } else { 4 }) {
            0 if at + 1 < ends.len() => {
                let step = 1 + self.random_below(3);
                ends[at].0 =
                    if self.random_below(2) == 0 { ends[at].0.saturating_sub(step) } else { ends[at].0 + step };
            }
            1 if at + 1 < ends.len() => {
                ends.remove(at);
            }
            2 => {
                let begin = if at == 0 { 0 } else { ends[at - 1].0 };
                let inner = begin + 1 + self.random_below((ends[at].0 - begin).max(1));
                let mut shape = ends[at].1;
                if self.random_below(2) == 0 {
                    shape.phases = phases;
                }
                ends.insert(at, (inner, shape));
            }
            4 => {
                let scale = &mut ends[at].1.tile_scale;
                *scale = if self.random_below(2) == 0 { *scale / 2 } else { *scale * 2 }.clamp(1, MAX_TILE_SCALE);
            }
            3 if self.fine && self.random_below(2) == 0 => ends[at].1.phases = self.next_phases(ends[at].1.phases),
            _ => ends[at].1.phases = phases,
        }
        // A border that was moved may have passed others, or the last operator. What became empty is dropped, so that
        // the segments still cover every operator once.
        let mut mutated: Vec<Segment> = Vec::with_capacity(ends.len());
        let mut begin = 0;
        for (end, Shape { phases, tile_scale }) in ends {
            let operators: Range<usize> = begin..end.min(operators);
            if !operators.is_empty() {
                begin = operators.end;
                mutated.push(Segment { operators, phases, tile_scale });
            }
        }
        mutated
    }
}

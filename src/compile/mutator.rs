//! Random small changes of a division into segments. Seeded with a constant: the same model gets the same plan every
//! time.

use crate::schedule::phases::Segment;

/// Numbers of phases that a segment may change to; the greatest is one phase a row.
const PHASES: [u32; 8] = [u32::MAX, 64, 32, 16, 8, 4, 2, 1];

/// Draws mutations, by a xorshift generator.
pub(super) struct Mutator {
    state: u64,
    finest: u32,
}

impl Mutator {
    /// Mutations to at most `finest` phases, drawn in one of several sequences.
    pub(super) const fn new(finest: u32, sequence: u64) -> Self {
        // Any seed but zero would do, which xorshift never leaves.
        Self { state: 0x9e37_79b9_7f4a_7c15_u64.rotate_left(sequence as u32 % u64::BITS), finest }
    }

    fn random_below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // The upper bits, xorshift's better ones, scaled to the limit.
        (((self.state >> 32) * limit as u64) >> 32) as usize
    }

    /// The division with one mutation, one time in three with two.
    pub(super) fn mutate_once_or_twice(&mut self, segments: &[Segment], operators: usize) -> Vec<Segment> {
        let once = self.mutate(segments, operators);
        match self.random_below(3) {
            0 => self.mutate(&once, operators),
            _ => once,
        }
    }

    /// The division with a border between segments moved, removed or inserted, or with another number of phases in one.
    pub(super) fn mutate(&mut self, segments: &[Segment], operators: usize) -> Vec<Segment> {
        let mut ends: Vec<(usize, u32)> = segments.iter().map(|s| (s.operators.end, s.phases)).collect();
        let at = self.random_below(ends.len());
        let phases = PHASES[self.random_below(PHASES.len())].min(self.finest);
        match self.random_below(4) {
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
                ends.insert(at, (inner, if self.random_below(2) == 0 { phases } else { ends[at].1 }));
            }
            _ => ends[at].1 = phases,
        }
        // A border that was moved may have passed others, or the last operator. What became empty is dropped, so that
        // the segments still cover every operator once.
        let mut mutated: Vec<Segment> = Vec::with_capacity(ends.len());
        let mut begin = 0;
        for (end, phases) in ends {
            let end = end.min(operators);
            if end > begin {
                mutated.push(Segment { operators: begin..end, phases });
                begin = end;
            }
        }
        mutated
    }
}

//! What rules do to numbers, and the one bound that keeps rules over constants from doing more.

use std::fmt;

/// What a rule does to the numbers that a graph answers with. Each kind allows all that the ones before it do.
///
/// It is said of 32-bit floats as IEEE 754 has them. A device rounds each function as it likes, and
/// with 16-bit textures every rule that makes one node of two leaves out a rounding to 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numerics {
    /// The same bits whatever comes in: NaN, infinities, zeros of either sign, the greatest and the least there are.
    /// (One NaN counts as another.)
    Exact,
    /// The same, but that a zero may have the other sign.
    SignedZero,
    /// Worked out in another order, or as the function that the nodes spell out: as far off as rounding is, for
    /// operands of ordinary size, with which nothing in between overflows or underflows in either form.
    ///
    /// Rules over constants see to it that no rounding is taken out that constants were chosen to bring about
    /// ([`MAX_ABSORBED`]).
    Reassociates,
    /// Operands of ordinary size may give a number where the file's nodes overflow, or the other way round. Such rules
    /// are off unless they are asked for.
    ChangesRange,
}

impl Numerics {
    /// A word for it, as the command prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::SignedZero => "signed-zero",
            Self::Reassociates => "reassociates",
            Self::ChangesRange => "changes-range",
        }
    }
}

impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How large a constant may be that is added and subtracted again for a rule to fold the pair away. The unit is how far
/// an operand of one moves the result (one, for a chain of arithmetic; the sum of the weights' magnitudes, for a
/// layer), or what is left of the constants if that is more; the greatest of all channels counts.
///
/// Adding `M` to `x` and subtracting it again rounds `x` to a multiple of `M / 2^24`: the low digits are absorbed. With
/// 12582912 (1.5 * 2^23) files round to whole numbers that way on purpose, and folding would lose it. Up to 256, a byte
/// of a picture, the rounding is at most half of `2^-16`, less than 1e-5 of an operand of one: no more than sums in
/// another order differ by anyway.
pub const MAX_ABSORBED: f64 = 256.0;

/// The least and greatest product of factors in a chain, as powers of two: with operands of 2^-62 to 2^63 nothing in
/// between overflows or loses digits below the least normal number.
const FACTORS: [f64; 2] = [1.0 / (1u64 << 63) as f64, (1u64 << 63) as f64];

/// The constants of a chain of arithmetic on one channel, followed from the operand on: what they come to, and how
/// large they were on the way, which decides how many digits of the operand they absorb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absorbed {
    /// Factor of the operand so far.
    pub(super) scale: f64,
    /// What has been added so far.
    pub(super) shift: f64,
    /// The greatest there was to add so far, as it acts on the result.
    largest: f64,
    fits: bool,
}

impl Absorbed {
    /// Before anything is done: what has been added already.
    pub(super) const fn new(shift: f64) -> Self {
        Self { scale: 1.0, shift, largest: shift.abs(), fits: true }
    }

    /// When all that was added came to `shift`, and to `largest` on the way.
    pub(super) const fn shifted(largest: f64, shift: f64) -> Self {
        Self { scale: 1.0, shift, largest, fits: true }
    }

    /// `value * by + plus`.
    pub(super) fn then(&mut self, [by, plus]: [f64; 2]) {
        self.scale *= by;
        self.shift = self.shift * by + plus;
        self.largest = (self.largest * by.abs()).max(self.shift.abs()).max(plus.abs());
        let size = self.scale.abs();
        self.fits &= size == 0.0 || (FACTORS[0]..=FACTORS[1]).contains(&size);
    }

    /// Whether 32 bits do not hold what it has come to.
    pub(super) fn overflows(&self) -> bool {
        [self.scale, self.shift].iter().any(|&number| !(number as f32).is_finite())
    }
}

/// Whether one multiplication and one addition a channel differ from the chain by ordinary rounding alone. `reach` is
/// how far an operand of one moves the value that the channel's chain begins with.
pub(super) fn differ_by_rounding(channels: &[Absorbed], reach: impl Fn(usize) -> f64) -> bool {
    let moved = |(channel, sum): (usize, &Absorbed)| sum.shift.abs().max(reach(channel) * sum.scale.abs());
    let most = MAX_ABSORBED * channels.iter().enumerate().map(moved).fold(0.0, f64::max);
    channels.iter().all(|sum| sum.fits && sum.largest <= most)
}

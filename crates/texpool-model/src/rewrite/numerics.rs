//! Classifies the numerical effect of rules, and defines the limit that keeps rules on constants within their class.

use std::fmt;

/// Upper limit on the effect of a rule on a graph's results. Each kind permits everything that the kinds before it
/// permit.
///
/// The kinds are defined for IEEE 754 32-bit floats. In practice each device rounds functions differently, and with
/// 16-bit textures every rule that merges two nodes omits one rounding to 16 bits.
///
/// ```
/// use texpool::rewrite::{Numerics, RULES};
///
/// assert!(Numerics::Exact < Numerics::Reassociates);
/// assert_eq!(Numerics::SignedZero.name(), "signed-zero");
/// let off = RULES.iter().filter(|rule| rule.numerics == Numerics::ChangesRange);
/// assert!(off.map(|rule| rule.name).eq(["softmax-unshifted"]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numerics {
    /// Bit-identical for every input, including NaN, infinities, zeros of either sign and extreme values. (All NaNs
    /// count as identical.)
    Exact,
    /// Like `Exact`, except that zeros may change sign.
    SignedZero,
    /// Computed in a different order, or by the function that the file's nodes spell out. Results differ by rounding
    /// only, for operands of ordinary magnitude for which no intermediate value overflows or underflows in either
    /// form.
    ///
    /// Rules on constants must not remove a rounding that the constants were chosen to cause ([`MAX_ABSORBED`]).
    Reassociates,
    /// For operands of ordinary magnitude the result may be finite where the file's nodes overflow, or the other way
    /// round. Such rules are off by default.
    ChangesRange,
}

impl Numerics {
    /// Name of the kind, as printed by the command.
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

/// Limit on a constant that is added and later subtracted, up to which a rule may fold the pair. The limit is
/// relative to the larger of two numbers. The first is the change of the result caused by an operand of one: one for
/// a chain of arithmetic, the sum of the weights' magnitudes for a layer. The second is the sum of the constants that
/// remains. Both are maxima over all channels.
///
/// Adding `M` to `x` and then subtracting it rounds `x` to a multiple of `M / 2^24`: the low digits are absorbed.
/// Some files use this on purpose, with `M` = 12582912 (1.5 * 2^23), to round to whole numbers; folding would lose
/// that. Up to 256, the range of a byte of a picture, the rounding is at most half of `2^-16`, which is less than
/// 1e-5 for an operand of one. Sums in a different order differ by that much anyway.
pub const MAX_ABSORBED: f64 = 256.0;

/// Smallest and largest product of factors in a chain, as powers of two. For operands from 2^-62 to 2^63 no
/// intermediate value then overflows, or loses digits below the smallest normal number.
const FACTORS: [f64; 2] = [1.0 / (1u64 << 63) as f64, (1u64 << 63) as f64];

/// Accumulates the constants of a chain of arithmetic on one channel, starting at the operand. Tracks the combined
/// scale and shift, and the magnitude of the intermediate shifts, which determines how many digits of the operand are
/// absorbed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Absorbed {
    /// Combined factor of the operand.
    pub(super) scale: f64,
    /// Combined shift.
    pub(super) shift: f64,
    /// Largest shift on the way, scaled to its effect on the result.
    largest: f64,
    fits: bool,
}

impl Absorbed {
    /// Starts a chain with the initial shift `shift`.
    pub(super) const fn new(shift: f64) -> Self {
        Self { scale: 1.0, shift, largest: shift.abs(), fits: true }
    }

    /// Starts a chain whose additions amount to `shift`, with `largest` as the largest value on the way.
    pub(super) const fn shifted(largest: f64, shift: f64) -> Self {
        Self { scale: 1.0, shift, largest, fits: true }
    }

    /// Appends `value * by + plus` to the chain.
    pub(super) fn then(&mut self, [by, plus]: [f64; 2]) {
        self.scale *= by;
        self.shift = self.shift * by + plus;
        self.largest = (self.largest * by.abs()).max(self.shift.abs()).max(plus.abs());
        let size = self.scale.abs();
        self.fits &= size == 0.0 || (FACTORS[0]..=FACTORS[1]).contains(&size);
    }

    /// Returns whether the combined scale or shift exceeds the range of 32-bit floats.
    pub(super) fn overflows(&self) -> bool {
        [self.scale, self.shift].iter().any(|&number| !(number as f32).is_finite())
    }
}

/// Returns whether a single multiplication and addition per channel differ from the chain only by ordinary rounding.
/// `reach` is the change, caused by an operand of one, of the value at the start of the channel's chain.
pub(super) fn differ_by_rounding(channels: &[Absorbed], reach: impl Fn(usize) -> f64) -> bool {
    let moved = |(channel, sum): (usize, &Absorbed)| sum.shift.abs().max(reach(channel) * sum.scale.abs());
    let most = MAX_ABSORBED * channels.iter().enumerate().map(moved).fold(0.0, f64::max);
    channels.iter().all(|sum| sum.fits && sum.largest <= most)
}

//! A greedy plan for which no pairs of buffers are compared: for sets with too many pairs, and for searches without the
//! time to compare them.

use super::{buffer::Buffer, offset_plan::OffsetPlan};
use crate::{error::PlanError, gcd::gcd, offsets::fast_greedy, record::UsageRecord};

/// Returns a plan in `O(n log n)`. It ignores gaps, and places all buffers without a given place below or above the
/// given places. Buffers must be valid, and `bound` is the proven lower bound on any plan.
pub(super) fn plan(buffers: &[Buffer], bound: u64) -> Result<OffsetPlan, PlanError> {
    let smallest_unit = buffers.iter().fold(0, |divisor, b| gcd(divisor, b.align)).max(1);
    let best = OffsetPlan::new(buffers, in_units(buffers, smallest_unit)?, bound);
    match largest_unit(buffers).filter(|&unit| unit > smallest_unit) {
        Some(unit) => Ok(best.or_smaller(OffsetPlan::new(buffers, in_units(buffers, unit)?, bound))),
        None => Ok(best),
    }
}

/// Returns the smallest common multiple of the alignments, unless sizes rounded up to it could overflow.
fn largest_unit(buffers: &[Buffer]) -> Option<u64> {
    let unit = buffers.iter().try_fold(1u64, |multiple, b| (multiple / gcd(multiple, b.align)).checked_mul(b.align))?;
    let rounded: u128 = buffers.iter().map(|b| u128::from(b.size.div_ceil(unit)) * u128::from(unit)).sum();
    (rounded <= 1 << 62).then_some(unit)
}

/// Places buffers at multiples of `unit`, in the order of birth. The unit divides all alignments, or is a multiple of
/// all. In the first case each buffer gets enough units to round its offset up.
fn in_units(buffers: &[Buffer], unit: u64) -> Result<Vec<u64>, PlanError> {
    let is_free = |b: &Buffer| b.offset.is_none() && b.size > 0;
    let record = |b: &Buffer| {
        let units = b.size.div_ceil(unit) + (b.align / unit).saturating_sub(1);
        UsageRecord::new(b.live.start, b.live.end.saturating_sub(1), if is_free(b) { units } else { 0 })
    };
    let layout = fast_greedy(&buffers.iter().map(record).collect::<Vec<_>>())?;
    let fixed = || buffers.iter().filter(|b| b.size > 0).filter_map(|b| b.offset.map(|offset| (offset, b.size)));
    let fits_below = fixed().all(|(offset, _)| layout.total() * unit <= offset);
    let above = fixed().map(|(offset, size)| offset + size).max().unwrap_or(0).next_multiple_of(unit);
    let base = if fits_below { 0 } else { above };
    let offset = |b: &Buffer, place: u64| match b.offset {
        None if b.size > 0 => (base + place * unit).next_multiple_of(b.align),
        offset => offset.unwrap_or(0),
    };
    Ok(buffers.iter().zip(&layout.places).map(|(b, place)| offset(b, place.offset)).collect())
}

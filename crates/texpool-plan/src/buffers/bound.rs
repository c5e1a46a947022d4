//! A lower bound on the arena: the memory needed at the widest step, or by one buffer.

use super::{buffer::Buffer, pieces::pieces};
use crate::gcd::gcd;

/// Upper limit on the alignments for which a separate bound is computed. A guess.
const MAX_UNITS: usize = 16;

/// Returns a lower bound on the size of any plan, in `O(n log n)` of the pieces of the buffers.
pub(super) fn widest_step(buffers: &[Buffer], in_place: &[(usize, usize)]) -> u64 {
    let mut units: Vec<u64> = buffers.iter().map(|b| b.align).collect();
    units.sort_unstable();
    units.dedup();
    // Buffers with large alignments may need more, including the padding between them, than all buffers do without
    // padding.
    let largest = units.into_iter().rev().take(MAX_UNITS).map(|unit| widest_of_aligned(unit, buffers, in_place));
    let one = buffers.iter().map(|b| b.offset.unwrap_or(0) + b.size).max().unwrap_or(0);
    largest.chain([widest_of_aligned(1, buffers, in_place)]).fold(one, u64::max)
}

/// Returns the memory needed at any step by the buffers whose alignment is a multiple of `unit`.
fn widest_of_aligned(unit: u64, buffers: &[Buffer], in_place: &[(usize, usize)]) -> u64 {
    let is_in = |buffer: &Buffer| buffer.align.is_multiple_of(unit);
    // Every offset is a multiple of `align`.
    let align = buffers.iter().filter(|b| is_in(b)).fold(0, |divisor, b| gcd(divisor, b.align)).max(1);
    // Three counts at each step: the units in use, the units rounded up to where the next buffer could begin, and the
    // number of pieces that are windows. Windows may lie in the padding of other buffers.
    let mut changes: Vec<(usize, [i128; 3])> = Vec::new();
    let mut padding = 0;
    for buffer in buffers.iter().filter(|b| is_in(b)) {
        for piece in pieces(buffer) {
            let bytes = piece.bytes.end - piece.bytes.start;
            let whole = bytes == buffer.size;
            let padded = bytes.next_multiple_of(align);
            padding = padding.max(padded - bytes);
            let change = [bytes.into(), padded.into(), (!whole).into()];
            changes.push((piece.steps.start, change));
            changes.push((piece.steps.end, change.map(|change: i128| -change)));
        }
    }
    for &(before, after) in in_place {
        // At the step that they share, the two need at least as much as the larger one.
        let (a, b) = (&buffers[before], &buffers[after]);
        if !is_in(a) || !is_in(b) {
            continue;
        }
        let shared = i128::from(a.size.min(b.size).next_multiple_of(align));
        changes.push((b.live.start, [-shared, -shared, 0]));
        changes.push((b.live.start + 1, [shared, shared, 0]));
    }
    changes.sort_unstable_by_key(|change| change.0);
    let mut now = [0i128; 3];
    let mut widest = 0;
    for step in changes.chunk_by(|a, b| a.0 == b.0) {
        for (_, change) in step {
            now.iter_mut().zip(change).for_each(|(now, change)| *now += change);
        }
        let [bytes, padded, windows] = now;
        // The highest buffer needs no padding after it.
        let padded = if windows == 0 { padded - i128::from(padding) } else { 0 };
        widest = widest.max(bytes).max(padded);
    }
    u64::try_from(widest).unwrap_or(0)
}

//! Splits a buffer's live range where its gaps begin and end.

use std::ops::Range;

use super::buffer::Buffer;
pub(crate) use crate::offsets::Piece;

/// Returns the pieces in the order of steps, without those that need no bytes. The buffer must be valid.
pub(crate) fn pieces(buffer: &Buffer) -> Vec<Piece> {
    let mut gaps: Vec<_> = buffer.gaps.iter().collect();
    gaps.sort_by_key(|gap| gap.steps.start);
    let mut pieces = Vec::with_capacity(2 * gaps.len() + 1);
    let mut add = |steps: Range<usize>, bytes: Range<u64>| {
        if !steps.is_empty() && !bytes.is_empty() {
            pieces.push(Piece { steps, bytes });
        }
    };
    let mut from = buffer.live.start;
    for gap in gaps {
        add(from..gap.steps.start, 0..buffer.size);
        if let Some(window) = &gap.window {
            add(gap.steps.clone(), window.clone());
        }
        from = gap.steps.end;
    }
    add(from..buffer.live.end, 0..buffer.size);
    pieces
}

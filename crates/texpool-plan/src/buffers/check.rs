//! The independent checker of arena plans: verifies all constraints from the buffers alone. Shares no code with the
//! searches.

use std::collections::{BTreeSet, HashSet};

use super::{
    arena_plan::{ArenaPlan, ArenaProof},
    buffer::Buffer,
};
use crate::error::{InputError, LayoutError, PlanError};

/// Checks a plan: fixed offsets, alignments, the end of the arena, and that bound and proof agree with the total.
/// Also checks that no two buffers use the same bytes at any step, unless one is computed in place of the other there
/// and both begin at the same offset. Takes `O(n log n)` in buffers and gaps.
pub(super) fn check_arena(buffers: &[Buffer], in_place: &[(usize, usize)], plan: &ArenaPlan) -> Result<(), PlanError> {
    let (expected, length) = (buffers.len(), plan.offsets.len());
    if expected != length {
        return Err(InputError::LengthMismatch { what: "offsets", expected, found: length }.into());
    }
    for (buffer, (b, &offset)) in buffers.iter().zip(&plan.offsets).enumerate() {
        let end = u128::from(offset) + u128::from(b.size);
        if end > u128::from(plan.total) {
            return Err(LayoutError::OutOfRegion { record: buffer, region: 0, end, size: plan.total }.into());
        }
        let why = if b.align == 0 || offset % b.align != 0 {
            format!("its alignment is {}", b.align)
        } else if let Some(fixed) = b.offset.filter(|&fixed| fixed != offset) {
            format!("its place is given as {fixed}")
        } else {
            continue;
        };
        return Err(LayoutError::WrongOffset { buffer, offset, why }.into());
    }
    if let Some((a, b, step)) = overlapping(buffers, in_place, |buffer| Some(plan.offsets[buffer])) {
        return Err(LayoutError::Overlap { a, b, step, region: 0 }.into());
    }
    let &ArenaPlan { total, bound, proof, .. } = plan;
    let proven = proof != ArenaProof::Unproven;
    if bound > total || (proven && bound < total) {
        return Err(LayoutError::BadBound { total, bound, proven }.into());
    }
    Ok(())
}

/// Bytes of the arena that a buffer uses from step `from` until before step `to`.
struct Use {
    from: usize,
    to: usize,
    start: u64,
    end: u64,
    buffer: usize,
}

/// Returns two buffers that use the same bytes, the lower index first, with a step; `None` if there are none. Buffers
/// without an offset are left out. It sweeps over the steps, keeps the bytes in use sorted by start, and compares a
/// new use only with its neighbours.
pub(super) fn overlapping(
    buffers: &[Buffer],
    in_place: &[(usize, usize)],
    offset_of: impl Fn(usize) -> Option<u64>,
) -> Option<(usize, usize, usize)> {
    let mut uses: Vec<Use> = Vec::with_capacity(buffers.len());
    for (buffer, b) in buffers.iter().enumerate() {
        let Some(offset) = offset_of(buffer) else { continue };
        uses_of(b, |from, to, start, end| {
            if from < to && start < end {
                uses.push(Use { from, to, start: offset + start, end: offset + end, buffer });
            }
        });
    }
    uses.sort_unstable_by_key(|u| (u.from, u.buffer));
    let mut ends: Vec<usize> = (0..uses.len()).collect();
    ends.sort_unstable_by_key(|&at| uses[at].to);
    let mut ends = ends.into_iter().peekable();
    let pairs: HashSet<(usize, usize)> = in_place.iter().copied().collect();
    let may_share = |a: &Use, b: &Use, step: usize| {
        let computed_over = |before: usize, after: usize| {
            pairs.contains(&(before, after))
                && step + 1 == buffers[before].live.end
                && step == buffers[after].live.start
                && offset_of(before) == offset_of(after)
        };
        computed_over(a.buffer, b.buffer) || computed_over(b.buffer, a.buffer)
    };
    // Entries are the start, and the position in `uses`.
    let mut active: BTreeSet<(u64, usize)> = BTreeSet::new();
    // Uses that share bytes at this step because one is computed in place of the other. They may extend past the
    // neighbours of a new use, so comparing with neighbours alone would miss overlaps. At the next step one use of
    // each pair has ended.
    let mut shared: Vec<usize> = Vec::new();
    let mut last_step = 0;
    for (at, new) in uses.iter().enumerate() {
        let step = new.from;
        while let Some(dead) = ends.next_if(|&dead| uses[dead].to <= step) {
            active.remove(&(uses[dead].start, dead));
        }
        if step > last_step {
            shared.clear();
            last_step = step;
        }
        let below = active.range(..(new.start, at)).rev().take_while(|&&(start, _)| start == new.start);
        let below = below.chain(active.range(..(new.start, 0)).next_back());
        let above = active.range((new.start, at)..).take_while(|&&(start, _)| start < new.end);
        let near = below.chain(above).map(|&(_, other)| other).chain(shared.iter().copied());
        let overlapping: Vec<usize> =
            near.filter(|&other| uses[other].start < new.end && new.start < uses[other].end).collect();
        for &other in &overlapping {
            let old = &uses[other];
            if !may_share(old, new, step) {
                let (a, b) = (old.buffer.min(new.buffer), old.buffer.max(new.buffer));
                return Some((a, b, step));
            }
        }
        if !overlapping.is_empty() {
            shared.extend(overlapping);
            shared.push(at);
        }
        active.insert((new.start, at));
    }
    None
}

/// Calls `each` with the step range and the byte range of each use of a buffer, both with exclusive ends.
fn uses_of(buffer: &Buffer, mut each: impl FnMut(usize, usize, u64, u64)) {
    let mut gaps: Vec<_> = buffer.gaps.iter().collect();
    gaps.sort_unstable_by_key(|gap| gap.steps.start);
    let mut from = buffer.live.start;
    for gap in gaps {
        each(from, gap.steps.start, 0, buffer.size);
        if let Some(window) = &gap.window {
            each(gap.steps.start, gap.steps.end, window.start, window.end);
        }
        from = gap.steps.end;
    }
    each(from, buffer.live.end, 0, buffer.size);
}

//! The independent checker of arena plans: verifies all constraints from the buffers alone. Shares no code with the
//! searches.

use std::collections::{BTreeSet, HashSet};

use super::{
    arena_plan::{ArenaPlan, ArenaProof},
    buffer::Buffer,
    reduced::{Reduced, Rules},
};
use crate::error::{InputError, LayoutError, PlanError};

/// Checks a plan: fixed offsets, alignments, the end of the arena, and that bound and proof agree with the total.
/// Also checks that no two buffers use the same bytes at any step, unless one is computed in place of the other there
/// and both begin at the same offset, or they are of a group; that groups share an offset; and that sets are apart. Takes
/// `O(n log n)` in buffers, gaps and members of sets.
pub(super) fn check_arena(
    buffers: &[Buffer],
    rules: &Rules,
    reduced: &Reduced,
    plan: &ArenaPlan,
) -> Result<(), PlanError> {
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
    check_sets(buffers, rules, &plan.offsets)?;
    let offset_of = |part: usize| Some(plan.offsets[reduced.first_of[part]]);
    if let Some((a, b, step)) = overlapping(&reduced.buffers, &reduced.in_place, offset_of) {
        let [a, b] = [a, b].map(|part| reduced.first_of[part]);
        return Err(LayoutError::Overlap { a, b, step, region: 0 }.into());
    }
    let &ArenaPlan { total, bound, proof, .. } = plan;
    let proven = proof != ArenaProof::Unproven;
    if bound > total || (proven && bound < total) {
        return Err(LayoutError::BadBound { total, bound, proven }.into());
    }
    Ok(())
}

/// Checks that the members of each group have one offset, and that those of each other set have no byte in common.
fn check_sets(buffers: &[Buffer], rules: &Rules, offsets: &[u64]) -> Result<(), PlanError> {
    for pair in rules.same_offset.iter().flat_map(|set| set.windows(2)) {
        let ([other, buffer], [expected, offset]) = ([pair[0], pair[1]], [pair[0], pair[1]].map(|b| offsets[b]));
        if offset != expected {
            let why = format!("it shares the offset of buffer {other}, which is at {expected}");
            return Err(LayoutError::WrongOffset { buffer, offset, why }.into());
        }
    }
    for set in &rules.apart {
        let mut members: Vec<usize> = set.iter().copied().filter(|&buffer| buffers[buffer].size > 0).collect();
        members.sort_unstable_by_key(|&buffer| (offsets[buffer], buffer));
        members.dedup();
        for pair in members.windows(2) {
            let (below, buffer, offset) = (pair[0], pair[1], offsets[pair[1]]);
            let end = offsets[below] + buffers[below].size;
            if end > offset {
                let why = format!("it must be apart from buffer {below}, which ends at {end}");
                return Err(LayoutError::WrongOffset { buffer, offset, why }.into());
            }
        }
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

/// Returns two buffers that use the same bytes, the lower index first, with a step; `None` if there are none.
/// `in_place` must have been validated: the members of a pair meet at one step only. Buffers without an offset are
/// left out. It sweeps over the steps, keeps the bytes in use sorted by start, and compares a new use only with its
/// neighbours.
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

//! The independent checker of arenas: whether a plan keeps what was asked, step by step, from the buffers only. Shares
//! no code with the searches.

use std::ops::Range;

use super::{
    arena_plan::ArenaPlan,
    buffer::{Buffer, BufferId},
};
use crate::plan::error::{InputError, LayoutError, PlanError};

/// Checks offsets and total of a plan: given places, alignments, the arena's end, and that at no step two buffers use
/// the same bytes, unless one is computed in the other's place there and both begin at the same offset.
pub(super) fn check_arena(
    buffers: &[Buffer],
    in_place: &[(BufferId, BufferId)],
    plan: &ArenaPlan,
) -> Result<(), PlanError> {
    let (expected, found) = (buffers.len(), plan.offsets.len());
    if expected != found {
        return Err(InputError::LengthMismatch { what: "offsets", expected, found }.into());
    }
    for (buffer, (b, &offset)) in buffers.iter().zip(&plan.offsets).enumerate() {
        let end = u128::from(offset) + u128::from(b.size);
        if end > u128::from(plan.total) {
            return Err(LayoutError::OutOfRegion { record: buffer, region: 0, end, size: plan.total }.into());
        }
        let why = if b.align == 0 || offset % b.align != 0 {
            format!("its alignment is {}", b.align)
        } else if let Some(given) = b.offset.filter(|&given| given != offset) {
            format!("its place is given as {given}")
        } else {
            continue;
        };
        return Err(LayoutError::WrongOffset { buffer, offset, why }.into());
    }
    // What is in use changes at these steps only.
    let mut steps: Vec<usize> = Vec::new();
    for buffer in buffers {
        steps.extend([buffer.live.start, buffer.live.end]);
        buffer.gaps.iter().for_each(|gap| steps.extend([gap.steps.start, gap.steps.end]));
    }
    steps.sort_unstable();
    steps.dedup();
    let mut by_birth: Vec<usize> = (0..buffers.len()).collect();
    by_birth.sort_by_key(|&i| buffers[i].live.start);
    let mut by_birth = by_birth.into_iter().peekable();
    let mut live: Vec<usize> = Vec::new();
    for step in steps {
        live.retain(|&i| step < buffers[i].live.end);
        while let Some(born) = by_birth.next_if(|&i| buffers[i].live.start <= step) {
            live.push(born);
        }
        let used = |&i: &usize| {
            let Range { start, end } = bytes_at(&buffers[i], step);
            (start < end).then(|| (plan.offsets[i] + start, plan.offsets[i] + end, i))
        };
        let mut used: Vec<(u64, u64, usize)> = live.iter().filter_map(used).collect();
        used.sort_unstable();
        for (at, &(_, end, a)) in used.iter().enumerate() {
            for &(_, _, b) in used[at + 1..].iter().take_while(|&&(start, _, _)| start < end) {
                let over = |a: usize, b: usize| {
                    in_place.contains(&(BufferId(a), BufferId(b)))
                        && step + 1 == buffers[a].live.end
                        && step == buffers[b].live.start
                        && plan.offsets[a] == plan.offsets[b]
                };
                if !over(a, b) && !over(b, a) {
                    return Err(LayoutError::Overlap { a: a.min(b), b: a.max(b), step, region: 0 }.into());
                }
            }
        }
    }
    Ok(())
}

/// The bytes of a buffer, counted from its start, that it needs at a step of its life.
fn bytes_at(buffer: &Buffer, step: usize) -> Range<u64> {
    match buffer.gaps.iter().find(|gap| gap.steps.contains(&step)) {
        Some(gap) => gap.window.clone().unwrap_or(0..0),
        None => 0..buffer.size,
    }
}

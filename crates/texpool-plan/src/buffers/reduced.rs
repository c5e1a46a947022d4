//! Reduces sets of buffers that must be apart, and groups that share an offset, to buffers with live ranges alone, which
//! every search takes.
//!
//! A group becomes one buffer that needs at each step the bytes that its members need. For each set of buffers that must
//! be apart, a step is added after all others, at which all of its members need all of their bytes. So bounds and proofs
//! cover both without knowing of them: at the added step the members need the sum of their sizes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    buffer::{Buffer, BufferGap},
    pieces::{Piece, pieces},
};
use crate::{
    error::{InputError, PlanError},
    gcd::gcd,
};

/// Rules about more than two buffers, by position.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// Pairs that may be computed in place.
    pub(super) in_place: Vec<(usize, usize)>,
    /// Sets whose members have no byte in common.
    pub(super) apart: Vec<Vec<usize>>,
    /// Sets whose members have the same offset.
    pub(super) same_offset: Vec<Vec<usize>>,
}

/// Buffers with live ranges and pairs alone.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) buffers: Vec<Buffer>,
    pub(super) in_place: Vec<(usize, usize)>,
    /// For each original buffer, the one that it became.
    pub(super) part_of: Vec<usize>,
    /// For each reduced buffer, the first original one.
    pub(super) first_of: Vec<usize>,
}

impl Reduced {
    /// Reduces valid buffers.
    ///
    /// # Errors
    /// [`InputError::BadBuffer`] if the rules contradict each other.
    pub(super) fn new(buffers: &[Buffer], rules: &Rules) -> Result<Self, PlanError> {
        let groups = Groups::new(buffers.len(), &rules.same_offset);
        let mut reduced = Self {
            buffers: Vec::with_capacity(groups.members.len()),
            in_place: rules.in_place.clone(),
            part_of: groups.group_of,
            first_of: groups.members.iter().map(|members| members[0]).collect(),
        };
        for members in &groups.members {
            reduced.buffers.push(merged(buffers, members)?);
        }
        let in_group = |&buffer: &usize| groups.members[reduced.part_of[buffer]].len() > 1;
        for &(before, after) in &rules.in_place {
            if let Some(&buffer) = [before, after].iter().find(|&buffer| in_group(buffer)) {
                let other = before + after - buffer;
                let why = format!(
                    "it shares its offset with others, so it cannot be computed in place of buffer {other} or by it; add \
                     {other} to those that share the offset"
                );
                return Err(refused(buffers, buffer, why));
            }
        }
        for pair in &mut reduced.in_place {
            *pair = (reduced.part_of[pair.0], reduced.part_of[pair.1]);
        }
        let mut step = reduced.buffers.iter().map(|b| b.live.end).max().unwrap_or(0);
        for set in &rules.apart {
            let mut members: BTreeMap<usize, usize> = BTreeMap::new();
            for &buffer in set {
                match members.insert(reduced.part_of[buffer], buffer) {
                    Some(other) if other != buffer => {
                        let why = format!("it must be apart from buffer {other}, and share its offset");
                        return Err(refused(buffers, buffer, why));
                    }
                    _ => {}
                }
            }
            if members.len() > 1 {
                let sizes: Vec<(usize, u64)> =
                    members.iter().map(|(&part, &buffer)| (part, buffers[buffer].size)).collect();
                step = reduced.add_step(&sizes, step).ok_or_else(|| {
                    refused(buffers, set[0], "no step is left after its life, to keep it apart from others".to_owned())
                })?;
            }
        }
        Ok(reduced)
    }

    /// Adds a step at which each of these buffers needs its first bytes, as many as `members` states. Returns the next
    /// step; `None` if there is none.
    fn add_step(&mut self, members: &[(usize, u64)], step: usize) -> Option<usize> {
        let next = step.checked_add(1)?;
        for &(member, size) in members.iter().filter(|&&(_, size)| size > 0) {
            let buffer = &mut self.buffers[member];
            if buffer.live.end < step {
                buffer.gaps.push(BufferGap { steps: buffer.live.end..step, window: None });
            }
            // A group may be larger than its member.
            if size < buffer.size {
                buffer.gaps.push(BufferGap { steps: step..next, window: Some(0..size) });
            }
            buffer.live.end = next;
        }
        // Buffers that must be apart are not computed in place.
        let is_member = |buffer: usize| {
            members.binary_search_by_key(&buffer, |&(member, _)| member).is_ok_and(|at| members[at].1 > 0)
        };
        self.in_place.retain(|&(before, after)| !is_member(before) || !is_member(after));
        Some(next)
    }

    /// Returns the offsets of the original buffers.
    pub(super) fn offsets(&self, offsets: &[u64]) -> Vec<u64> {
        self.part_of.iter().map(|&part| offsets[part]).collect()
    }
}

fn refused(buffers: &[Buffer], buffer: usize, why: String) -> PlanError {
    InputError::BadBuffer { buffer, name: buffers[buffer].name.clone(), why }.into()
}

/// Buffers by group. A buffer that shares no offset is a group of its own.
struct Groups {
    members: Vec<Vec<usize>>,
    group_of: Vec<usize>,
}

impl Groups {
    /// Joins sets with a common member.
    fn new(count: usize, sets: &[Vec<usize>]) -> Self {
        // Each buffer refers to an earlier one of its group, the first to itself.
        let mut earlier: Vec<usize> = (0..count).collect();
        let first = |earlier: &mut Vec<usize>, mut buffer: usize| {
            while earlier[buffer] != buffer {
                earlier[buffer] = earlier[earlier[buffer]];
                buffer = earlier[buffer];
            }
            buffer
        };
        for pair in sets.iter().flat_map(|set| set.windows(2)) {
            let (a, b) = (first(&mut earlier, pair[0]), first(&mut earlier, pair[1]));
            earlier[a.max(b)] = a.min(b);
        }
        let mut groups = Self { members: Vec::new(), group_of: vec![0; count] };
        for buffer in 0..count {
            let first = first(&mut earlier, buffer);
            if first == buffer {
                groups.group_of[buffer] = groups.members.len();
                groups.members.push(vec![buffer]);
            } else {
                groups.group_of[buffer] = groups.group_of[first];
                groups.members[groups.group_of[first]].push(buffer);
            }
        }
        groups
    }
}

/// Returns the buffer that stands for a group.
fn merged(buffers: &[Buffer], members: &[usize]) -> Result<Buffer, PlanError> {
    let (first, others) = (&buffers[members[0]], &members[1..]);
    let mut merged = first.clone();
    for &member in others {
        let b = &buffers[member];
        merged.align = (merged.align / gcd(merged.align, b.align))
            .checked_mul(b.align)
            .ok_or_else(|| refused(buffers, member, "its group has no common alignment below 2^64".to_owned()))?;
        merged.size = merged.size.max(b.size);
        merged.live = merged.live.start.min(b.live.start)..merged.live.end.max(b.live.end);
        merged.hint = merged.hint.or(b.hint);
        match (merged.offset, b.offset) {
            (Some(one), Some(other)) if one != other => {
                let why = format!("its given place is {other}, but it shares the offset of one that is given {one}");
                return Err(refused(buffers, member, why));
            }
            (one, other) => merged.offset = one.or(other),
        }
    }
    if let Some(offset) = merged.offset.filter(|offset| !offset.is_multiple_of(merged.align)) {
        let why = format!("the offset {offset} is no multiple of {}, which its group needs", merged.align);
        return Err(refused(buffers, members[0], why));
    }
    if !others.is_empty() {
        merged.gaps = gaps(&merged, members.iter().flat_map(|&member| pieces(&buffers[member])).collect());
    }
    Ok(merged)
}

/// Returns the gaps of a buffer that needs all of these pieces. At each step it needs the bytes from the first needed
/// one to the last.
fn gaps(merged: &Buffer, pieces: Vec<Piece>) -> Vec<BufferGap> {
    let steps: BTreeSet<usize> = pieces
        .iter()
        .flat_map(|piece| [piece.steps.start, piece.steps.end])
        .chain([merged.live.start, merged.live.end])
        .collect();
    let mut begins: BTreeMap<usize, Vec<&Piece>> = BTreeMap::new();
    let mut ends: BTreeMap<usize, Vec<&Piece>> = BTreeMap::new();
    for piece in &pieces {
        begins.entry(piece.steps.start).or_default().push(piece);
        ends.entry(piece.steps.end).or_default().push(piece);
    }
    // Starts and ends of the bytes that are needed now, each with its number of pieces.
    let mut now: [BTreeMap<u64, usize>; 2] = Default::default();
    let mut gaps: Vec<BufferGap> = Vec::new();
    let steps: Vec<usize> = steps.into_iter().collect();
    for pair in steps.windows(2) {
        for piece in ends.get(&pair[0]).into_iter().flatten() {
            for (counts, byte) in now.iter_mut().zip([piece.bytes.start, piece.bytes.end]) {
                if let Some(count) = counts.get_mut(&byte) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(&byte);
                    }
                }
            }
        }
        for piece in begins.get(&pair[0]).into_iter().flatten() {
            for (counts, byte) in now.iter_mut().zip([piece.bytes.start, piece.bytes.end]) {
                *counts.entry(byte).or_insert(0) += 1;
            }
        }
        let needed: Option<Range<u64>> =
            now[0].first_key_value().zip(now[1].last_key_value()).map(|((&start, _), (&end, _))| start..end);
        let last = gaps.last_mut().filter(|gap| gap.steps.end == pair[0] && gap.window == needed);
        match last {
            Some(gap) => gap.steps.end = pair[1],
            None if needed == Some(0..merged.size) => {}
            None => gaps.push(BufferGap { steps: pair[0]..pair[1], window: needed }),
        }
    }
    gaps
}

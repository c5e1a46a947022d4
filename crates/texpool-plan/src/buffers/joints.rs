//! Finds the sets of buffers that may be placed as one, because each is computed in place of another.

use std::collections::{BTreeMap, BTreeSet};

use super::{buffer::Buffer, conflicts::Conflicts, pieces::pieces};
use crate::{
    gcd::gcd,
    offsets::{Constraint, Joint, common_byte},
};

/// Upper limit on the joints of a search. Chains of `n` buffers have `n (n - 1) / 2` of them. A guess.
const MAX_JOINTS: usize = 1 << 8;

/// Sets of buffers that may be placed as one.
pub(super) struct Joints {
    pub(super) list: Vec<Joint>,
    /// False if there are more sets.
    pub(super) complete: bool,
}

impl Joints {
    /// Lists the sets. If there are too many, it lists as few as contain every buffer of a pair.
    pub(super) fn new(buffers: &[Buffer], in_place: &[(usize, usize)], conflicts: &Conflicts) -> Self {
        let mut finder = Finder { buffers, conflicts, neighbours: vec![Vec::new(); buffers.len()], complete: true };
        for &(before, after) in in_place.iter().filter(|&&(before, after)| share_bytes(buffers, before, after)) {
            finder.neighbours[before].push(after);
            finder.neighbours[after].push(before);
        }
        let singles = (0..buffers.len()).filter(|&buffer| !finder.neighbours[buffer].is_empty());
        let singles: Vec<Vec<usize>> = singles.map(|buffer| vec![buffer]).collect();
        let mut joints = BTreeMap::new();
        let mut sets = singles.clone();
        while !sets.is_empty() {
            let mut next = Vec::new();
            for set in sets {
                for (members, joint) in finder.extensions(&set) {
                    if joints.insert(members.clone(), joint).is_none() {
                        next.push(members);
                    }
                }
                if joints.len() > MAX_JOINTS {
                    return Self { list: finder.largest(singles), complete: false };
                }
            }
            sets = next;
        }
        Self { list: joints.into_values().collect(), complete: finder.complete }
    }
}

struct Finder<'a> {
    buffers: &'a [Buffer],
    conflicts: &'a Conflicts,
    /// For each buffer, those with which it may share bytes.
    neighbours: Vec<Vec<usize>>,
    /// False if a set was left out that the search cannot place.
    complete: bool,
}

impl Finder<'_> {
    /// Returns sets that cannot be extended and together contain every buffer.
    fn largest(&mut self, singles: Vec<Vec<usize>>) -> Vec<Joint> {
        let mut contained = vec![false; self.buffers.len()];
        let mut joints = Vec::new();
        for mut members in singles {
            if contained[members[0]] {
                continue;
            }
            let mut largest = None;
            while let Some((extended, joint)) = self.extensions(&members).into_iter().next() {
                members = extended;
                largest = Some(joint);
            }
            members.iter().for_each(|&member| contained[member] = true);
            joints.extend(largest);
        }
        joints
    }

    /// Returns the sets with one more member, each as a joint.
    fn extensions(&mut self, set: &[usize]) -> Vec<(Vec<usize>, Joint)> {
        let added: BTreeSet<usize> = set.iter().flat_map(|&member| self.neighbours[member].iter().copied()).collect();
        added
            .into_iter()
            .filter(|buffer| !set.contains(buffer))
            .filter_map(|buffer| self.extended(set, buffer))
            .collect()
    }

    fn extended(&mut self, set: &[usize], buffer: usize) -> Option<(Vec<usize>, Joint)> {
        for &member in set.iter().filter(|&&member| !self.neighbours[member].contains(&buffer)) {
            let mut intervals = self.conflicts.lists[buffer].iter().filter(|forbidden| forbidden.other == member);
            if intervals.clone().next().is_some() {
                // They need different bytes at a step, and the search places tensors that need one range together.
                self.complete &= intervals.any(|forbidden| forbidden.low < 0 && 0 < forbidden.high);
                return None;
            }
        }
        let mut members = [set, &[buffer]].concat();
        members.sort_unstable();
        let all = || members.iter().map(|&member| &self.buffers[member]);
        let fixed = all().find_map(|b| b.offset);
        if all().any(|b| b.offset.is_some() && b.offset != fixed) {
            return None;
        }
        let align = all().try_fold(1u64, |multiple, b| (multiple / gcd(multiple, b.align)).checked_mul(b.align));
        let pieces: Vec<_> = all().flat_map(pieces).collect();
        let Some(align) = align.filter(|_| common_byte(&pieces).is_some()) else {
            self.complete = false;
            return None;
        };
        if fixed.is_some_and(|fixed| !fixed.is_multiple_of(align)) {
            return None;
        }
        let joint = Joint { members: members.clone(), constraint: Constraint { align, fixed, pieces } };
        Some((members, joint))
    }
}

/// Returns whether two buffers that may be computed in place need the same bytes at the step that they share.
fn share_bytes(buffers: &[Buffer], before: usize, after: usize) -> bool {
    let step = buffers[after].live.start;
    let needed = |buffer: usize| pieces(&buffers[buffer]).into_iter().find(|piece| piece.steps.contains(&step));
    needed(before).zip(needed(after)).is_some_and(|(a, b)| a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end)
}

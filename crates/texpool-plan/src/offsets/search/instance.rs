//! The fixed data of the search.

use std::ops::Range;

use super::{
    bits::{BitRows, has, ones},
    constraint::{Constraint, Constraints, Piece, common_byte},
};
use crate::{control::SearchControl, record::UsageRecord};

/// A tensor with the sections `from..to` in which it is alive, or several that are placed as one.
///
/// A section begins at each step at which a tensor begins to need bytes, and ends before the next such step.
/// minimalloc also begins sections where tensors die. The live tensors of those are a subset of the previous
/// section's, so they add no constraint.
///
/// The position of a tensor is that of its anchor, a byte that it needs in all of its sections. So of two tensors that
/// need bytes in the same sections, the one with the higher anchor lies above the other in all of them. Tensors that
/// need all of their bytes have the anchor 0, and their position is their offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) size: u64,
    /// Number of steps for which it is alive.
    pub(super) width: u64,
    /// The previous tensor with the same sections, size and alignment, if any. Only tensors that need all of their
    /// bytes, may have any offset and belong to no joint have one.
    pub(super) identical: Option<usize>,
    /// Its offset is a multiple of this.
    pub(super) align: u64,
    /// The anchor, counted from its start.
    pub(super) anchor: u64,
    /// Its fixed position, if it has one.
    pub(super) fixed: Option<u64>,
    /// True if it needs all of its bytes wherever it needs any.
    pub(super) is_whole: bool,
    /// A tensor whose position is at least this much higher lies above it.
    pub(super) reach: u64,
    /// The most bytes that it needs below its anchor.
    pub(super) depth: u64,
}

impl Tensor {
    /// Returns the sections in which it is alive.
    pub(super) fn sections(&self) -> Range<usize> {
        self.from..self.to
    }

    /// Returns the lowest allowed position that is not below `position`.
    pub(super) fn aligned(&self, position: u64) -> u64 {
        if self.align == 1 {
            return position.max(self.anchor);
        }
        let offset = position.saturating_sub(self.anchor).checked_next_multiple_of(self.align);
        offset.map_or(u64::MAX, |offset| offset.saturating_add(self.anchor))
    }

    /// Returns its end, if its anchor is at `position`.
    pub(super) fn end(&self, position: u64) -> u64 {
        position.saturating_add(self.size - self.anchor)
    }
}

/// Sections in which a tensor needs the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) sections: Range<usize>,
    /// Number of bytes below the anchor.
    pub(super) below: u64,
    /// Number of bytes from the anchor on.
    pub(super) above: u64,
}

impl Need {
    pub(super) fn bytes(&self) -> u64 {
        self.below + self.above
    }
}

/// Bytes that two tensors share in a section if they are placed as one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedBytes {
    members: (usize, usize),
    pub(super) section: usize,
    pub(super) bytes: u64,
}

/// The tensors of a search in order of birth, so that a range of sections corresponds to a range of tensors.
pub(super) struct Instance {
    /// The tensors of the records, and those that stand for several tensors placed as one.
    pub(super) tensors: Vec<Tensor>,
    /// The needs of each tensor, in the order of sections.
    pub(super) needs: Vec<Vec<Need>>,
    /// Record of each place in the result.
    pub(super) records: Vec<usize>,
    /// For each tensor, the places in the result that it determines: one, or several if it is a joint.
    pub(super) members: Vec<Vec<usize>>,
    /// For each tensor, the others that determine any of the same places. At most one of them can be placed.
    pub(super) rivals: Vec<Vec<usize>>,
    /// The bytes that members of joints share.
    pub(super) shared: Vec<SharedBytes>,
    /// For each tensor, its entries in `shared`.
    pub(super) shared_by: Vec<Vec<usize>>,
    /// For each tensor, the other tensors that need bytes at the same time and are no rivals.
    pub(super) overlaps: BitRows,
    /// For each section, the tensors that need bytes in it.
    pub(super) alive: BitRows,
    pub(super) section_count: usize,
    /// For each section, the most bytes that any tensor needs below its anchor.
    pub(super) depths: Vec<u64>,
    /// Tensors of records with fixed offsets, the lowest first.
    pub(super) fixed: Vec<usize>,
    /// For each pair of tensors their [`distance`](Self::distance); empty if it is simple, or the table too large.
    distances: Vec<u64>,
}

/// Upper limit on the tensors for which all distances are stored, 32 MiB.
const MAX_TENSORS_IN_TABLE: usize = 1 << 11;

/// A record or a joint of which a tensor is made.
struct Source<'a> {
    members: Vec<usize>,
    first: usize,
    last: usize,
    size: u64,
    constraint: &'a Constraint,
}

impl Instance {
    /// Creates the instance of `records`, which are indices into `all` in the order of [`independent_groups`]. Returns
    /// `None` if `control` stops the search for overlaps.
    pub(super) fn new(
        all: &[UsageRecord],
        constraints: &Constraints,
        records: Vec<usize>,
        control: &SearchControl<'_>,
    ) -> Option<Self> {
        let sources = sources(all, constraints, &records);
        let births = births(all, constraints, &records);
        let tensors: Vec<Tensor> = sources.iter().map(|source| tensor(source, &births)).collect();
        let (count, section_count) = (tensors.len(), births.len());
        let needs: Vec<Vec<Need>> = sources.iter().zip(&tensors).map(|(s, t)| needs(s, t, &births)).collect();
        let members: Vec<Vec<usize>> = sources.into_iter().map(|source| source.members).collect();
        let mut alive = BitRows::new(section_count, count);
        for (tensor, needs) in needs.iter().enumerate() {
            needs.iter().flat_map(|need| need.sections.clone()).for_each(|section| alive.set(section, tensor));
        }
        let mut instance = Self {
            rivals: rivals(&members, records.len()),
            shared: Vec::new(),
            shared_by: vec![Vec::new(); count],
            overlaps: BitRows::new(count, count),
            depths: vec![0; section_count],
            fixed: (0..count).filter(|&i| members[i].len() == 1 && tensors[i].fixed.is_some()).collect(),
            tensors,
            needs,
            records,
            members,
            alive,
            section_count,
            distances: Vec::new(),
        };
        instance.fixed.sort_by_key(|&tensor| instance.tensors[tensor].fixed);
        instance.find_overlaps(control)?;
        instance.find_identical();
        instance.find_shared();
        instance.measure();
        Some(instance)
    }

    fn find_overlaps(&mut self, control: &SearchControl<'_>) -> Option<()> {
        let Self { tensors, needs, overlaps, rivals, .. } = self;
        for a in 0..tensors.len() {
            if control.should_stop() {
                return None;
            }
            let without_gaps = |tensor: usize| needs[tensor].len() == 1;
            for b in (a + 1..tensors.len()).take_while(|&b| tensors[b].from < tensors[a].to) {
                let meet = (without_gaps(a) && without_gaps(b)) || common(&needs[a], &needs[b]).next().is_some();
                if meet && !rivals[a].contains(&b) {
                    overlaps.set(a, b);
                    overlaps.set(b, a);
                }
            }
        }
        Some(())
    }

    fn find_identical(&mut self) {
        for a in 0..self.tensors.len() {
            let Self { tensors, needs, rivals, .. } = self;
            let movable = |tensor: usize| {
                let t = &tensors[tensor];
                t.fixed.is_none() && t.is_whole && needs[tensor].len() == 1 && rivals[tensor].is_empty()
            };
            let Tensor { from, to, size, align, .. } = tensors[a];
            let same = |&b: &usize| {
                let other = &tensors[b];
                (other.to, other.size, other.align) == (to, size, align) && movable(b)
            };
            if movable(a) {
                // Tensors born at the same step are adjacent in the list, so only those have to be compared.
                tensors[a].identical = (0..a).rev().take_while(|&b| tensors[b].from == from).find(same);
            }
        }
    }

    /// Lists the bytes that members of joints share.
    fn find_shared(&mut self) {
        let mut tensor_of = vec![0; self.records.len()];
        for (tensor, members) in self.members.iter().enumerate() {
            if let [member] = members[..] {
                tensor_of[member] = tensor;
            }
        }
        for (joint, members) in self.members.iter().enumerate().filter(|(_, members)| members.len() > 1) {
            let pairs = members.iter().enumerate().flat_map(|(at, &a)| members[at + 1..].iter().map(move |&b| (a, b)));
            for (a, b) in pairs {
                let pairs: Vec<usize> = (0..self.shared.len()).filter(|&i| self.shared[i].members == (a, b)).collect();
                if !pairs.is_empty() {
                    self.shared_by[joint].extend(pairs);
                    continue;
                }
                let (first, second) = (tensor_of[a], tensor_of[b]);
                let anchors = [first, second].map(|tensor| self.tensors[tensor].anchor);
                for (x, y, sections) in common(&self.needs[first], &self.needs[second]) {
                    let start = (anchors[0] - x.below).max(anchors[1] - y.below);
                    let end = (anchors[0] + x.above).min(anchors[1] + y.above);
                    for section in sections {
                        self.shared_by[joint].push(self.shared.len());
                        let bytes = end.saturating_sub(start);
                        self.shared.push(SharedBytes { members: (a, b), section, bytes });
                    }
                }
            }
        }
    }

    /// Computes how far each tensor reaches above and below its anchor.
    fn measure(&mut self) {
        for (tensor, needs) in self.needs.iter().enumerate() {
            self.tensors[tensor].reach = needs.iter().map(|need| need.above).max().unwrap_or(0);
            self.tensors[tensor].depth = needs.iter().map(|need| need.below).max().unwrap_or(0);
            for need in needs {
                self.depths[need.sections.clone()].iter_mut().for_each(|depth| *depth = need.below.max(*depth));
            }
        }
        if self.tensors.iter().all(|t| t.is_whole) {
            return;
        }
        let count = self.tensors.len();
        if count <= MAX_TENSORS_IN_TABLE {
            let pairs = (0..count).flat_map(|lower| (0..count).map(move |upper| (lower, upper)));
            self.distances = pairs.map(|(lower, upper)| self.distance(lower, upper)).collect();
        }
        for tensor in 0..self.tensors.len() {
            let row = self.overlaps.row(tensor);
            let others = row.iter().enumerate().flat_map(|(word, &bits)| ones(word, bits));
            let farthest = others.map(|other| self.distance(tensor, other)).max().unwrap_or(0);
            self.tensors[tensor].reach = self.tensors[tensor].reach.max(farthest);
        }
    }

    /// Returns the least difference of the positions of two tensors that overlap in time, if `upper` lies above
    /// `lower`.
    pub(super) fn distance(&self, lower: usize, upper: usize) -> u64 {
        let (a, b) = (&self.tensors[lower], &self.tensors[upper]);
        if a.is_whole && b.is_whole {
            return a.size;
        }
        if let Some(&distance) = self.distances.get(lower * self.tensors.len() + upper) {
            return distance;
        }
        common(&self.needs[lower], &self.needs[upper]).map(|(x, y, _)| x.above + y.below).max().unwrap_or(0)
    }

    /// Returns the bytes that a tensor needs below its anchor in one of its sections.
    pub(super) fn below(&self, tensor: usize, section: usize) -> u64 {
        if self.tensors[tensor].depth == 0 {
            return 0;
        }
        let needs = &self.needs[tensor];
        needs.get(needs.partition_point(|need| need.sections.end <= section)).map_or(0, |need| need.below)
    }

    /// Returns the lowest allowed position of a tensor that is not below `position` and leaves the tensors with fixed
    /// offsets their place.
    pub(super) fn lowest_free(&self, tensor: usize, position: u64) -> u64 {
        let t = &self.tensors[tensor];
        let row = self.overlaps.row(tensor);
        let mut lowest = t.aligned(position);
        loop {
            let before = lowest;
            for &other in self.fixed.iter().filter(|&&other| has(row, other)) {
                let Some(fixed) = self.tensors[other].fixed else { continue };
                let above = fixed + self.distance(other, tensor);
                if lowest < above && fixed < lowest.saturating_add(self.distance(tensor, other)) {
                    lowest = t.aligned(above);
                }
            }
            if lowest == before {
                return lowest;
            }
        }
    }
}

/// Returns the records and joints of a group, in the order of birth.
fn sources<'a>(all: &[UsageRecord], constraints: &'a Constraints, records: &[usize]) -> Vec<Source<'a>> {
    let single = |(place, &record): (usize, &usize)| {
        let UsageRecord { first, last, size } = all[record];
        Source { members: vec![place], first, last, size, constraint: constraints.of(record) }
    };
    let mut sources: Vec<Source<'a>> = records.iter().enumerate().map(single).collect();
    if constraints.joints.is_empty() {
        return sources;
    }
    let place_of: std::collections::HashMap<usize, usize> =
        records.iter().enumerate().map(|(place, &record)| (record, place)).collect();
    for joint in &constraints.joints {
        let Some(members) = joint.members.iter().map(|member| place_of.get(member).copied()).collect() else {
            continue;
        };
        let of = |record: &usize| all[*record];
        sources.push(Source {
            members,
            first: joint.members.iter().map(|member| of(member).first).min().unwrap_or(0),
            last: joint.members.iter().map(|member| of(member).last).max().unwrap_or(0),
            size: joint.members.iter().map(|member| of(member).size).max().unwrap_or(0),
            constraint: &joint.constraint,
        });
    }
    sources.sort_by_key(|source| source.first);
    sources
}

/// Returns the steps at which sections begin.
fn births(all: &[UsageRecord], constraints: &Constraints, records: &[usize]) -> Vec<usize> {
    let within = |a: &Piece, b: &Piece| {
        a.steps.end == b.steps.start && a.bytes.start <= b.bytes.start && b.bytes.end <= a.bytes.end
    };
    let mut births: Vec<usize> = Vec::with_capacity(records.len());
    for &record in records {
        births.push(all[record].first);
        let pieces = constraints.of(record).pieces.as_slice();
        let grows = pieces.windows(2).filter(|pair| !within(&pair[0], &pair[1]));
        births.extend(grows.map(|pair| pair[1].steps.start));
    }
    births.sort_unstable();
    births.dedup();
    births
}

fn tensor(source: &Source<'_>, births: &[usize]) -> Tensor {
    let &Source { first, last, size, constraint: Constraint { align, fixed, pieces }, .. } = source;
    let anchor = common_byte(pieces).unwrap_or(0);
    Tensor {
        from: births.partition_point(|&birth| birth < first),
        to: births.partition_point(|&birth| birth <= last),
        size,
        width: (last - first) as u64 + 1,
        identical: None,
        align: *align,
        anchor,
        fixed: fixed.map(|fixed| fixed + anchor),
        is_whole: pieces.iter().all(|piece| piece.bytes == (0..size)),
        reach: 0,
        depth: 0,
    }
}

fn needs(source: &Source<'_>, tensor: &Tensor, births: &[usize]) -> Vec<Need> {
    let pieces = source.constraint.pieces.as_slice();
    if pieces.is_empty() {
        return vec![Need { sections: tensor.sections(), below: 0, above: tensor.size }];
    }
    let mut needs: Vec<Need> = Vec::new();
    for section in tensor.sections() {
        let here = || pieces.iter().filter(|piece| piece.steps.contains(&births[section])).map(|piece| &piece.bytes);
        let Some(start) = here().map(|bytes| bytes.start).min() else { continue };
        let end = here().map(|bytes| bytes.end).max().unwrap_or(start);
        let need = Need { sections: section..section + 1, below: tensor.anchor - start, above: end - tensor.anchor };
        match needs.last_mut() {
            Some(last) if last.sections.end == section && (last.below, last.above) == (need.below, need.above) => {
                last.sections.end += 1;
            }
            _ => needs.push(need),
        }
    }
    needs
}

/// Returns the needs of two tensors in the same sections, with those sections.
fn common<'n>(a: &'n [Need], b: &'n [Need]) -> impl Iterator<Item = (&'n Need, &'n Need, Range<usize>)> {
    a.iter().flat_map(move |x| {
        let first = b.partition_point(|y| y.sections.end <= x.sections.start);
        let meeting = b[first..].iter().take_while(move |y| y.sections.start < x.sections.end);
        meeting.map(move |y| (x, y, x.sections.start.max(y.sections.start)..x.sections.end.min(y.sections.end)))
    })
}

/// Returns for each tensor the others with a common member, of which there are `places`.
fn rivals(members: &[Vec<usize>], places: usize) -> Vec<Vec<usize>> {
    let mut tensors_of = vec![Vec::new(); places];
    for (tensor, members) in members.iter().enumerate() {
        members.iter().for_each(|&member| tensors_of[member].push(tensor));
    }
    let rivals = |(tensor, members): (usize, &Vec<usize>)| {
        let mut rivals: Vec<usize> = members.iter().flat_map(|&member| tensors_of[member].iter().copied()).collect();
        rivals.retain(|&rival| rival != tensor);
        rivals.sort_unstable();
        rivals.dedup();
        rivals
    };
    members.iter().enumerate().map(rivals).collect()
}

/// Groups the records whose size is not 0, in order of birth, such that different groups are never alive at the same
/// time. minimalloc calls these groups partitions; here a partition is a part of a group that is split off during the
/// search.
pub(super) fn independent_groups(records: &[UsageRecord]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..records.len()).filter(|&i| records[i].size > 0).collect();
    order.sort_by_key(|&i| (records[i].first, records[i].last, records[i].size));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut last = 0;
    for i in order {
        match groups.last_mut() {
            Some(group) if records[i].first <= last => group.push(i),
            _ => groups.push(vec![i]),
        }
        last = last.max(records[i].last);
    }
    groups
}

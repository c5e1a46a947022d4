//! The fixed data of the exact search: items, the constraints between them, and sections of the timeline.

use std::cmp::Reverse;

use crate::{
    buffers::{
        buffer::Buffer,
        conflicts::{Conflicts, Forbidden},
        pieces::{Piece, pieces},
    },
    gcd::gcd,
};

/// Upper limit on the alignments that get separate sections. A guess.
const MAX_UNITS: usize = 8;

/// A buffer to be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// Index of the buffer in the caller's list.
    pub(super) buffer: usize,
    pub(super) size: i64,
    pub(super) align: i64,
    pub(super) fixed: Option<i64>,
}

/// A constraint between two items: the offset of `a` minus that of `b` must not lie strictly between `low` and
/// `high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// Bytes of an item that are needed in a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) item: usize,
    /// Relative to the item's offset.
    pub(super) start: i64,
    pub(super) size: i64,
    /// The size, rounded up to the section's unit.
    pub(super) padded: i64,
}

/// The memory needed at a step at which some item begins to need bytes. Until the next such step the need does not
/// grow.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Ordered from the largest to the smallest.
    pub(super) needs: Vec<Need>,
    /// Pairs of items that may be computed in place here, as positions in `needs`, the larger item first. Each pair
    /// comes with the [`Apart`]s that forbid a partial overlap.
    pub(super) in_place: Vec<(usize, usize, Vec<usize>)>,
}

impl Section {
    /// Returns whether this section contains all needs of `other`, and has no pairs computed in place.
    fn holds(&self, other: &Self) -> bool {
        let same = |a: &Need, b: &Need| (a.item, a.start, a.size, a.padded) == (b.item, b.start, b.size, b.padded);
        self.in_place.is_empty() && other.needs.iter().all(|need| self.needs.iter().any(|here| same(need, here)))
    }
}

/// A group of items that are connected by overlapping live ranges, or a single item.
pub(super) struct Instance {
    pub(super) items: Vec<Item>,
    pub(super) aparts: Vec<Separation>,
    /// For each item, the indices of its constraints in `aparts`.
    pub(super) aparts_of: Vec<Vec<usize>>,
    pub(super) sections: Vec<Section>,
    /// For each item, the indices of its sections.
    pub(super) sections_of: Vec<Vec<usize>>,
    /// Symmetry breaking: in these `aparts` the two items are interchangeable, so `a` is always placed below `b`.
    pub(super) ordered: Vec<usize>,
}

/// Splits buffers into instances that can be placed independently. Buffers that never need any bytes are left out.
pub(super) fn instances(buffers: &[Buffer], in_place: &[(usize, usize)], conflicts: &Conflicts) -> Vec<Instance> {
    let mut group: Vec<Option<usize>> = vec![None; buffers.len()];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for first in (0..buffers.len()).filter(|&i| buffers[i].size > 0) {
        if group[first].is_some() {
            continue;
        }
        let mut members = vec![first];
        group[first] = Some(groups.len());
        let mut next = 0;
        while let Some(&member) = members.get(next) {
            for &Forbidden { other, .. } in &conflicts.lists[member] {
                if group[other].is_none() {
                    group[other] = Some(groups.len());
                    members.push(other);
                }
            }
            next += 1;
        }
        members.sort_unstable();
        groups.push(members);
    }
    groups.into_iter().map(|members| Instance::new(buffers, in_place, conflicts, &members)).collect()
}

impl Instance {
    fn new(buffers: &[Buffer], in_place: &[(usize, usize)], conflicts: &Conflicts, members: &[usize]) -> Self {
        let position = |buffer: usize| members.binary_search(&buffer).ok();
        let items: Vec<Item> = members
            .iter()
            .map(|&buffer| {
                let Buffer { size, align, offset, .. } = buffers[buffer];
                Item { buffer, size: size as i64, align: align as i64, fixed: offset.map(|offset| offset as i64) }
            })
            .collect();
        let mut aparts = Vec::new();
        let mut aparts_of = vec![Vec::new(); items.len()];
        for (a, item) in items.iter().enumerate() {
            for &Forbidden { other, low, high } in &conflicts.lists[item.buffer] {
                if let Some(b) = position(other).filter(|&b| a < b) {
                    aparts_of[a].push(aparts.len());
                    aparts_of[b].push(aparts.len());
                    aparts.push(Separation { a, b, low, high });
                }
            }
        }
        let pairs: Vec<(usize, usize)> =
            in_place.iter().filter_map(|&(before, after)| position(before).zip(position(after))).collect();
        let pieces: Vec<Vec<Piece>> = members.iter().map(|&buffer| pieces(&buffers[buffer])).collect();
        let between = |a: usize, b: usize| {
            let (a, b) = (a.min(b), a.max(b));
            aparts_of[a].iter().copied().filter(|&at| (aparts[at].a, aparts[at].b) == (a, b)).collect()
        };
        let sections = sections(&items, &pieces, &pairs, between);
        let mut sections_of = vec![Vec::new(); items.len()];
        for (at, section) in sections.iter().enumerate() {
            section.needs.iter().for_each(|need| sections_of[need.item].push(at));
        }
        let ordered = ordered(&items, &pieces, &pairs, &aparts);
        Self { items, aparts, aparts_of, sections, sections_of, ordered }
    }

    /// Returns a number that divides every end of some smallest plan.
    ///
    /// Among plans with the same relative positions of items, take the one in which all items lie as low as possible.
    /// Each offset is then 0, or fixed, or follows from another offset by an end of a forbidden interval, rounded up
    /// to an alignment.
    pub(super) fn granularity(&self) -> u64 {
        let mut divisor = 0;
        for item in &self.items {
            divisor = gcd(gcd(divisor, item.size.unsigned_abs()), item.fixed.unwrap_or(0).unsigned_abs());
        }
        for apart in &self.aparts {
            divisor = gcd(gcd(divisor, apart.low.unsigned_abs()), apart.high.unsigned_abs());
        }
        divisor = divisor.max(1);
        // Rounding to an alignment changes nothing if the divisor is a multiple of it.
        let aligns = || self.items.iter().map(|item| item.align.unsigned_abs());
        while let Some(align) = aligns().find(|align| !align.is_multiple_of(divisor) && !divisor.is_multiple_of(*align))
        {
            divisor = gcd(divisor, align);
        }
        divisor
    }
}

/// Returns the sections in the order of steps. `between` returns the [`Apart`]s of two items.
fn sections(
    items: &[Item],
    pieces: &[Vec<Piece>],
    pairs: &[(usize, usize)],
    between: impl Fn(usize, usize) -> Vec<usize>,
) -> Vec<Section> {
    let mut births: Vec<usize> = pieces.iter().flatten().map(|piece| piece.steps.start).collect();
    births.sort_unstable();
    births.dedup();
    // A unit that divides all alignments gives the same sections as a unit of 1.
    let differs = |&unit: &i64| items.iter().any(|item| item.align % unit != 0);
    let mut units: Vec<i64> = items.iter().map(|item| item.align).filter(differs).collect();
    units.sort_unstable_by_key(|&unit| Reverse(unit));
    units.dedup();
    units.truncate(MAX_UNITS);
    units.push(1);
    // Besides the needs of all items at a step, a section can hold only the items whose alignment is a multiple of a
    // unit. These items cannot use the padding after each other.
    let mut sections = Vec::new();
    for unit in units {
        let mut last: Option<Section> = None;
        for &step in &births {
            let need = |item: usize| {
                let piece = pieces[item].iter().find(|piece| piece.steps.contains(&step))?;
                let size = (piece.bytes.end - piece.bytes.start) as i64;
                Some(Need { item, start: piece.bytes.start as i64, size, padded: size })
            };
            let aligned = (0..items.len()).filter(|&item| items[item].align % unit == 0);
            let section = section(items, aligned.filter_map(need).collect(), pairs, &between);
            // If this section fits, so does the previous one when it contains no further needs.
            sections.extend(last.replace(section).filter(|before| last.as_ref().is_none_or(|now| !now.holds(before))));
        }
        sections.extend(last);
    }
    sections
}

fn section(
    items: &[Item],
    mut needs: Vec<Need>,
    pairs: &[(usize, usize)],
    between: &impl Fn(usize, usize) -> Vec<usize>,
) -> Section {
    needs.sort_by_key(|need| (Reverse(need.size), need.item));
    let unit = needs.iter().fold(0, |unit, need| gcd(unit, items[need.item].align.unsigned_abs())).max(1) as i64;
    if needs.iter().all(|need| need.start % unit == 0) {
        needs.iter_mut().for_each(|need| need.padded = (need.size as u64).next_multiple_of(unit as u64) as i64);
    }
    let at = |item: usize| needs.iter().position(|need| need.item == item);
    let in_place = pairs
        .iter()
        .filter_map(|&(before, after)| {
            let (x, y) = (at(before)?, at(after)?);
            Some((x.min(y), x.max(y), between(before, after)))
        })
        .collect();
    Section { needs, in_place }
}

/// Returns the pairs of adjacent items that are interchangeable.
fn ordered(items: &[Item], pieces: &[Vec<Piece>], pairs: &[(usize, usize)], aparts: &[Separation]) -> Vec<usize> {
    let same = |a: usize, b: usize| {
        let (x, y) = (&items[a], &items[b]);
        (x.size, x.align) == (y.size, y.align) && x.fixed.or(y.fixed).is_none() && pieces[a] == pieces[b]
    };
    let alone = |item: usize| pairs.iter().all(|&(before, after)| item != before && item != after);
    let mut twins_apart = Vec::new();
    for a in 0..items.len() {
        let twin = (a + 1..items.len()).find(|&b| same(a, b)).filter(|&b| alone(a) && alone(b));
        let around_zero =
            |b: usize| aparts.iter().position(|apart| (apart.a, apart.b) == (a, b) && apart.low < 0 && 0 < apart.high);
        twins_apart.extend(twin.and_then(around_zero));
    }
    twins_apart
}

//! A division into segments along with the textures of its records, which searches mutate together.

use std::collections::HashMap;

use super::{
    error::CompileError,
    variant::{PlacedCandidate, Rows, Variant},
};
use crate::{
    plan::{AssignmentSearch, SearchControl, assign_rows},
    schedule::{Contents, Schedule, StorageKind, phases::Segment},
};

/// What a record holds, and how many records before it hold the same: the tiles of a node's weights are several. It is
/// the same record in every division.
type RecordName = (Contents, usize);

/// A division with textures of its records.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) segments: Vec<Segment>,
    /// What the peaks of the textures add up to.
    pub(super) texels: u64,
    names: Vec<RecordName>,
    /// The texture of each record.
    pub(super) texture_of: Vec<usize>,
}

impl Division {
    /// How many textures it has.
    pub(super) fn textures(&self) -> usize {
        self.texture_of.iter().max().map_or(0, |&last| last + 1)
    }

    /// The division of a plan, which takes so many texels.
    pub(super) fn of(placed: &PlacedCandidate, schedule: &Schedule, texels: u64) -> Self {
        let names = names(schedule);
        let mut texture_of = vec![0; names.len()];
        placed.plan.placements.iter().for_each(|place| texture_of[place.record] = place.texture);
        Self { segments: placed.segments.clone(), texels, names, texture_of }
    }
}

/// One of several searches side by side.
pub(super) struct Chain<'a, 'c> {
    pub(super) variant: &'a Variant<'a>,
    /// How many textures there are.
    pub(super) textures: usize,
    /// Each draws random numbers of its own.
    pub(super) number: u64,
    pub(super) control: &'a SearchControl<'c>,
}

/// How far textures of a division are searched for.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Moves of records between textures.
    pub(super) moves: u64,
    /// Divisions with more texels alive at once are not looked at.
    pub(super) most: u64,
    /// Textures whose peaks add up to no more are good enough.
    pub(super) enough: u64,
}

impl Chain<'_, '_> {
    /// A division with the best textures that are found, from those of another division on, in the random order of a
    /// number. None where more texels are alive than at most are looked at.
    pub(super) fn assigned(
        &self,
        segments: Vec<Segment>,
        schedule: &Schedule,
        from: Option<&Division>,
        number: u64,
        Effort { moves, most, enough }: Effort,
    ) -> Result<Option<Division>, CompileError> {
        let rows = Rows::new(self.variant.graph, schedule);
        let names = names(schedule);
        let from = from.into_iter().flat_map(|from| from.names.iter().copied().zip(from.texture_of.iter().copied()));
        let textures: HashMap<RecordName, usize> = from.collect();
        let from: Vec<Option<usize>> = names.iter().map(|name| textures.get(name).copied()).collect();
        let sequence = self.number << 32 | number;
        let search = AssignmentSearch { textures: self.textures, from: &from, moves, sequence, most, enough };
        let Some(assigned) = assign_rows(&rows.problem(), &search, self.control)? else { return Ok(None) };
        Ok(Some(Division { segments, texels: assigned.bound, names, texture_of: assigned.texture_of }))
    }
}

/// The name of each record of a schedule.
fn names(schedule: &Schedule) -> Vec<RecordName> {
    let mut before: HashMap<Contents, usize> = HashMap::new();
    let records = schedule.storages.iter().filter(|storage| matches!(storage.kind, StorageKind::Intermediate(_)));
    let name = |contents: Contents| {
        let count = before.entry(contents).or_default();
        *count += 1;
        (contents, *count - 1)
    };
    records.map(|storage| storage.contents).map(name).collect()
}

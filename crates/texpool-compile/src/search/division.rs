//! A division into cascades, together with the assignment of its records to textures. Searches mutate both together.

use std::collections::HashMap;

use super::variant::{PlacedCandidate, Rows, Variant};
use crate::{
    error::CompileError,
    schedule::{Contents, Schedule, StorageKind, tiling::Cascade},
};
use texpool_plan::{
    SearchControl,
    internal::{AssignmentSearch, assign_rows},
};

/// Identifies a record across divisions: its contents, and the number of earlier records with the same contents (the
/// tiles of one node's weights have the same contents).
type RecordName = (Contents, usize);

/// A division whose records are assigned to textures.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) cascades: Vec<Cascade>,
    /// Sum of the textures' peaks.
    pub(super) texels: u64,
    names: Vec<RecordName>,
    /// Index of the texture of each record.
    pub(super) texture_of: Vec<usize>,
}

impl Division {
    /// Returns the number of textures.
    pub(super) fn textures(&self) -> usize {
        self.texture_of.iter().max().map_or(0, |&last| last + 1)
    }

    /// Returns the division of a plan that takes `texels` texels.
    pub(super) fn of(placed: &PlacedCandidate, schedule: &Schedule, texels: u64) -> Self {
        let names = names(schedule);
        let mut texture_of = vec![0; names.len()];
        placed.plan.placements.iter().for_each(|place| texture_of[place.record] = place.texture);
        Self { cascades: placed.cascades.clone(), texels, names, texture_of }
    }
}

/// One of several searches that run in parallel.
pub(super) struct Chain<'a, 'c> {
    pub(super) variant: &'a Variant<'a>,
    /// Number of textures to use.
    pub(super) textures: usize,
    /// Number of this chain; selects its random sequence.
    pub(super) number: u64,
    pub(super) control: &'a SearchControl<'c>,
}

/// Effort and limits of the search for a texture assignment.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Number of moves of records between textures.
    pub(super) moves: u64,
    /// Upper limit on live texels; a division with more is rejected.
    pub(super) most: u64,
    /// Stop once the textures' peaks add up to this value or less.
    pub(super) enough: u64,
}

impl Chain<'_, '_> {
    /// Searches for the best texture assignment of a division, starting from that of `from`; `number` selects the
    /// random sequence. Returns `None` if more texels are alive at once than `most` allows.
    pub(super) fn assigned(
        &self,
        cascades: Vec<Cascade>,
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
        Ok(Some(Division { cascades, texels: assigned.bound, names, texture_of: assigned.texture_of }))
    }
}

/// Returns the name of each record of a schedule.
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

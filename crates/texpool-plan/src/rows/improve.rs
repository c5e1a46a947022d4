//! Textures of records apart from where their rows lie in them. A search over many schedules, each a little different
//! from one before, goes on from the textures found there and packs rows only at its end: the sum of the textures'
//! peaks is nearly always what they are packed in.

use super::{
    items,
    live_profile::LiveProfiles,
    place::{Packing, pack_textures},
    problem::{RowLayout, RowProblem},
    textures::{Assigned, AssignmentSearch, conflicts, improved},
};
use crate::{
    bounds::{max_breadth, naive_total},
    control::SearchControl,
    error::PlanError,
    record::UsageRecord,
};

/// Textures of all records: those that they have, or better ones. None where more than `most` texels are alive at once,
/// where no texture is left for a record, or where the profiles take too much memory.
///
/// # Errors
/// As [`place_rows`](super::place_rows).
pub fn assign_rows(
    problem: &RowProblem<'_>,
    search: &AssignmentSearch<'_>,
    control: &SearchControl<'_>,
) -> Result<Option<Assigned>, PlanError> {
    let items = items::items(problem)?;
    let usages: Vec<UsageRecord> = items.iter().map(|item| item.usage).collect();
    naive_total(&usages)?;
    if max_breadth(&usages) > search.most {
        return Ok(None);
    }
    let records = problem.tensors.len();
    let Some(profiles) = LiveProfiles::new(records, &items) else { return Ok(None) };
    Ok(improved(&profiles, &conflicts(records, problem.steps), search, control))
}

/// The layout of records in textures that are given. None if the search is stopped before there is one.
///
/// # Errors
/// As [`place_rows`](super::place_rows).
pub fn pack_rows(
    problem: &RowProblem<'_>,
    texture_of: &[usize],
    packings: u64,
    control: &SearchControl<'_>,
) -> Result<Option<RowLayout>, PlanError> {
    let items = items::items(problem)?;
    Ok(pack_textures(problem, &items, texture_of, Packing { packings, below: u64::MAX }, control))
}

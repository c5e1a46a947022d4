//! Assigns records to textures without packing their rows. A search over many similar schedules continues from the
//! textures of an earlier one, and packs rows only at its end, because the sum of the textures' peaks is nearly
//! always the packed size.

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

/// Returns textures for all records: the given ones, or better ones. Returns `None` if more than `most` texels are
/// alive at once, if a record cannot get a texture, or if the profiles take too much memory.
///
/// # Errors
/// The errors of [`place_rows`](super::place_rows).
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

/// Packs the rows of records whose textures are given. Returns `None` if the search is stopped before it has a
/// layout.
///
/// # Errors
/// The errors of [`place_rows`](super::place_rows).
pub fn pack_rows(
    problem: &RowProblem<'_>,
    texture_of: &[usize],
    packings: u64,
    control: &SearchControl<'_>,
) -> Result<Option<RowLayout>, PlanError> {
    let items = items::items(problem)?;
    Ok(pack_textures(problem, &items, texture_of, Packing { packings, below: u64::MAX }, control))
}

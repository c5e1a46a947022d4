//! A layout of rows: tensors to textures, then rows to texels, for several numbers of textures; the smallest is kept.

use super::{
    items::{self, Item},
    live_profile::LiveProfiles,
    pack::pack,
    problem::{RowLayout, RowProblem},
    textures::{Climbing, assignments, conflicts},
};
use crate::plan::{
    bounds::naive_total, budget::SearchBudget, control::SearchControl, error::PlanError, record::UsageRecord,
};

/// Numbers of textures that are tried; a network that needs more gets a layout of as many as it needs.
const FEWEST: usize = 2;
const MOST: usize = 4;
/// Assignments that are packed, for each number of textures.
const PACKED: usize = 3;

/// Places every row of every record; the same answer for the same problem and budget, unless `control` stops the
/// search, which then answers with the best so far. `None` where it is stopped before there is any, or where tensors
/// times steps are too many for the search's memory.
///
/// # Errors
/// As [`row_lives`](super::row_lives); [`PlanError::Input`] where the rows add up to more than 64 bits hold.
pub fn place_rows(
    problem: &RowProblem<'_>,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<Option<RowLayout>, PlanError> {
    let items = items::items(problem)?;
    let usages: Vec<UsageRecord> = items.iter().map(|item| item.usage).collect();
    naive_total(&usages)?;
    let records = problem.tensors.len();
    let Some(profiles) = LiveProfiles::new(records, &items) else { return Ok(None) };
    let conflicts = conflicts(records, problem.steps);
    let mut found = Vec::new();
    let mut textures = FEWEST.min(records.max(1));
    // With a texture for each tensor there is always an assignment.
    while textures <= MOST || found.is_empty() {
        let climbing = Climbing { moves: budget.moves / (MOST - FEWEST + 1) as u64, keep: PACKED };
        found.extend(assignments(&profiles, &conflicts, textures, climbing, control));
        textures += 1;
        if control.should_stop() && found.is_empty() {
            return Ok(None);
        }
    }
    found.sort();
    let share = (budget.packings / found.len().max(1) as u64).max(1);
    let mut best: Option<RowLayout> = None;
    for assigned in &found {
        let total = best.as_ref().map_or(u64::MAX, RowLayout::total);
        if assigned.bound >= total {
            break;
        }
        let packing = Packing { packings: share, below: total };
        let layout = packed(problem, &items, &assigned.texture_of, packing, control);
        best = layout.filter(|layout| layout.total() < total).or(best);
        if control.should_stop() {
            return Ok(best);
        }
    }
    // The first assignment always has a layout: this is for none at all.
    let starts = problem.tensors.iter().map(|t| vec![0; t.rows as usize]).collect();
    let nothing = RowLayout { textures: Vec::new(), texture_of: vec![0; records], starts };
    Ok(Some(best.unwrap_or(nothing)))
}

/// How far a layout is searched for, and what it must be smaller than.
struct Packing {
    packings: u64,
    below: u64,
}

/// The layout of an assignment; nothing where it is seen on the way that its textures will not add up to less than
/// `below`, or where the search is stopped.
fn packed(
    problem: &RowProblem<'_>,
    items: &[Item],
    texture_of: &[usize],
    Packing { packings, below }: Packing,
    control: &SearchControl<'_>,
) -> Option<RowLayout> {
    let textures = texture_of.iter().max().map_or(0, |&most| most + 1);
    let mut starts: Vec<Vec<u64>> = problem.tensors.iter().map(|t| vec![0; t.rows as usize]).collect();
    let mut rows: Vec<Vec<UsageRecord>> = vec![Vec::new(); textures];
    let mut members: Vec<Vec<&Item>> = vec![Vec::new(); textures];
    for item in items {
        rows[texture_of[item.record]].push(item.usage);
        members[texture_of[item.record]].push(item);
    }
    let mut heights: Vec<u64> = rows.iter().map(|rows| breadth(rows)).collect();
    for texture in 0..textures {
        let least = heights[texture];
        let others = heights.iter().sum::<u64>() - least;
        let room = below.saturating_sub(others);
        let (offsets, height) = pack(&rows[texture], least, room, packings / textures as u64, control)?;
        if height >= room {
            return None;
        }
        heights[texture] = height;
        for (item, offset) in members[texture].iter().zip(offsets) {
            let row_texels = u64::from(problem.tensors[item.record].row_texels);
            for (i, row) in item.rows.clone().enumerate() {
                starts[item.record][row as usize] = offset + i as u64 * row_texels;
            }
        }
    }
    Some(compact(RowLayout { textures: heights, texture_of: texture_of.to_vec(), starts }))
}

/// Texels alive at the fullest step.
fn breadth(rows: &[UsageRecord]) -> u64 {
    let end = rows.iter().map(|r| r.last + 2).max().unwrap_or(0);
    let mut change = vec![0i64; end];
    for r in rows {
        change[r.first] += r.size as i64;
        change[r.last + 1] -= r.size as i64;
    }
    let (mut live, mut most) = (0, 0);
    for c in change {
        live += c;
        most = most.max(live);
    }
    most.unsigned_abs()
}

/// Without textures that hold nothing, but for the one of tensors that are never written.
fn compact(mut layout: RowLayout) -> RowLayout {
    let kept: Vec<usize> = (0..layout.textures.len()).filter(|&t| layout.textures[t] > 0).collect();
    for texture in &mut layout.texture_of {
        *texture = kept.iter().position(|kept| kept == texture).unwrap_or(0);
    }
    layout.textures = kept.iter().map(|&t| layout.textures[t]).collect();
    layout
}

//! From a layout of rows to textures and row tables; whole tensors and rings are told for what they are.

use super::{
    items::row_lives,
    problem::{RowLayout, RowProblem},
};
use crate::plan::{
    error::{InputError, PlanError},
    layout::LayoutKind,
    placement::{Placement, Plan, RowTable, TexelFormat},
    realize::{TensorRows, TextureLimits, texture},
};

/// Cuts textures from a layout of rows.
///
/// # Errors
/// [`PlanError::Input`] where the lists disagree, [`PlanError::Unsupported`] where no texture can hold what
/// is to lie in it, and as [`row_lives`].
pub fn realize_rows(
    layout: &RowLayout,
    problem: &RowProblem<'_>,
    format: TexelFormat,
    limits: TextureLimits,
) -> Result<Plan, PlanError> {
    let records = problem.tensors.len();
    for (what, found) in [("textures of records", layout.texture_of.len()), ("row starts", layout.starts.len())] {
        if found != records {
            return Err(InputError::LengthMismatch { what, expected: records, found }.into());
        }
    }
    let textures = layout
        .textures
        .iter()
        .enumerate()
        .map(|(region, &texels)| texture(region, texels, format, limits))
        .collect::<Result<Vec<_>, _>>()?;
    let lives = row_lives(problem.tensors, problem.steps)?;
    let mut placements = Vec::with_capacity(records);
    for (record, lives) in lives.iter().enumerate() {
        let written: Vec<bool> = lives.iter().map(Option::is_some).collect();
        let rows = table(&layout.starts[record], &written, problem.tensors[record]);
        let first = lives.iter().flatten().map(|life| life.first).min().unwrap_or(0);
        let last = lives.iter().flatten().map(|life| life.last).max().unwrap_or(0);
        placements.push(Placement { record, texture: layout.texture_of[record], rows, first, last });
    }
    Ok(Plan { strategy: LayoutKind::Rows.name().to_owned(), problem: LayoutKind::Rows, textures, placements })
}

/// The simplest table that puts every written row where the layout does.
fn table(starts: &[u64], written: &[bool], tensor: TensorRows) -> RowTable {
    let TensorRows { rows, row_texels } = tensor;
    let base = starts.first().copied().unwrap_or(0);
    let fits = |place: &dyn Fn(u64) -> u64| {
        starts.iter().zip(written).zip(0..).all(|((&start, &written), row)| !written || start == place(row))
    };
    let length = u64::from(row_texels);
    // A region that became a texture has at most 2^32 texels, so a place inside it is a u32.
    let short = |start: u64| start as u32;
    if fits(&|row| base + row * length) {
        return RowTable::Whole { base: short(base), rows, row_texels };
    }
    let ring = (1..starts.len()).find(|&row| written[row] && starts[row] == base);
    match ring {
        Some(ring) if fits(&|row| base + row % ring as u64 * length) => {
            RowTable::Ring { base: short(base), rows, row_texels, ring: ring as u32 }
        }
        _ => RowTable::Scattered { row_starts: starts.iter().map(|&start| short(start)).collect(), row_texels },
    }
}

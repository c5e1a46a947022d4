//! Converts a layout of rows to textures and row tables. Each table uses the simplest form that fits: whole if the
//! rows follow each other, a ring if they cycle through the same positions, else a list of starts.

use super::{
    items::row_live_ranges,
    problem::{RowLayout, RowProblem},
};
use crate::{
    error::{InputError, PlanError},
    layout::LayoutKind,
    placement::{Placement, Plan, RowTable, TexelFormat},
    realize::{TensorRows, TextureLimits, texture},
};

/// Returns the textures and row tables of a layout of rows. [`place_rows`](super::place_rows) has an example.
///
/// # Errors
/// [`PlanError::Input`] if lists differ in length, [`PlanError::Unsupported`] if a texture would be larger than the
/// device allows, and the errors of [`row_live_ranges`].
pub fn realize_rows(
    layout: &RowLayout,
    problem: &RowProblem<'_>,
    format: TexelFormat,
    limits: TextureLimits,
) -> Result<Plan, PlanError> {
    let records = problem.tensors.len();
    for (what, length) in [("textures of records", layout.texture_of.len()), ("row starts", layout.starts.len())] {
        if length != records {
            return Err(InputError::LengthMismatch { what, expected: records, found: length }.into());
        }
    }
    let textures = layout
        .textures
        .iter()
        .enumerate()
        .map(|(region, &texels)| texture(region, texels, format, limits))
        .collect::<Result<Vec<_>, _>>()?;
    let live_ranges = row_live_ranges(problem.tensors, problem.steps)?;
    let mut placements = Vec::with_capacity(records);
    for (record, live_ranges) in live_ranges.iter().enumerate() {
        let written: Vec<bool> = live_ranges.iter().map(Option::is_some).collect();
        let rows = table(&layout.starts[record], &written, problem.tensors[record]);
        let first = live_ranges.iter().flatten().map(|life| life.first).min().unwrap_or(0);
        let last = live_ranges.iter().flatten().map(|life| life.last).max().unwrap_or(0);
        placements.push(Placement { record, texture: layout.texture_of[record], rows, first, last });
    }
    Ok(Plan { strategy: LayoutKind::Rows.name().to_owned(), problem: LayoutKind::Rows, textures, placements })
}

/// Returns the simplest table that matches the starts of all rows that are written.
fn table(starts: &[u64], written: &[bool], tensor: TensorRows) -> RowTable {
    let TensorRows { rows, row_texels } = tensor;
    let base = starts.first().copied().unwrap_or(0);
    let matches = |start_of: &dyn Fn(u64) -> u64| {
        starts.iter().zip(written).zip(0..).all(|((&start, &written), row)| !written || start == start_of(row))
    };
    let length = u64::from(row_texels);
    // `texture` never creates more than 2^32 texels, so every start fits into a u32.
    let short = |start: u64| start as u32;
    if matches(&|row| base + row * length) {
        return RowTable::Whole { base: short(base), rows, row_texels };
    }
    let ring = (1..starts.len()).find(|&row| written[row] && starts[row] == base);
    match ring {
        Some(ring) if matches(&|row| base + row % ring as u64 * length) => {
            RowTable::Ring { base: short(base), rows, row_texels, ring: ring as u32 }
        }
        _ => RowTable::Scattered { row_starts: starts.iter().map(|&start| short(start)).collect(), row_texels },
    }
}

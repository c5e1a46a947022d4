//! The independent checker of plans whose tensors are placed row by row: simulates the steps on an empty memory.
//!
//! Shares no code with the planner, and must never depend on how a plan was found.

use std::collections::BTreeMap;

use super::problem::{RowStep, RowUse};
use crate::{
    error::{InputError, LayoutError, PlanError},
    placement::{Placement, Plan, RowTable},
    realize::{TensorRows, TextureLimits},
};

/// Contents of the pool. For each texture, maps the first texel of a run to one past its last texel, its record and
/// its row.
struct Memory<'a> {
    plan: &'a Plan,
    runs: Vec<BTreeMap<u64, (u64, usize, u32)>>,
}

/// Checks a plan by simulating its steps. Every texture must be allowed by the device, and every row must lie inside
/// its texture. Every row that is read must have been written and not overwritten. No step may read and write the
/// same texture. The rows of records marked `whole` must follow each other. [`place_rows`](super::place_rows) has an
/// example.
///
/// # Errors
/// The first broken rule, with step, record and row.
pub fn check_rows(
    tensors: &[TensorRows],
    whole: &[bool],
    steps: &[RowStep],
    plan: &Plan,
    limits: TextureLimits,
) -> Result<(), PlanError> {
    for (what, length) in [("placements", plan.placements.len()), ("marks of whole tensors", whole.len())] {
        if length != tensors.len() {
            return Err(InputError::LengthMismatch { what, expected: tensors.len(), found: length }.into());
        }
    }
    check_textures(plan, limits)?;
    for (record, (placement, tensor)) in plan.placements.iter().zip(tensors).enumerate() {
        check_table(record, placement, tensor, whole[record], plan)?;
    }
    let mut memory = Memory { plan, runs: vec![BTreeMap::new(); plan.textures.len()] };
    for (number, step) in steps.iter().enumerate() {
        for touched in step.reads.iter().chain(&step.writes) {
            let rows = tensors.get(touched.record).map_or(0, |t| t.rows);
            let texels = tensors.get(touched.record).map_or(0, |t| t.row_texels);
            if touched.record >= tensors.len() || touched.rows.end > rows || touched.texels.end > texels {
                return Err(bad(number, touched, "there are no such rows"));
            }
        }
        for write in &step.writes {
            let region = plan.placements[write.record].texture;
            let same = |read: &&RowUse| plan.placements[read.record].texture == region;
            if let Some(read) = step.reads.iter().find(same) {
                let (read, write) = (read.record, write.record);
                return Err(LayoutError::ReadsAndWrites { step: number, read, write, region }.into());
            }
        }
        for read in &step.reads {
            for row in read.rows.clone() {
                memory.read(number, read, row)?;
            }
        }
        for write in &step.writes {
            for row in write.rows.clone() {
                memory.write(number, write, row)?;
            }
        }
    }
    Ok(())
}

fn bad(step: usize, touched: &RowUse, why: &'static str) -> PlanError {
    PlanError::Input(InputError::BadRowUse { step, record: touched.record, why })
}

fn check_textures(plan: &Plan, limits: TextureLimits) -> Result<(), PlanError> {
    for (texture, spec) in plan.textures.iter().enumerate() {
        let (width, height) = (spec.width, spec.height);
        let why = match (width, height) {
            _ if width == 0 || width & (width - 1) != 0 => "the width is not a power of two",
            (_, 0) => "it has no rows",
            _ if width.max(height) > limits.max_extent => "an extent is above the device's limit",
            // A row table counts texels in 32 bits, so accesses beyond would wrap to other texels.
            _ if u64::from(width) * u64::from(height) > 1 << 32 => "it has more texels than 32 bits count",
            _ => continue,
        };
        return Err(LayoutError::BadTexture { texture, width, height, why }.into());
    }
    Ok(())
}

fn check_table(
    record: usize,
    placement: &Placement,
    tensor: &TensorRows,
    whole: bool,
    plan: &Plan,
) -> Result<(), PlanError> {
    let wrong = |why| Err(PlanError::Layout(LayoutError::WrongPlacement { placement: record, why }));
    let (rows, row_texels, sound) = match &placement.rows {
        RowTable::Whole { rows, row_texels, .. } => (*rows, *row_texels, true),
        RowTable::Ring { rows, row_texels, ring, .. } => (*rows, *row_texels, *ring > 0 && !whole),
        RowTable::Scattered { row_starts, row_texels } => (row_starts.len() as u32, *row_texels, !whole),
    };
    if placement.record != record {
        return wrong("it names another record");
    } else if (rows, row_texels) != (tensor.rows, tensor.row_texels) {
        return wrong("its rows are not the tensor's");
    } else if !sound {
        return wrong("its rows must lie one after another");
    } else if placement.texture >= plan.textures.len() {
        let (index, count) = (placement.texture, plan.textures.len());
        return Err(LayoutError::OutOfRange { record, what: "texture", index, count }.into());
    }
    Ok(())
}

impl Memory<'_> {
    /// Returns the texture, the first texel, and one past the last texel of the used part of a row.
    fn place(&self, used: &RowUse, row: u32) -> (usize, u64, u64) {
        let Placement { texture, rows, .. } = &self.plan.placements[used.record];
        let start = match rows {
            RowTable::Whole { base, row_texels, .. } => u64::from(*base) + u64::from(row) * u64::from(*row_texels),
            RowTable::Ring { base, row_texels, ring, .. } => {
                u64::from(*base) + u64::from(row % ring) * u64::from(*row_texels)
            }
            RowTable::Scattered { row_starts, .. } => row_starts[row as usize].into(),
        };
        (*texture, start + u64::from(used.texels.start), start + u64::from(used.texels.end))
    }

    /// Checks that the used part of a row is in memory. It may have been written in several parts.
    fn read(&self, step: usize, used: &RowUse, row: u32) -> Result<(), PlanError> {
        let (texture, mut at, end) = self.place(used, row);
        while at < end {
            match self.runs[texture].range(..=at).next_back() {
                Some((_, &(until, record, of))) if until > at && (record, of) == (used.record, row) => at = until,
                _ => return Err(LayoutError::RowNotThere { step, record: used.record, row, texture }.into()),
            }
        }
        Ok(())
    }

    /// Writes a row, or a part of it, at its planned place. Rows that it overlaps are lost.
    fn write(&mut self, step: usize, used: &RowUse, row: u32) -> Result<(), PlanError> {
        let (texture, start, end) = self.place(used, row);
        let record = used.record;
        let spec = &self.plan.textures[texture];
        let size = u64::from(spec.width) * u64::from(spec.height);
        if end > size {
            return Err(LayoutError::OutOfRegion { record, region: texture, end: end.into(), size }.into());
        }
        let runs = &mut self.runs[texture];
        // Runs never overlap each other, so those that extend past `start` are the last ones that begin before `end`.
        let overwritten: Vec<u64> =
            runs.range(..end).rev().take_while(|(_, run)| run.0 > start).map(|(&at, _)| at).collect();
        for at in overwritten {
            if let Some((_, lost, lost_row)) = runs.remove(&at)
                && (lost, lost_row) == (record, row)
            {
                return Err(
                    InputError::BadRowUse { step, record, why: "it writes a row that has a value already" }.into()
                );
            }
        }
        runs.insert(start, (end, record, row));
        Ok(())
    }
}

//! Checks that the parts of a step fit together before a kernel is lowered. Shaders are compiled without run-time
//! checks (`gpu/pipelines.rs`), so row numbers beyond the row table and texels beyond the texture must be ruled out
//! here.

use std::ops::Range;

use super::{KernelError, Operand, StepContext, WeightPlace, step::Reach};
use crate::graph::{Shape, TensorId};
use texpool_plan::RowTable;

/// Checks the operands and rows of a step. The graph must be valid.
pub(crate) fn check(step: &StepContext<'_>) -> Result<(), KernelError> {
    let node = step.node;
    let shapes =
        |tensors: &[TensorId]| -> Vec<Shape> { tensors.iter().map(|&tensor| step.graph.shape(tensor)).collect() };
    let [inputs, add] = [shapes(&node.inputs), shapes(node.epilogue.add.as_slice())];
    // Checked first, because the `zip`s below stop at the shorter list.
    if step.inputs.len() != inputs.len() || step.add.iter().len() != add.len() {
        return Err(misfit("it has other operands than its node".into()));
    }
    for (operand, shape) in
        step.inputs.iter().zip(&inputs).filter_map(|(operand, shape)| Some((operand.as_ref()?, shape)))
    {
        check_operand(operand, *shape)?;
    }
    step.add.iter().zip(&add).try_for_each(|(operand, shape)| check_operand(operand, *shape))?;
    check_operand(&step.output, step.graph.shape(node.output))?;
    check_rows(&step.output, &step.rows)
}

/// Checks that an operand has the expected shape, a start for each row, and space for a row.
pub(crate) fn check_operand(operand: &Operand, shape: Shape) -> Result<(), KernelError> {
    if operand.shape != shape {
        return Err(misfit(format!("an operand of {shape} is said to be of {}", operand.shape)));
    }
    let rows = operand.rows.rows();
    if rows as usize != shape.rows() {
        return Err(misfit(format!("{rows} rows of a tensor of {shape} have a start")));
    }
    // `RowTable::start` computes in 32 bits, and divides by the number of rows in a ring.
    let last = |base: u32, length: u32| u64::from(base) + u64::from(rows) * u64::from(length);
    let sound = match operand.rows {
        RowTable::Whole { base, row_texels, .. } => last(base, row_texels) <= u64::from(u32::MAX),
        RowTable::Ring { base, row_texels, ring, .. } => ring > 0 && last(base, row_texels) <= u64::from(u32::MAX),
        RowTable::Scattered { .. } => true,
    };
    if !sound || span(operand) > operand.texels {
        return Err(misfit(format!("rows of a tensor of {shape} have no room in {} texels", operand.texels)));
    }
    Ok(())
}

/// Checks that an operand has these rows.
pub(crate) fn check_rows(operand: &Operand, rows: &Range<u32>) -> Result<(), KernelError> {
    if rows.start <= rows.end && rows.end <= operand.rows.rows() {
        Ok(())
    } else {
        Err(misfit(format!("rows {rows:?} are asked for of {}", operand.rows.rows())))
    }
}

pub(crate) fn misfit(why: String) -> KernelError {
    KernelError::Misfit { why }
}

/// Returns the number of texels from the first to the last texel of a row, inclusive.
fn span(operand: &Operand) -> u64 {
    let plane = operand.shape.slices().saturating_sub(1) as u64 * u64::from(operand.pitch) + operand.shape.w as u64;
    plane + (operand.storage.texels() as u64 - 1) * operand.shape.row_texels() as u64
}

/// Locations of an operand's rows: row `r` starts at `starts[r & mask] + r * stride`. If rows have equal distances,
/// the table has one word; otherwise, one word per row.
#[derive(Clone, Debug)]
pub(crate) struct RowPlaces {
    pub(crate) starts: Vec<u32>,
    pub(crate) mask: u32,
    pub(crate) stride: u32,
}

impl RowPlaces {
    /// Returns the row locations of a [checked](check_operand) operand. Rows that do not fit in the texture are not
    /// needed by any step, or the plan would have failed its check. A kernel may still load from them and discard the
    /// value, so their start is set to a valid texel.
    pub(crate) fn new(operand: &Operand) -> Self {
        let last = operand.texels.saturating_sub(span(operand));
        let has_room = |start: u32| u64::from(start) <= last;
        // Avoids a loop over all rows: the last row has the largest offset.
        if let RowTable::Whole { base, rows, row_texels } = operand.rows
            && has_room(operand.rows.start(rows.saturating_sub(1)))
        {
            return Self { starts: vec![base], mask: 0, stride: row_texels };
        }
        let starts: Vec<u32> = operand.rows.starts().map(|start| if has_room(start) { start } else { 0 }).collect();
        match equal_distance(&starts) {
            Some(stride) => Self { starts: starts.into_iter().take(1).collect(), mask: 0, stride },
            None => Self { starts, mask: u32::MAX, stride: 0 },
        }
    }
}

/// Returns the distance between consecutive starts, in wrapping 32-bit arithmetic, or `None` if distances differ.
fn equal_distance(starts: &[u32]) -> Option<u32> {
    let mut distances = starts.iter().zip(starts.iter().skip(1)).map(|(start, next)| next.wrapping_sub(*start));
    let first = distances.next().unwrap_or(0);
    distances.all(|distance| distance == first).then_some(first)
}

impl Operand {
    pub(crate) const fn reach(&self) -> Reach {
        Reach { texture: self.texture, shift: self.shift, texels: self.texels }
    }
}

impl WeightPlace {
    const fn reach(&self) -> Reach {
        let before = match self.bytes_from {
            Some(before) => before as u64,
            None => 0,
        };
        let texels = before + self.end as u64 * self.unit() as u64;
        Reach { texture: self.texture, shift: self.shift, texels }
    }
}

impl StepContext<'_> {
    /// Returns the texture ranges that this step's dispatches may touch, without duplicates, because an operator may
    /// have thousands of operands in one texture.
    pub(crate) fn reach(&self) -> Vec<Reach> {
        let operands = self.inputs.iter().flatten().chain(&self.add).chain([&self.output]);
        let weights = (self.weights.end > 0).then(|| self.weights.reach());
        let mut all: Vec<Reach> = operands.map(Operand::reach).chain(weights).collect();
        all.sort_unstable_by_key(|reach| (reach.texture, reach.shift, reach.texels));
        all.dedup();
        all
    }
}

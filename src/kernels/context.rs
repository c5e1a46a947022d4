//! What of a step must fit together before a kernel is lowered: shaders are compiled without run-time checks
//! (`gpu/pipelines.rs`), so a row number beyond its table or a texel beyond its texture must not come about.

use std::ops::Range;

use super::{KernelError, Operand, StepContext, WeightPlace, step::Reach};
use crate::{
    graph::{Shape, TensorId},
    plan::RowTable,
};

/// Checks the operands of a step, whose graph is valid, and its rows.
pub(crate) fn check(step: &StepContext<'_>) -> Result<(), KernelError> {
    let node = step.node;
    let shapes =
        |tensors: &[TensorId]| -> Vec<Shape> { tensors.iter().map(|&tensor| step.graph.shape(tensor)).collect() };
    let [inputs, add] = [shapes(&node.inputs), shapes(node.epilogue.add.as_slice())];
    // Looked at first, because the `zip`s below end with the shorter list.
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

/// Checks that an operand has the shape it is read with, a start for each row, and room for a row.
pub(crate) fn check_operand(operand: &Operand, shape: Shape) -> Result<(), KernelError> {
    if operand.shape != shape {
        return Err(misfit(format!("an operand of {shape} is said to be of {}", operand.shape)));
    }
    let rows = operand.rows.rows();
    if rows as usize != shape.rows() {
        return Err(misfit(format!("{rows} rows of a tensor of {shape} have a start")));
    }
    // `RowTable::start` counts in 32 bits, and divides by the rows of a ring.
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

/// Checks that an operand has rows.
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

/// Texels from the first of a row to its last, both included.
fn span(operand: &Operand) -> u64 {
    operand.shape.slices().saturating_sub(1) as u64 * u64::from(operand.pitch) + operand.shape.w as u64
}

/// Where an operand's rows start: row `r` at `starts[r & mask] + r * stride`. That is one word where rows follow each
/// other at equal distances, and a word a row elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct RowPlaces {
    pub(crate) starts: Vec<u32>,
    pub(crate) mask: u32,
    pub(crate) stride: u32,
}

impl RowPlaces {
    /// Those of an operand that was [checked](check_operand). Rows without room in the texture are needed by no step, or
    /// the plan would not have passed its check; a kernel may load from them and throw the value away, so they start
    /// where there are texels.
    pub(crate) fn new(operand: &Operand) -> Self {
        let last = operand.texels.saturating_sub(span(operand));
        let has_room = |start: u32| u64::from(start) <= last;
        // Said without a look at each row; the last one lies furthest behind.
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

/// The distance from each start to the next, as 32 bits that wrap count it, if it is the same everywhere.
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
        Reach { texture: self.texture, shift: self.shift, texels: self.base as u64 + self.texels as u64 }
    }
}

impl StepContext<'_> {
    /// What the dispatches of this step may touch, each once: an operator may have thousands of operands in one texture.
    pub(crate) fn reach(&self) -> Vec<Reach> {
        let operands = self.inputs.iter().flatten().chain(&self.add).chain([&self.output]);
        let weights = (self.weights.texels > 0).then(|| self.weights.reach());
        let mut all: Vec<Reach> = operands.map(Operand::reach).chain(weights).collect();
        all.sort_unstable_by_key(|reach| (reach.texture, reach.shift, reach.texels));
        all.dedup();
        all
    }
}

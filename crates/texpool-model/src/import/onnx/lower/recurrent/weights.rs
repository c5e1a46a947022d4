//! Weights of recurrent cells in the file.

use crate::import::{
    common::recurrent::{CellWeights, PackedWeights, Sizes},
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering},
};
use texpool_ops::graph::Cell;

/// Weights of a cell.
pub(super) struct FileWeights {
    /// `[directions, gates * hidden, inputs]`.
    pub(super) input: Array,
    /// `[directions, gates * hidden, hidden]`.
    pub(super) recurrent: Array,
    /// `[directions, 2 * gates * hidden]`.
    pub(super) bias: Option<Array>,
    /// `[directions, 3 * hidden]`.
    pub(super) peepholes: Option<Array>,
}

impl FileWeights {
    /// Checks the extents of all weights.
    pub(super) fn check(&self, sizes: Sizes) -> Result<(), Problem> {
        let Sizes { directions, gates, hidden, inputs } = sizes;
        let rows = gates * hidden;
        let check = |what: &str, array: Option<&Array>, dims: &[usize]| match array {
            Some(array) if array.dims() != dims => {
                Err(Problem::malformed(format!("its {what} have the extents {:?}, not {dims:?}", array.dims())))
            }
            _ => Ok(()),
        };
        check("input weights", Some(&self.input), &[directions, rows, inputs])?;
        check("recurrent weights", Some(&self.recurrent), &[directions, rows, hidden])?;
        check("biases", self.bias.as_ref(), &[directions, 2 * rows])?;
        check("peepholes", self.peepholes.as_ref(), &[directions, 3 * hidden])
    }

    /// Brings the weights into the order that the kernel reads.
    pub(super) fn pack(&self, ctx: &mut NodeLowering<'_>, cell: Cell, sizes: Sizes) -> Result<PackedWeights, Problem> {
        let (input, recurrent) = (self.input.to_f32(), self.recurrent.to_f32());
        let [bias, peepholes] = [&self.bias, &self.peepholes].map(|array| array.as_ref().map(Array::to_f32));
        let weights = CellWeights {
            input: &input,
            recurrent: &recurrent,
            bias: bias.as_deref(),
            peepholes: peepholes.as_deref(),
        };
        weights.pack(cell, sizes, ctx.meter())
    }
}

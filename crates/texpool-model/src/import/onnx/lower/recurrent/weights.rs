//! Weights of recurrent cells, brought into the order that the kernel reads.

use crate::import::{
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering},
};
use texpool_ops::graph::{Cell, ElementType, Recurrent};

/// Weights of a cell in the file's order of gates.
pub(super) struct CellWeights {
    /// `[directions, gates * hidden, inputs]`.
    pub(super) input: Array,
    /// `[directions, gates * hidden, hidden]`.
    pub(super) recurrent: Array,
    /// `[directions, 2 * gates * hidden]`.
    pub(super) bias: Option<Array>,
    /// `[directions, 3 * hidden]`.
    pub(super) peepholes: Option<Array>,
}

/// Weights of a cell as constants of the graph.
pub(super) struct PackedWeights {
    /// `[1, directions, inputs, gates * padded]`.
    pub(super) input: Array,
    /// `[1, directions, 2 + terms, gates * padded]`.
    pub(super) recurrent: Array,
}

/// Number of directions, gates and hidden values.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) directions: usize,
    pub(super) gates: usize,
    pub(super) hidden: usize,
}

impl CellWeights {
    /// Checks the extents of all weights, for sequences of `inputs` values.
    pub(super) fn check(&self, sizes: Sizes, inputs: usize) -> Result<(), Problem> {
        let Sizes { directions, gates, hidden } = sizes;
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

    /// Transposes the weights and begins each gate at a slice.
    pub(super) fn pack(&self, ctx: &mut NodeLowering<'_>, cell: Cell, sizes: Sizes) -> Result<PackedWeights, Problem> {
        let Sizes { directions, gates, hidden } = sizes;
        let inputs = self.input.dims()[2];
        let (padded, pixels) = (Recurrent::padded(hidden), 2 + Recurrent::terms(hidden));
        let mut zeros = |pixels: usize| -> Result<(Vec<usize>, Vec<f32>), Problem> {
            let dims = vec![1, directions, pixels, gates * padded];
            // For the floats here, and for the bytes of the constant.
            let elements = ctx.budget_for(&dims, 2 * size_of::<f32>(), 2)?;
            Ok((dims, vec![0.0; elements]))
        };
        let (input_dims, mut input) = zeros(inputs)?;
        let (recurrent_dims, mut recurrent) = zeros(pixels)?;
        let (from_input, from_recurrent) = (self.input.to_f32(), self.recurrent.to_f32());
        let bias = self.bias.as_ref().map(Array::to_f32);
        let peepholes = self.peepholes.as_ref().map(Array::to_f32);
        let rows = gates * hidden;
        for direction in 0..directions {
            for row in 0..rows {
                let (gate, i) = (row / hidden, row % hidden);
                let at = |pixels: usize, pixel: usize| ((direction * pixels + pixel) * gates + gate) * padded + i;
                let from = direction * rows + row;
                for k in 0..inputs {
                    input[at(inputs, k)] = from_input[from * inputs + k];
                }
                for k in 0..hidden {
                    recurrent[at(pixels, 2 + k)] = from_recurrent[from * hidden + k];
                }
                if let Some(bias) = &bias {
                    let [own, of_state] = [0, rows].map(|offset| bias[direction * 2 * rows + offset + row]);
                    let apart = matches!(cell, Cell::Gru { reset_after: true }) && gate == 2;
                    recurrent[at(pixels, 0)] = if apart { own } else { own + of_state };
                    if apart {
                        recurrent[at(pixels, 1)] = of_state;
                    }
                }
                // Peepholes have the same order as gates, without the candidate.
                if let (Some(peepholes), true) = (&peepholes, gate < 3) {
                    recurrent[at(pixels, 1)] = peepholes[direction * 3 * hidden + row];
                }
            }
        }
        let array = |dims, values: &[f32]| Array::of_floats(dims, ElementType::F32, values);
        Ok(PackedWeights { input: array(input_dims, &input), recurrent: array(recurrent_dims, &recurrent) })
    }
}

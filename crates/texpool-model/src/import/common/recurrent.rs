//! Weights of recurrent cells, brought into the order that the kernel reads.

use crate::import::{error::Problem, meter::Meter};
use texpool_ops::graph::{Cell, Recurrent, Shape};

/// Number of directions, gates, hidden values and inputs.
#[derive(Clone, Copy)]
pub(in crate::import) struct Sizes {
    pub(in crate::import) directions: usize,
    pub(in crate::import) gates: usize,
    pub(in crate::import) hidden: usize,
    pub(in crate::import) inputs: usize,
}

/// Weights of a cell, with the gates in the order of [`Cell`].
pub(in crate::import) struct CellWeights<'a> {
    /// `[directions, gates * hidden, inputs]`.
    pub(in crate::import) input: &'a [f32],
    /// `[directions, gates * hidden, hidden]`.
    pub(in crate::import) recurrent: &'a [f32],
    /// `[directions, 2 * gates * hidden]`.
    pub(in crate::import) bias: Option<&'a [f32]>,
    /// `[directions, 3 * hidden]`.
    pub(in crate::import) peepholes: Option<&'a [f32]>,
}

/// Weights of a cell as constants of the graph.
pub(in crate::import) struct PackedWeights {
    /// `[1, directions, inputs, gates * padded]`.
    pub(in crate::import) input: (Shape, Vec<f32>),
    /// `[1, directions, 2 + terms, gates * padded]`.
    pub(in crate::import) recurrent: (Shape, Vec<f32>),
}

impl CellWeights<'_> {
    /// Transposes the weights and begins each gate at a slice. The lengths of the lists must fit the sizes.
    pub(in crate::import) fn pack(
        &self,
        cell: Cell,
        sizes: Sizes,
        meter: &mut Meter,
    ) -> Result<PackedWeights, Problem> {
        let Sizes { directions, gates, hidden, inputs } = sizes;
        let (padded, pixels) = (Recurrent::padded(hidden), 2 + Recurrent::terms(hidden));
        let mut zeros = |pixels: usize| -> Result<(Shape, Vec<f32>), Problem> {
            let shape = Shape::new(1, directions, pixels, gates * padded);
            let elements = shape.checked_len().ok_or_else(|| Problem::limit("its weights overflow"))?;
            // For the bytes of the constant, too.
            meter.memory(elements.saturating_mul(size_of::<f32>()))?;
            meter.work(elements)?;
            Ok((shape, meter.filled(elements, std::iter::repeat(0.0))?))
        };
        let (input_shape, mut input) = zeros(inputs)?;
        let (recurrent_shape, mut recurrent) = zeros(pixels)?;
        let rows = gates * hidden;
        for direction in 0..directions {
            for row in 0..rows {
                let (gate, i) = (row / hidden, row % hidden);
                let at = |pixels: usize, pixel: usize| ((direction * pixels + pixel) * gates + gate) * padded + i;
                let from = direction * rows + row;
                for k in 0..inputs {
                    input[at(inputs, k)] = self.input[from * inputs + k];
                }
                for k in 0..hidden {
                    recurrent[at(pixels, 2 + k)] = self.recurrent[from * hidden + k];
                }
                if let Some(bias) = &self.bias {
                    let [own, of_state] = [0, rows].map(|offset| bias[direction * 2 * rows + offset + row]);
                    let apart = matches!(cell, Cell::Gru { reset_after: true }) && gate == 2;
                    recurrent[at(pixels, 0)] = if apart { own } else { own + of_state };
                    if apart {
                        recurrent[at(pixels, 1)] = of_state;
                    }
                }
                // Peepholes have the same order as gates, without the candidate.
                if let (Some(peepholes), true) = (&self.peepholes, gate < 3) {
                    recurrent[at(pixels, 1)] = peepholes[direction * 3 * hidden + row];
                }
            }
        }
        Ok(PackedWeights { input: (input_shape, input), recurrent: (recurrent_shape, recurrent) })
    }
}

/// Fails if a cell has more hidden values than its kernel computes.
pub(in crate::import) fn check_hidden(cell: Cell, hidden: usize) -> Result<(), Problem> {
    let most = cell.most_hidden();
    if hidden <= most {
        return Ok(());
    }
    let reason = format!("its state has {hidden} hidden values, at most {most} fit in the memory of a workgroup");
    Err(Problem::unsupported(reason))
}

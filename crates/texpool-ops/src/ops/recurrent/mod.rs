//! Recurrent cells that walk along the width: LSTM, GRU and the plain cell.

mod kernel;
mod reference;

use super::{
    schema::{
        OpSchema, Origin, ShapeError,
        shapes::{same, times},
    },
    unary::Unary,
};
use crate::graph::Shape;

/// Texels of a workgroup's memory, all that core WebGPU has. They hold the states and the gates of a step, or the hidden
/// values alone.
const TEXELS: usize = 1024;
/// Hidden values that a round of the kernel's sum multiplies.
const TERMS: usize = 16;

/// A recurrent cell. Operands are the products of the inputs with their weights, `[B, D, T, G * P]`, the constant
/// weights `[1, D, 2 + N, G * P]`, and, if [`initial`](Self::initial) or [`lengths`](Self::lengths) is set, the state
/// before the first step, `[B, D, S, C]`. `D` is the number of directions, `T` of steps, `C` of hidden values, and `G`
/// of gates. `P` is `C`, and `N` is `C`, each rounded up: see [`padded`](Self::padded) and [`terms`](Self::terms).
///
/// The first pixel of the weights holds biases, and the second one the peepholes of an LSTM or the recurrent bias of a
/// GRU's candidate. The rest are the recurrent weights, one pixel per hidden value.
///
/// The result is `[B, D, W, C]`. Its pixels are the hidden values of all steps if [`sequence`](Self::sequence) is set.
/// Behind these come the final states if [`finals`](Self::finals) is set: the hidden values and, for an LSTM, the cell.
///
/// ```
/// use texpool::graph::{Cell, CellFunction, Recurrent, Shape, Unary, infer};
///
/// // An LSTM of 10 hidden values that returns those of all 5 steps, and behind them its final states.
/// let cell = Cell::Lstm { coupled: false, rounded: false };
/// let functions = [Unary::Logistic, Unary::Tanh, Unary::Tanh].map(CellFunction::plain);
/// let (reverse, clip, cell_clip, initial, lengths) = ([false; 2], None, None, false, false);
/// let lstm =
///     Recurrent { cell, reverse, functions, clip, cell_clip, initial, lengths, sequence: true, finals: true };
/// let gates = cell.gates() * Recurrent::padded(10);
/// let (products, weights) = (Shape::new(1, 1, 5, gates), Shape::new(1, 1, 2 + Recurrent::terms(10), gates));
/// assert_eq!((products.c, weights.w, lstm.result_pixels(5)), (48, 18, 7));
/// let result = Shape::new(1, 1, 7, 10);
/// assert_eq!(infer(&lstm.into(), &[products, weights], result)?, result);
/// # Ok::<(), texpool::graph::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recurrent {
    /// Kind of the cell.
    pub cell: Cell,
    /// For the first and the second direction, whether steps are taken from the last to the first.
    pub reverse: [bool; 2],
    /// Functions: of the gates, of the candidate (or of a plain cell), and of an LSTM's cell.
    pub functions: [CellFunction; 3],
    /// Limit on the magnitude of the arguments of the functions, except those of an LSTM's cell.
    pub clip: Option<f32>,
    /// Limit on the magnitude of the values of an LSTM's cell.
    pub cell_clip: Option<f32>,
    /// If true, the third operand begins with the hidden values and, for an LSTM, the cell.
    pub initial: bool,
    /// If true, the last pixel of the third operand holds the number of steps of each batch in its channels.
    pub lengths: bool,
    /// If true, the result holds the hidden values of all steps.
    pub sequence: bool,
    /// If true, the result holds the final states.
    pub finals: bool,
}

/// Kind of a recurrent cell.
///
/// ```
/// use texpool::graph::Cell;
///
/// let lstm = Cell::Lstm { coupled: false, rounded: false };
/// assert_eq!((lstm.gates(), lstm.states()), (4, 2));
/// assert_eq!((Cell::Gru { reset_after: true }.gates(), Cell::Plain.states()), (3, 1));
/// assert_eq!((lstm.most_hidden(), Cell::Gru { reset_after: false }.most_hidden()), (4096, 1024));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// One function of the sum.
    Plain,
    /// Gates in the order update, reset, candidate.
    Gru {
        /// If true, the reset gate multiplies the product with the recurrent weights instead of the hidden values.
        reset_after: bool,
    },
    /// Gates in the order input, output, forget, candidate.
    Lstm {
        /// If true, the forget gate is one minus the input gate.
        coupled: bool,
        /// If true, the recurrent weights multiply hidden values that are rounded to 256 equally spaced ones, from the
        /// least to the greatest of the batch and direction and including zero.
        rounded: bool,
    },
}

/// A function of a cell: `scale * function(inner * x) + offset`.
///
/// ```
/// use texpool::graph::{CellFunction, Unary};
///
/// // ONNX's `ScaledTanh` with an alpha of 1.7159 and a beta of 2/3.
/// let scaled = CellFunction { scale: 1.7159, inner: 2.0 / 3.0, ..CellFunction::plain(Unary::Tanh) };
/// assert_eq!((scaled.function, scaled.offset), (Some(Unary::Tanh), 0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellFunction {
    /// The function; the identity if missing. It must be one that an epilogue can hold.
    pub function: Option<Unary>,
    /// Factor of the argument.
    pub inner: f32,
    /// Factor of the result.
    pub scale: f32,
    /// Term of the result.
    pub offset: f32,
}

impl CellFunction {
    /// A function without factors.
    pub const fn plain(function: Unary) -> Self {
        Self { function: Some(function), inner: 1.0, scale: 1.0, offset: 0.0 }
    }
}

impl Cell {
    /// Number of gates.
    pub const fn gates(self) -> usize {
        match self {
            Self::Plain => 1,
            Self::Gru { .. } => 3,
            Self::Lstm { .. } => 4,
        }
    }

    /// Number of states: the hidden values and, for an LSTM, the cell.
    pub const fn states(self) -> usize {
        if matches!(self, Self::Lstm { .. }) { 2 } else { 1 }
    }

    /// Returns the largest number of hidden values that the kernel computes. They must fit in the memory of a workgroup;
    /// so must the gates of a GRU whose candidate waits for its other gates.
    pub const fn most_hidden(self) -> usize {
        if matches!(self, Self::Gru { reset_after: false }) { self.most_with_gates() } else { 4 * TEXELS }
    }

    /// Returns the largest number of hidden values that fit in the memory of a workgroup together with cells and gates.
    const fn most_with_gates(self) -> usize {
        TERMS * (4 * TEXELS / TERMS / (self.gates() + self.states()))
    }
}

impl Recurrent {
    /// Returns the channels of a gate for `hidden` values: gates begin at a slice.
    pub const fn padded(hidden: usize) -> usize {
        hidden.next_multiple_of(4)
    }

    /// Returns the pixels of the result for a number of steps.
    pub const fn result_pixels(&self, steps: usize) -> usize {
        let sequence = if self.sequence { steps } else { 0 };
        if self.finals { sequence + self.cell.states() } else { sequence }
    }

    /// Returns the pixels of the recurrent weights for `hidden` values: the kernel multiplies that many at once.
    pub const fn terms(hidden: usize) -> usize {
        hidden.next_multiple_of(TERMS)
    }
}

impl OpSchema for Recurrent {
    fn name(&self) -> &'static str {
        match self.cell {
            Cell::Plain => "RNN",
            Cell::Gru { .. } => "GRU",
            Cell::Lstm { .. } => "LSTM",
        }
    }

    fn shape(&self, inputs: &[Shape], stated: Shape) -> Result<Shape, ShapeError> {
        let with_state = self.initial || self.lengths;
        let (x, weights, state) = match (inputs, with_state) {
            ([x, weights], false) => (x, weights, None),
            ([x, weights, state], true) => (x, weights, Some(state)),
            _ => {
                let expected = if with_state { "3" } else { "2" };
                return Err(ShapeError::Operands { expected, found: inputs.len() });
            }
        };
        let hidden = stated.c;
        if hidden == 0 {
            return Err(ShapeError::Zero { what: "the number of hidden values" });
        }
        if hidden > self.cell.most_hidden() {
            return Err(ShapeError::Index { axis: 3, index: hidden as i128 - 1, extent: self.cell.most_hidden() });
        }
        if x.h > 2 {
            return Err(ShapeError::Mismatch { what: "directions of the cell", expected: 2, found: x.h });
        }
        let gates = self.cell.gates() * Self::padded(hidden);
        same("channels of the gates", gates, x.c)?;
        same("channels of the weights", gates, weights.c)?;
        same("pixels of the weights", 2 + Self::terms(hidden), weights.w)?;
        same("directions of the weights", x.h, weights.h)?;
        same("batches of the weights", 1, weights.b)?;
        let states = self.cell.states();
        if let Some(state) = state {
            same("batches of the state", x.b, state.b)?;
            same("directions of the state", x.h, state.h)?;
            same("channels of the state", hidden, state.c)?;
            let pixels = if self.initial { states } else { 0 } + usize::from(self.lengths);
            same("pixels of the state", pixels, state.w)?;
        }
        let w = self.result_pixels(x.w);
        if w == 0 {
            return Err(ShapeError::Zero { what: "the number of results" });
        }
        times(x.w, gates)?;
        Ok(Shape { b: x.b, h: x.h, w, c: hidden })
    }

    fn origin(&self) -> Origin {
        Origin::Weights(&[(1, "weights")])
    }
}

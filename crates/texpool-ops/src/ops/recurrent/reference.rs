//! CPU reference of recurrent cells.

use super::{Cell, CellFunction, Recurrent};
use crate::{
    graph::{Shape, Unary},
    ops::reference::{Operands, Reference, ReferenceError, View},
};

impl CellFunction {
    fn of(self, x: f32) -> f32 {
        let x = self.inner * x;
        self.scale * self.function.map_or(x, |function| function.of(x)) + self.offset
    }
}

/// One direction of a cell with its weights.
struct Direction<'a> {
    cell: &'a Recurrent,
    weights: &'a View<'a>,
    direction: usize,
    hidden: usize,
}

impl Direction<'_> {
    /// Returns a weight of hidden value `i` of a gate; the first two pixels are no recurrent weights.
    fn weight(&self, pixel: usize, gate: usize, i: usize) -> f32 {
        self.weights.at([0, self.direction, pixel, gate * Recurrent::padded(self.hidden) + i])
    }

    /// Returns the product of `values` with the recurrent weights.
    fn product(&self, values: &[f32], gate: usize, i: usize) -> f32 {
        values.iter().enumerate().fold(0.0, |sum, (k, value)| sum + value * self.weight(2 + k, gate, i))
    }

    fn function(&self, which: usize, x: f32) -> f32 {
        self.cell.functions[which].of(clipped(x, self.cell.clip))
    }

    /// Takes a step. `x` returns the input's part of the sum of a gate.
    fn step(&self, h: &mut Vec<f32>, c: &mut [f32], x: impl Fn(usize, usize) -> f32) {
        let biased = |gate, i| x(gate, i) + self.weight(0, gate, i);
        let sum = |gate, i| biased(gate, i) + self.product(h, gate, i);
        *h = match self.cell.cell {
            Cell::Plain => (0..self.hidden).map(|i| self.function(1, sum(0, i))).collect(),
            Cell::Gru { reset_after } => {
                let reset: Vec<f32> = (0..self.hidden).map(|i| self.function(0, sum(1, i))).collect();
                let kept: Vec<f32> = reset.iter().zip(h.iter()).map(|(reset, h)| reset * h).collect();
                let hidden = |i: usize| {
                    let update = self.function(0, sum(0, i));
                    let recurrent = match reset_after {
                        true => reset[i] * (self.product(h, 2, i) + self.weight(1, 2, i)),
                        false => self.product(&kept, 2, i),
                    };
                    (1.0 - update) * self.function(1, biased(2, i) + recurrent) + update * h[i]
                };
                (0..self.hidden).map(hidden).collect()
            }
            Cell::Lstm { coupled, rounded } => {
                let before = if rounded { on_grid(h) } else { h.clone() };
                let sum = |gate, i| biased(gate, i) + self.product(&before, gate, i);
                let mut hidden = |i: usize| {
                    let peep = |gate, c: f32| sum(gate, i) + self.weight(1, gate, i) * c;
                    let add = self.function(0, peep(0, c[i]));
                    let keep = if coupled { 1.0 - add } else { self.function(0, peep(2, c[i])) };
                    c[i] = clipped(keep * c[i] + add * self.function(1, sum(3, i)), self.cell.cell_clip);
                    self.function(0, peep(1, c[i])) * self.cell.functions[2].of(c[i])
                };
                (0..self.hidden).map(&mut hidden).collect()
            }
        };
    }
}

fn clipped(x: f32, clip: Option<f32>) -> f32 {
    match clip {
        // Unlike `clamp`, comparisons let NaN pass whatever the limit is.
        Some(clip) if x > clip => clip,
        Some(clip) if x < -clip => -clip,
        _ => x,
    }
}

/// Returns the nearest of 256 equally spaced values, from the least to the greatest. One of them is zero.
fn on_grid(values: &[f32]) -> Vec<f32> {
    let least = values.iter().fold(0.0, |least, &x| if x < least { x } else { least });
    let greatest = values.iter().fold(0.0, |greatest, &x| if x > greatest { x } else { greatest });
    let scale = if greatest == least { 1.0 } else { (greatest - least) / 255.0 };
    let zero = Unary::Round.of((-least / scale).clamp(0.0, 255.0));
    let bounds = Unary::Clip { min: 0.0, max: 255.0 };
    values.iter().map(|&x| (bounds.of(Unary::Round.of(x / scale) + zero) - zero) * scale).collect()
}

impl Reference for Recurrent {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(recurrent(&operands.get(0)?, &operands.get(1)?, operands.optional(2)?.as_ref(), self, out))
    }
}

/// Computes all steps of every batch and direction.
fn recurrent(x: &View<'_>, weights: &View<'_>, state: Option<&View<'_>>, cell: &Recurrent, out: Shape) -> Vec<f32> {
    let mut result = vec![0.0; out.len()];
    for row in 0..out.b * out.h {
        let (b, d) = (row / out.h, row % out.h);
        let direction = Direction { cell, weights, direction: d, hidden: out.c };
        let start = |pixel: usize| match state {
            Some(state) if cell.initial => state.pixel(b, d, pixel).to_vec(),
            _ => vec![0.0; out.c],
        };
        let lstm = cell.cell.states() == 2;
        let (mut h, mut c) = (start(0), if lstm { start(1) } else { Vec::new() });
        let length = match state {
            Some(state) if cell.lengths => (state.at([b, d, state.shape.w - 1, 0]).max(0.0) as usize).min(x.shape.w),
            _ => x.shape.w,
        };
        let mut store = |pixel: usize, values: &[f32]| {
            let at = out.index(b, d, pixel, 0);
            result[at..at + out.c].copy_from_slice(values);
        };
        for step in 0..length {
            let at = if cell.reverse[d] { length - 1 - step } else { step };
            direction.step(&mut h, &mut c, |gate, i| x.at([b, d, at, gate * Recurrent::padded(out.c) + i]));
            if cell.sequence {
                store(at, &h);
            }
        }
        if cell.finals {
            let behind = if cell.sequence { x.shape.w } else { 0 };
            store(behind, &h);
            if lstm {
                store(behind + 1, &c);
            }
        }
    }
    result
}

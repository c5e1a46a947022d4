//! Transpose: reorders the axes.

use std::ops::Range;

use super::Transpose;
use crate::{
    graph::Shape,
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
    },
};

impl Kernels for Transpose {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for Transpose {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Rows consist of batch and height; any other order combines elements of many rows into one.
        if self.perm[..2] == [0, 1] { map.same() } else { map.everything() }
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::transpose(self.perm))
    }
}

impl Reference for Transpose {
    /// Reorders the axes: output axis `i` is input axis `perm[i]`.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        Ok(each(out, |index| {
            let mut from = [0; 4];
            for (axis, &source) in self.perm.iter().enumerate() {
                from[source] = index[axis];
            }
            x.at(from)
        }))
    }
}

//! Rearrange: copies elements at given strides.

use std::ops::Range;

use super::{Divided, Rearrange};
use crate::{
    graph::Shape,
    kernels::{Dispatch, KernelError, Shader, StepContext, strided},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError},
        rows::RowMap,
    },
};

impl Kernels for Rearrange {
    const SHADERS: &'static [Shader] = &[strided::SHADER];
}

impl Operator for Rearrange {
    category!(moves_values);

    /// Returns the rows between the least and the greatest element, if each row of the result has whole axes.
    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        let row = map.to.w * map.to.c;
        let Some(Divided { within, .. }) = self.divided(row) else { return map.everything() };
        let width = (map.from.w * map.from.c) as isize;
        let rows = |y: usize| {
            let first = self.source(y * row) as isize;
            ((first + within.start) / width) as u32..((first + within.end) / width + 1) as u32
        };
        (0..map.to.rows()).map(rows).collect()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        strided::dispatches(step, self)
    }
}

impl Rearrange {
    /// Returns the element of the operand that element `at` of the result copies.
    fn source(&self, mut at: usize) -> usize {
        let mut source = self.offset as isize;
        for axis in self.axes.iter().rev() {
            source += (at % axis.extent) as isize * axis.stride;
            at /= axis.extent;
        }
        source.unsigned_abs()
    }
}

impl Reference for Rearrange {
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        // Counts the indices up, as an odometer does, so that nothing is divided.
        let mut index = vec![0; self.axes.len()];
        let mut source = self.offset as isize;
        let mut values = Vec::with_capacity(out.len());
        for _ in 0..out.len() {
            values.push(x.data[source.unsigned_abs()]);
            for (i, axis) in index.iter_mut().zip(&self.axes).rev() {
                *i += 1;
                source += axis.stride;
                if *i < axis.extent {
                    break;
                }
                source -= axis.stride * axis.extent as isize;
                *i = 0;
            }
        }
        Ok(values)
    }
}

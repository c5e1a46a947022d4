//! Reshape: changes the shape and keeps the elements in dense order.

use std::ops::Range;

use super::Reshape;
use crate::{
    graph::{Rearrange, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, strided},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError},
        rows::RowMap,
    },
};

impl Kernels for Reshape {
    const SHADERS: &'static [Shader] = &[strided::SHADER];
}

impl Operator for Reshape {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.dense_order(map.from.w * map.from.c, map.to.w * map.to.c)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        strided::dispatches(step, &Rearrange::dense(step.output.shape.len()))
    }
}

impl Reference for Reshape {
    fn reference(&self, operands: &Operands<'_>, _out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(operands.get(0)?.data.to_vec())
    }
}

//! Space to depth: moves blocks of pixels into channels.

use std::ops::Range;

use super::SpaceToDepth;
use crate::{
    graph::Shape,
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
    },
};

impl Kernels for SpaceToDepth {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for SpaceToDepth {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.per_block(1, self.block[0])
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::Map::SpaceToDepth(self.block))
    }
}

impl Reference for SpaceToDepth {
    /// Moves pixels to channels; the inverse of depth to space.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let [rows, columns] = self.block;
        Ok(each(out, |[b, h, w, c]| {
            let (pixel, channel) = (c / x.shape.c, c % x.shape.c);
            x.at([b, h * rows + pixel / columns, w * columns + pixel % columns, channel])
        }))
    }
}

//! Depth to space: moves channels into blocks of pixels.

use std::ops::Range;

use super::DepthToSpace;
use crate::{
    graph::{DepthOrder, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
    },
};

impl Kernels for DepthToSpace {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for DepthToSpace {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.per_block(self.block[0], 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::Map::DepthToSpace(self.block, self.order))
    }
}

impl Reference for DepthToSpace {
    /// Moves channels to pixels, with the given order of row, column and channel.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let [rows, columns] = self.block;
        Ok(each(out, |[b, h, w, c]| {
            let pixel = h % rows * columns + w % columns;
            let channel = match self.order {
                DepthOrder::Dcr => pixel * out.c + c,
                DepthOrder::Crd => c * rows * columns + pixel,
            };
            x.at([b, h / rows, w / columns, channel])
        }))
    }
}

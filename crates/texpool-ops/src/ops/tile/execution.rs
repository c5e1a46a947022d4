//! Tile: repeats a whole tensor along each axis.

use std::ops::Range;

use super::Tile;
use crate::{
    graph::Shape,
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
    },
};

impl Kernels for Tile {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for Tile {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.mapped(|[b, y]| Some([b % map.from.b, y % map.from.h]))
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::tile())
    }
}

impl Reference for Tile {
    /// Repeats the whole tensor.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let extents = x.shape.dims();
        Ok(each(out, |index| x.at(std::array::from_fn(|axis| index[axis] % extents[axis]))))
    }
}

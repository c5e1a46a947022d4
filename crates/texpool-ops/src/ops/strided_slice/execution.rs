//! Strided slice: takes elements at a fixed distance from a range of each axis.

use std::ops::Range;

use super::StridedSlice;
use crate::{
    graph::Shape,
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{Kernels, Operator, category},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
    },
};

impl Kernels for StridedSlice {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for StridedSlice {
    category!(moves_values);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.shifted([self.begin[0] as isize, self.begin[1] as isize], [self.stride[0], self.stride[1]])
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::slice(self.begin, self.stride))
    }
}

impl Reference for StridedSlice {
    /// Reads element `begin + i * stride` for output index `i` of each axis.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        Ok(each(out, |index| {
            x.at(std::array::from_fn(|axis| {
                self.begin[axis].wrapping_add_signed(index[axis] as isize * self.stride[axis])
            }))
        }))
    }
}

//! Pad: adds elements around each axis, or cuts elements off.

use std::ops::Range;

use super::Pad;
use crate::{
    graph::{Graph, Node, PadAxis, PadMode, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, rearrange},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        reference::{Operands, Reference, ReferenceError, each},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Pad {
    const SHADERS: &'static [Shader] = &[rearrange::SHADER];
}

impl Operator for Pad {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let amounts = self.before.iter().chain(&self.after).map(|amount| ("padding", amount.unsigned_abs()));
        let extents =
            node.inputs.first().map_or([1; 4], |&x| graph.shape(x).dims()).map(|extent| ("mirrored extent", extent));
        // Mirroring computes with periods of twice the extent in 32 bits, so the extents are limited; constants need
        // no limit.
        let mirrored = if matches!(self.mode, PadMode::Constant(_)) { &[][..] } else { &extents };
        let attributes = mirrored.iter().copied().chain(amounts).collect();
        Properties { attributes, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        let extents = [map.from.b, map.from.h];
        let axes = [0, 1].map(|axis| PadAxis::new(extents[axis], self.before[axis], self.after[axis]));
        map.mapped(|at| Some([axes[0]?.source(self.mode, at[0])?, axes[1]?.source(self.mode, at[1])?]))
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        rearrange::dispatches(step, rearrange::pad(self.before, self.after, self.mode))
    }
}

impl Reference for Pad {
    /// Adds elements around each axis, or cuts elements off.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = &operands.get(0)?;
        let extents = x.shape.dims();
        let axes: [Option<PadAxis>; 4] =
            std::array::from_fn(|axis| PadAxis::new(extents[axis], self.before[axis], self.after[axis]));
        let outside = if let PadMode::Constant(value) = self.mode { value } else { 0.0 };
        Ok(each(out, |index| {
            let mut from = [0; 4];
            for (axis, from) in from.iter_mut().enumerate() {
                match axes[axis].and_then(|of| of.source(self.mode, index[axis])) {
                    Some(source) => *from = source,
                    None => return outside,
                }
            }
            x.at(from)
        }))
    }
}

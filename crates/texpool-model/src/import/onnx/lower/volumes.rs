//! Operands and results with three spatial axes: volumes, whose planes are items of a batch.

use super::align::placed_as;
use crate::import::{
    common::planes::{Emit, Planes},
    error::Problem,
    onnx::{
        layout::AtomLayout,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{ElementType, Op, Shape, TensorId};

impl Emit for NodeLowering<'_> {
    fn emit(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        self.lowering.emit(op, inputs, shape)
    }
}

/// Returns an operand of five axes as planes.
pub(super) fn volume(ctx: &mut NodeLowering<'_>, x: &Computed) -> Result<Planes, Problem> {
    let &[items, c, depth, h, w] = x.dims.as_slice() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims)));
    };
    let layout = AtomLayout::channels_second(&x.dims);
    let tensor = placed_as(ctx.lowering, &Value::Computed(x.clone()), &layout)?;
    Ok(Planes { tensor, items, depth, plane: Shape::new(1, h, w, c) })
}

/// Describes planes as a value with the extents in the file's order.
pub(super) fn computed(planes: Planes, elem: ElementType) -> Computed {
    let Planes { tensor, items, depth, plane: Shape { h, w, c, .. } } = planes;
    let dims = [items, c, depth, h, w];
    Computed { tensor, layout: AtomLayout::channels_second(&dims).tidy(&dims), dims: dims.to_vec(), elem }
}

/// Brings the spatial axes of a volume to H and W, so that they are reduced together: rows of planes follow one another.
/// Leaves operands of other ranks as they are.
pub(super) fn stacked(ctx: &mut NodeLowering<'_>, x: Computed) -> Result<Computed, Problem> {
    if x.dims.len() != 5 {
        return Ok(x);
    }
    let layout = AtomLayout::of(&x.dims, &[vec![0], vec![2, 3], vec![4], vec![1]]);
    let tensor = placed_as(ctx.lowering, &Value::Computed(x.clone()), &layout)?;
    Ok(Computed { tensor, layout, ..x })
}

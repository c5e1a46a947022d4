//! Looks up elements along an axis by a list of indices.

use std::ops::Range;

use super::{Gather, kernel, reference};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        gather::named,
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Gather {
    const SHADERS: &'static [Shader] = &[kernel::SHADER];
}

impl Operator for Gather {
    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        properties(graph, node, self.axis)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match (map.operand, self.axis) {
            (0, 0 | 1) => named_rows(map, self.axis),
            (0, _) => map.same(),
            // The indices are the channels of one row.
            _ => map.everything(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        kernel::weights(graph, node)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        kernel::dispatches(step, self.axis, false)
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        Ok(reference::gather(&operands.get(0)?, &operands.get(1)?, self.axis, out))
    }
}

/// Returns the properties of a node that looks up elements of its first operand along an axis by its second operand.
pub(crate) fn properties(graph: &Graph, node: &Node, axis: usize) -> Properties {
    let indices = match node.inputs[..] {
        [table, indices, ..] => Some((indices, graph.shape(table).dims()[axis])),
        _ => None,
    };
    Properties { indices, ..plain(ConstantOperands::Any) }
}

/// Returns the rows or batches that constant indices select, or all rows if the indices are computed.
fn named_rows(map: &RowMap<'_>, axis: usize) -> Vec<Range<u32>> {
    let indices = map.node.inputs.get(1).and_then(|&tensor| map.graph.tensors[tensor].constant.as_ref());
    let Some(constant) = indices else { return map.everything() };
    let extent = [map.from.b, map.from.h][axis];
    let named: Vec<usize> = constant.to_f32().iter().map(|&index| named(index, extent)).collect();
    map.mapped(|mut at| {
        at[axis] = *named.get(at[axis])?;
        Some(at)
    })
}

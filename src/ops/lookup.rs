//! What is asked of a node's operator.

use std::ops::Range;

use super::{
    op::Op,
    operator::{Kernels, Operator, Properties},
    reference::{Operands, ReferenceError},
    rows::RowMap,
    work::Work,
};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightPieces, WeightSections, fill},
};

/// Writes what goes through all operators from their table.
macro_rules! lookup {
    (attributes { $($module:ident::$name:ident,)* } none { $($plain_module:ident::$plain:ident,)* }) => {
        fn operator(op: &Op) -> &dyn Operator {
            match op {
                $(Op::$name(operator) => operator,)*
                $(Op::$plain => &super::$plain_module::$plain,)*
            }
        }

        /// The shaders of each operator.
        const SHADERS: &[&[Shader]] = &[
            $(<super::$module::$name as Kernels>::SHADERS,)*
            $(<super::$plain_module::$plain as Kernels>::SHADERS,)*
        ];
    };
}

operators!(lookup);

/// Every shader that there is, by name; those that read weights in several packings for each of them.
pub fn shaders() -> Vec<Shader> {
    // Filling belongs to no operator, and several operators share a shader: sorted, the same ones are neighbours.
    let shaders = SHADERS.iter().copied().flatten().copied().chain([fill::SHADER]);
    let mut shaders: Vec<Shader> = shaders.flat_map(Shader::packings).collect();
    shaders.sort_unstable_by_key(|shader| (shader.name(), shader.weights()));
    shaders.dedup();
    shaders
}

/// Constants, attributes and indices of a node.
pub(crate) fn properties(graph: &Graph, node: &Node) -> Properties {
    operator(&node.op).properties(graph, node)
}

/// For each row of the node's result, the rows of operand `index` that are read; the operands are the node's inputs,
/// then what its epilogue adds. `None` for constants and for an index that is not there.
pub fn input_rows(graph: &Graph, node: &Node, index: usize) -> Option<Vec<Range<u32>>> {
    let added = index == node.inputs.len();
    let tensor = if added { node.epilogue.add? } else { *node.inputs.get(index)? };
    if graph.is_constant(tensor) {
        return None;
    }
    let (from, to) = (graph.shape(tensor), graph.shape(node.output));
    let map = RowMap { graph, node, operand: index, from, to };
    Some(if added { map.same() } else { operator(&node.op).input_rows(&map) })
}

/// For each dispatch of a node, the rows of its result that it writes some of.
pub fn dispatch_rows(graph: &Graph, node: &Node) -> Vec<Range<u32>> {
    operator(&node.op).dispatch_rows(graph, node)
}

/// What a node of a [valid](crate::graph::check) graph has to do, for costs that are predicted.
pub fn work(graph: &Graph, node: &Node) -> Work {
    operator(&node.op).work(graph, node)
}

/// The texels that a node's kernel reads beside its tensors, without those of its epilogue.
pub(super) fn weights<'a>(graph: &'a Graph, node: &'a Node) -> WeightPieces<'a> {
    operator(&node.op).weights(graph, node)
}

/// How these are divided by slices of the result, where some slices can be computed.
pub(super) fn weight_sections(graph: &Graph, node: &Node) -> Option<WeightSections> {
    operator(&node.op).weight_sections(graph, node)
}

/// The dispatches of a step, in order.
pub(super) fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    operator(&step.node.op).dispatches(step)
}

/// The result of a node on the CPU, without its epilogue.
pub(super) fn reference(operands: &Operands<'_>, node: &Node, out: Shape) -> Result<Vec<f32>, ReferenceError> {
    operator(&node.op).reference(operands, out)
}

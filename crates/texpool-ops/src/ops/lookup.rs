//! Looks up a node's operator and forwards calls to it.

use std::ops::Range;

use super::{
    op::Op,
    operator::{Kernels, Operator, Properties},
    reference::{Operands, Reference, ReferenceError},
    rows::RowMap,
    work::Work,
};
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections, fill},
};

/// Generates the lookup functions from the table of operators.
macro_rules! lookup {
    (attributes { $($module:ident::$name:ident,)* } none { $($plain_module:ident::$plain:ident,)* }) => {
        fn operator(op: &Op) -> &dyn Operator {
            match op {
                $(Op::$name(operator) => operator,)*
                $(Op::$plain => &super::$plain_module::$plain,)*
            }
        }

        fn on_the_cpu(op: &Op) -> &dyn Reference {
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

/// Reports say why an operator with several shaders runs one of them, so each states its condition.
const _: () = {
    let mut of = 0;
    while of < SHADERS.len() {
        let mut shader = 0;
        while SHADERS[of].len() > 1 && shader < SHADERS[of].len() {
            assert!(SHADERS[of][shader].condition().is_some(), "an operator's choice of a shader has no reason");
            shader += 1;
        }
        of += 1;
    }
};

/// Returns all shaders sorted by name, with one variant per supported weight packing.
pub fn shaders() -> Vec<Shader> {
    // Filling belongs to no operator, and several operators share a shader. After sorting, duplicates are adjacent.
    let shaders = SHADERS.iter().copied().flatten().copied().chain([fill::SHADER]);
    let mut shaders: Vec<Shader> = shaders.flat_map(Shader::packings).collect();
    shaders.sort_unstable_by_key(|shader| (shader.name(), shader.weights()));
    shaders.dedup();
    shaders
}

/// Returns constants, attributes and indices of a node.
pub fn properties(graph: &Graph, node: &Node) -> Properties {
    operator(&node.op).properties(graph, node)
}

/// Returns the rows of operand `index` that each row of the node's result reads. The operands are the node's inputs,
/// followed by the tensor that its epilogue adds. Returns `None` for constants and for an invalid index.
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

/// Returns the rows of the result that each dispatch of a node writes to.
pub fn dispatch_rows(graph: &Graph, node: &Node) -> Vec<Range<u32>> {
    operator(&node.op).dispatch_rows(graph, node)
}

/// Returns the work of a node, for predicting its cost. The graph must be [valid](crate::graph::check).
pub fn work(graph: &Graph, node: &Node) -> Work {
    operator(&node.op).work(graph, node)
}

/// Estimates the elementary operations of nodes. The graph must be [valid](crate::graph::check).
pub fn operations<'n>(graph: &Graph, nodes: impl IntoIterator<Item = &'n Node>) -> u64 {
    nodes.into_iter().fold(0, |sum, node| work(graph, node).operations().saturating_add(sum))
}

/// Returns the sections of the weights that a node's kernel reads, without those of its epilogue.
pub(super) fn weights(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    operator(&node.op).weights(graph, node)
}

/// Returns the division of these sections by slices of the result, if the kernel can compute a subset of the slices.
pub(super) fn weight_sections(graph: &Graph, node: &Node) -> Option<WeightSections> {
    operator(&node.op).weight_sections(graph, node)
}

/// Returns the dispatches of a step, in order.
pub(super) fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    operator(&step.node.op).dispatches(step)
}

/// Computes the result of a node on the CPU, without its epilogue.
pub(super) fn reference(operands: &Operands<'_>, node: &Node, out: Shape) -> Result<Vec<f32>, ReferenceError> {
    on_the_cpu(&node.op).reference(operands, out)
}

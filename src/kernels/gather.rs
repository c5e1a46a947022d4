//! Elements looked up by index. The operand and the indices may each be computed or constant: a constant operand lies
//! among the weights, constant indices among the params, where every index is exact.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family, pack};
use crate::graph::{Graph, Node, Shape, named};

pub(super) const SHADER: Shader = Shader::new("gather", include_str!("../../shaders/gather.wgsl"));

/// Own params in front of constant indices.
const HEAD: u32 = 8 + 3;

/// The constant operand as a whole tensor.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    if graph.is_constant(node.inputs[0]) { pack::tensor(graph, node.inputs[0]) } else { Vec::new() }
}

/// Texels that the constant operand takes.
fn own(graph: &Graph, node: &Node) -> usize {
    if graph.is_constant(node.inputs[0]) { graph.shape(node.inputs[0]).texels() } else { 0 }
}

/// The indices that are part of the model, counted from the start and held inside.
fn indices(graph: &Graph, node: &Node, extent: usize) -> Option<Vec<u32>> {
    let constant = graph.tensors[node.inputs[1]].constant.as_ref()?;
    let mut params: Vec<u32> = constant.to_f32().iter().map(|&index| named(index, extent) as u32).collect();
    params.resize(params.len().next_multiple_of(4), 0);
    Some(params)
}

/// One texel an invocation. `each` is whether every element has an index of its own.
pub(crate) fn dispatches(step: &StepContext<'_>, axis: usize, each: bool) -> Result<Vec<Dispatch>, KernelError> {
    let (graph, node) = (step.graph, step.node);
    let x: Shape = graph.shape(node.inputs[0]);
    let extent = x.dims()[axis];
    let table = graph.is_constant(node.inputs[0]);
    let constant = indices(graph, node, extent);
    let plan = EpilogueParams::new(graph, node, own(graph, node));
    let items = family::texels(step);
    let mut params = KernelParams::new(step, &plan, items);
    let first = if table { None } else { Some(family::placed(step, 0)?) };
    let computed = if constant.is_some() { None } else { Some(family::placed(step, 1)?) };
    if let Some(first) = first.or(computed) {
        params = params.input(first);
    }
    let second = computed.filter(|_| first.is_some());
    if let Some(second) = second {
        family::no_added_tensor(step)?;
        params = params.second(second);
    }
    params = params.own([axis as u32, extent as u32, HEAD, 0]).own_tensor(x);
    for &group in constant.iter().flat_map(|params| params.as_chunks::<4>().0) {
        params = params.own(group);
    }
    // Where the indices are: among the params, in the first texture, in the second.
    let place = match (computed, second) {
        (None, _) => 0u8,
        (Some(_), None) => 1,
        (Some(_), Some(_)) => 2,
    };
    let flag = |on: bool| f64::from(u8::from(on));
    let constants = vec![
        ("TABLE", flag(table)),
        ("INDICES", f64::from(place)),
        ("EACH", flag(each)),
        ("WHOLE", flag(!each && axis != 3)),
    ];
    let mut dispatch = family::dispatch(step, SHADER, &plan, params, items, constants);
    dispatch.input = first.or(computed).map(|operand| operand.texture);
    if let Some(second) = second {
        dispatch = dispatch.reading_second(second);
    }
    Ok(vec![if table { dispatch.reading_weights(step) } else { dispatch }])
}

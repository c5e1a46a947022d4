//! Kernel for looking up elements by index. The operand and the indices may each be computed or constant. A constant
//! operand is stored among the weights, constant indices among the parameters, where every index is exact.

use std::ops::Range;

use super::Gather;
use crate::{
    graph::{Graph, Node, Shape},
    kernels::{
        ChannelWeights, Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection,
        common, pack,
        params::{ConstantTensor, FAMILY_PARAMS},
        shader::helpers::ONE_TEXEL,
        wgsl::{self, ShaderParams, shader_params, shared_constants},
    },
    ops::{
        gather::named,
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Gather {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Gather {
    category!(undivided_weights);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        Properties { weights: table(graph, node, self.axis), ..properties(graph, node, self.axis) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match (map.operand, self.axis) {
            (0, 0 | 1) => named_rows(map, self.axis),
            (0, _) => map.same(),
            // The indices are the channels of one row.
            _ => map.everything(),
        }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Move, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node)
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        dispatches(step, self.axis, false)
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

/// Returns the constant operand as weights: each channel of the result has one for each pixel of a table of one row. `None`
/// if the operand is no such table, or if the kernel looks up anything but pixels.
fn table(graph: &Graph, node: &Node, axis: usize) -> Option<ChannelWeights> {
    let &operand = node.inputs.first().filter(|&&operand| axis == 2 && graph.is_constant(operand))?;
    let Shape { b, h, w, .. } = graph.shape(operand);
    (b == 1 && h == 1).then_some(ChannelWeights { operand: 0, axis: 3, slice_texels: w })
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

pub(crate) const SHADER: Shader = Shader::new("gather", texpool_shaders::GATHER)
    .constants(&[INDEX_PLACES])
    .params::<Params>()
    .helpers(&[ONE_TEXEL])
    .counting()
    .any_packing();

shared_constants! {
    /// Location of the indices.
    INDEX_PLACES:
    INDICES_IN_PARAMS = 0,
    INDICES_IN_INPUT = 1,
    INDICES_IN_SECOND = 2,
}

shader_params! {
    struct Params {
        axis: usize,
        extent: usize,
        indices: usize,
        constant: ConstantTensor,
    }
}

/// Returns a constant operand as a whole tensor.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    pack::whole_operand(graph, node, 0)
}

/// Returns the constant indices, counted from the start and clamped, if they are part of the model.
fn indices(graph: &Graph, node: &Node, extent: usize) -> Option<Vec<u32>> {
    let constant = graph.tensors[node.inputs[1]].constant.as_ref()?;
    let mut params: Vec<u32> = constant.to_f32().iter().map(|&index| named(index, extent) as u32).collect();
    params.resize(params.len().next_multiple_of(4), 0);
    Some(params)
}

/// Computes one texel per invocation. If `elementwise` is set, every element has a separate index.
pub(crate) fn dispatches(step: &StepContext<'_>, axis: usize, elementwise: bool) -> Result<Vec<Dispatch>, KernelError> {
    let (graph, node) = (step.graph, step.node);
    let x: Shape = graph.shape(node.inputs[0]);
    let extent = x.dims()[axis];
    let in_weights = graph.is_constant(node.inputs[0]);
    let constant = indices(graph, node, extent);
    let epilogue = EpilogueParams::new(step);
    let items = common::texels(step);
    let mut params = KernelParams::new(step, &epilogue, items);
    // Computed indices use the first input if the operand is stored among the weights.
    let first = if in_weights { None } else { Some(common::placed(step, 0)?) };
    let computed = if constant.is_some() { None } else { Some(common::placed(step, 1)?) };
    if let Some(first) = first.or(computed) {
        params = params.input(first);
    }
    let second = computed.filter(|_| first.is_some());
    if let Some(second) = second {
        common::no_added_tensor(step)?;
        params = params.second(second);
    }
    // The table of constant indices starts after these parameters.
    let indices = FAMILY_PARAMS as usize + wgsl::groups(Params::FIELDS);
    params = params.params(&Params { axis, extent, indices, constant: ConstantTensor(Some(x)) });
    params = params.table(&constant.unwrap_or_default());
    let place = match (computed, second) {
        (None, _) => INDICES_IN_PARAMS,
        (Some(_), None) => INDICES_IN_INPUT,
        (Some(_), Some(_)) => INDICES_IN_SECOND,
    };
    let constants = vec![
        ("OPERAND_IN_WEIGHTS", common::flag(in_weights)),
        ("INDICES", f64::from(place)),
        ("ELEMENTWISE", common::flag(elementwise)),
        // Along channels, or with a separate index per element, every lane may come from a different texel.
        ("WHOLE_TEXELS", common::flag(!elementwise && axis != 3)),
    ];
    let mut dispatch =
        common::dispatch(step, SHADER.reading(step.weights.packing), &epilogue, params, items, constants, &[]);
    if let Some(first) = first.or(computed) {
        dispatch = dispatch.reading(first);
    }
    if let Some(second) = second {
        dispatch = dispatch.reading_second(second);
    }
    Ok(vec![if in_weights { dispatch.reading_weights(step) } else { dispatch }])
}

//! Lowers graphs of the model that operators have as branches.

use super::{
    opcode::Kind,
    operator_lowering::{OperatorLowering, SubgraphLowering},
    schema::SubGraph,
    tensors::{FileTensor, tensors},
};
use crate::import::{
    common::graph::NODE_BYTES,
    error::{Problem, RefusedNodes},
    model_file::Owner,
};
use texpool_ops::graph::{IdVec, TensorId};

/// Maximum depth of branches within branches. Chosen as in ONNX files.
const MAX_DEPTH: usize = 32;

/// Adds the nodes of a graph of the model whose inputs are these tensors, and returns its outputs.
pub(super) fn lower_body(
    ctx: &mut OperatorLowering<'_, '_>,
    graph: i32,
    operands: &[TensorId],
) -> Result<Vec<TensorId>, Problem> {
    let (lowering, owner, node) = ctx.parts();
    let subgraphs = lowering.model.subgraphs().unwrap_or_default();
    let buffers = lowering.model.buffers().unwrap_or_default();
    // A few operators may ask for these lists any number of times.
    lowering.meter.work(subgraphs.len().saturating_add(buffers.len()))?;
    let index = usize::try_from(graph).ok().filter(|&index| index > 0 && index < subgraphs.len());
    let index = index.ok_or_else(|| Problem::malformed(format!("graph {graph} is none that it can have")))?;
    if lowering.depth == MAX_DEPTH {
        return Err(Problem::limit(format!("its branches lie in one another, more than {MAX_DEPTH} deep")));
    }
    lowering.called.insert(index);
    let subgraph = &subgraphs[index];
    let inputs = subgraph.inputs().unwrap_or_default();
    if inputs.len() != operands.len() {
        let (expected, given) = (inputs.len(), operands.len());
        return Err(Problem::malformed(format!("graph {index} has {expected} inputs, and is given {given}")));
    }
    let stated = tensors(subgraph, &buffers, (**owner).as_ref().len(), &mut lowering.meter)?;
    // Tensors of the graph and those of the file have the same indices.
    let between = lowering.graph.tensors.len().saturating_sub(lowering.tensors.len());
    lowering.meter.memory(between.saturating_mul(NODE_BYTES))?;
    for _ in 0..between {
        lowering.tensors.push(FileTensor::between());
    }
    let mut ids = own_tensors(lowering, index, stated);
    for (&number, &operand) in inputs.iter().zip(operands) {
        let id = usize::try_from(number).ok().and_then(|number| ids.get_mut(number));
        let id = id.ok_or_else(|| Problem::malformed(format!("input {number} of graph {index} is no tensor of it")))?;
        let (stated, given) = (&lowering.tensors[*id], &lowering.tensors[operand]);
        if !stated.is_like(given) {
            let (stated, given) = (&stated.name, &given.name);
            return Err(Problem::malformed(format!("its operand `{given}` and input `{stated}` differ in type")));
        }
        *id = operand;
    }
    let outer = std::mem::replace(&mut lowering.ids, ids);
    lowering.depth += 1;
    let outcome = operators(lowering, owner, node, subgraph);
    let outputs = subgraph.outputs().unwrap_or_default();
    let outputs: Option<Vec<TensorId>> = outputs.into_iter().map(|number| lowering.id(number)).collect();
    lowering.depth -= 1;
    lowering.ids = outer;
    let nodes = lowering.graph.nodes.len();
    ctx.after_bodies = nodes;
    outcome?;
    outputs.ok_or_else(|| Problem::malformed(format!("an output of graph {index} is no tensor of it")))
}

/// Adds the tensors of a graph of the model, and returns their ids. Stored ones are there already if the graph was lowered
/// before.
fn own_tensors<'a>(
    lowering: &mut SubgraphLowering<'a>,
    index: usize,
    stated: IdVec<TensorId, FileTensor<'a>>,
) -> Vec<TensorId> {
    let mut ids = Vec::with_capacity(stated.len());
    for (number, tensor) in stated.into_iter().enumerate() {
        let key = tensor.has_values().then_some((index, number));
        if let Some(&id) = key.and_then(|key| lowering.shared.get(&key)) {
            ids.push(id);
            continue;
        }
        lowering.graph.tensors.push(tensor.placeholder());
        let id = lowering.tensors.push(tensor);
        lowering.shared.extend(key.map(|key| (key, id)));
        ids.push(id);
    }
    ids
}

/// Lowers the operators of a body.
fn operators<'a>(
    lowering: &mut SubgraphLowering<'a>,
    owner: &Owner,
    node: usize,
    body: &SubGraph<'a>,
) -> Result<(), Problem> {
    let codes = lowering.model.operator_codes().unwrap_or_default();
    lowering.meter.work(codes.len())?;
    let mut refused = RefusedNodes::default();
    for operator in body.operators().unwrap_or_default() {
        let kind = usize::try_from(operator.opcode()).ok().and_then(|index| codes.get(index)).map(Kind::of);
        let name = kind.as_ref().map_or_else(|| "UNKNOWN".to_owned(), Kind::name);
        let lower = lowering.lower;
        let outcome =
            OperatorLowering::new(lowering, owner, operator, node).and_then(|mut context| lower(&mut context, &name));
        if let Err(problem) = outcome {
            let result = operator.outputs().and_then(|outputs| lowering.id(*outputs.first()?));
            let result = result.map(|id| lowering.tensors[id].name.clone()).unwrap_or_default();
            refused.note(&result, &name, problem)?;
        }
        if refused.is_full() {
            break;
        }
    }
    refused.finish()
}

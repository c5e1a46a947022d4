//! Lowers nodes of the file, and the bodies of those that have some.

use std::collections::HashSet;

use super::{
    array::Array,
    explained::explained,
    graph_lowering::GraphLowering,
    integers,
    model::{Graph, Node},
    names::{Names, Operand},
    node_lowering::{Bodies, NodeLowering},
    op_registry::{Fold, OnnxOpEntry},
    opset6,
    opsets::Opsets,
    tensor::ValueSource,
    value::Value,
};
use crate::import::{
    error::{Problem, RefusedNodes},
    op_registry::Types,
};

/// Adds the graph nodes for a node of the file, or states its results as known. `index` is that of the node of the
/// file's main graph that it is, or that contains it.
pub(super) fn lower_node<'m>(
    index: usize,
    node: &'m Node,
    opsets: &Opsets<'_>,
    lowering: &mut GraphLowering,
    names: &mut Names<'m>,
    values: &mut ValueSource,
) -> Result<(), Problem> {
    // Before its results get names, so that a node cannot read itself.
    let operands = names.operands(node, values, &mut lowering.meter);
    // Before anything can fail, so that readers know these results as missing instead of being refused as well.
    names.claim(node)?;
    let entry = opsets.find(node)?;
    // Reported after the lookup, because an unsupported operator is more important than an error in its operands.
    let operands = operands?;
    // A node that depends on the result of a refused node cannot be examined further.
    let Some(operands) = operands.into_iter().map(Operand::into_value).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let mut stated = HashSet::new();
    if let Some(twice) = node.attributes.iter().find(|attribute| !stated.insert(attribute.name.as_str())) {
        return Err(Problem::malformed(format!("it states its {} twice", twice.name)));
    }
    lowering.begin(index, node.outputs.iter().find(|name| !name.is_empty()).map(String::as_str).unwrap_or_default());
    if !entry.support.types.keeps_bytes() {
        let arrays = operands.iter().flatten().filter_map(Value::known);
        arrays.into_iter().try_for_each(|array| array.widen(&mut lowering.meter))?;
    }
    // A node without operands is also foldable: constants are such nodes.
    let are_constant = operands.iter().flatten().all(|value| value.known().is_some());
    let read = node.outputs.iter().map(|name| names.is_read(name)).collect();
    let opset = opsets.version(&node.domain);
    let results = vec![None; node.outputs.len()];
    let (before, first) = (lowering.graph.tensors.len(), lowering.graph.nodes.len());
    let mut bodies = Scope { index, opsets, names };
    let bodies = &mut bodies;
    let mut ctx = NodeLowering { lowering, node, opset, operands, results, read, values, bodies, is_open: false };
    let fold = entry.fold.filter(|_| are_constant);
    let charged = apply(entry, fold, &mut ctx).map_err(|problem| explained(problem, node, &ctx.operands))?;
    if ctx.is_open {
        return Ok(());
    }
    // Quantised integers represent reals, so they are not marked.
    if entry.support.types != Types::Quantised {
        integers::mark(&mut ctx, first)?;
    }
    let results = std::mem::take(&mut ctx.results);
    drop(ctx);
    let result_bytes = results.iter().flatten().filter_map(Value::known).map(Array::freed).sum();
    if fold.is_some() && lowering.graph.tensors.len() == before {
        // All other memory that the evaluation took is free again.
        lowering.meter.keep(charged, result_bytes);
    } else {
        lowering.meter.memory(result_bytes)?;
    }
    names.state(node, results, before, lowering)
}

/// Runs `fold`, which computes the node's results while importing, or else adds graph nodes for them. Returns the memory
/// that was held before.
fn apply(entry: &OnnxOpEntry, fold: Option<Fold>, ctx: &mut NodeLowering<'_>) -> Result<u64, Problem> {
    opset6::upgrade(ctx, entry.before_opset7)?;
    if fold.is_some() && entry.fold_reads_elements {
        ctx.write_out()?;
    }
    let used_before = ctx.meter().used_bytes();
    fold.unwrap_or(entry.lower)(ctx)?;
    Ok(used_before)
}

/// The graph that contains a node, as its bodies see it.
#[derive(Debug)]
struct Scope<'s, 'o, 'm> {
    index: usize,
    opsets: &'s Opsets<'o>,
    names: &'s mut Names<'m>,
}

impl Bodies for Scope<'_, '_, '_> {
    fn lower(
        &mut self,
        body: &Graph,
        operands: &[Value],
        lowering: &mut GraphLowering,
        values: &mut ValueSource,
    ) -> Result<Vec<Option<Value>>, Problem> {
        let mut names = Names::of_body(body, operands, self.names, values, &mut lowering.meter)?;
        let mut refused = RefusedNodes::default();
        for node in &body.nodes {
            let outcome = lower_node(self.index, node, self.opsets, lowering, &mut names, values);
            names.leave(node, &mut lowering.meter);
            if let Err(problem) = outcome {
                refused.note(node.called()[0], &node.operator(), problem)?;
            }
            if refused.is_full() {
                break;
            }
        }
        refused.finish()?;
        let mut results = Vec::with_capacity(body.outputs.len());
        for port in &body.outputs {
            let operand = names.operand(&port.name, values, &mut lowering.meter);
            let operand =
                operand.map_err(|problem| Problem { reason: format!("its result: {}", problem.reason), ..problem })?;
            results.push(operand.into_value().flatten());
        }
        names.end(&mut lowering.meter);
        // The node that has the body charges its results.
        let constant_bytes = results.iter().flatten().filter_map(Value::known).map(Array::freed).sum();
        lowering.meter.free(constant_bytes);
        Ok(results)
    }
}

//! Lowers nodes of the file, and the bodies of those that have some.

use super::{
    array::Array,
    bounded,
    explained::{explained, with_sources},
    functions::{Call, Operator, Place},
    graph_lowering::GraphLowering,
    integers,
    model::{Graph, GraphIo, Node},
    names::{Names, Operand},
    node_lowering::{Bodies, BodyResults, NodeLowering},
    op_registry::{Fold, OnnxOpEntry},
    opset6,
    passed::Passed,
    tensor::ValueSource,
    value::{BoundedAxis, Sizes, Value},
};
use crate::import::{
    error::{Problem, RefusedNodes},
    op_registry::Types,
};

/// Adds the graph nodes for a node of the file, or states its results as known.
pub(super) fn lower_node<'m>(
    place: Place<'_>,
    node: &'m Node,
    lowering: &mut GraphLowering,
    names: &mut Names<'m>,
    values: &mut ValueSource,
) -> Result<(), Problem> {
    // Before its results get names, so that a node cannot read itself.
    let operands = names.operands(node, values, &mut lowering.meter);
    // Before anything can fail, so that readers know these results as missing instead of being refused as well.
    names.claim(node)?;
    let operator = place.find(node)?;
    // Reported after the lookup, because an unsupported operator is more important than an error in its operands.
    let operands = operands?;
    // A node that depends on the result of a refused node cannot be examined further.
    let Some(operands) = operands.into_iter().map(Operand::into_value).collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let attributes = place.attributes(node)?;
    let read: Vec<bool> = node.outputs.iter().map(|name| names.is_read(name)).collect();
    let before = lowering.graph.tensors.len();
    let bounds: Vec<Vec<BoundedAxis>> = node.inputs.iter().map(|name| names.bounds(name).to_vec()).collect();
    let sizes: Vec<Sizes> = node.inputs.iter().map(|name| names.sizes(name).to_vec()).collect();
    let entry = match operator {
        Operator::Entry(entry) => entry,
        Operator::Function(_)
            if bounds.iter().any(|bounds| !bounds.is_empty()) || sizes.iter().any(|s| !s.is_empty()) =>
        {
            return Err(Problem::unsupported("it is a function of an operand whose extent is found in a run"));
        }
        Operator::Function(definition) => {
            let call = place.call(definition, &attributes)?;
            let results = lower_call(&call, node, operands, &read, lowering, values)?;
            lowering.meter.memory(freed(&results))?;
            return names.state(node, results, before, lowering);
        }
    };
    if node.op != "If"
        && let Some(name) = names.bounded_in_bodies(node)
    {
        return Err(Problem::unsupported(format!("its body reads `{name}`, whose extent is found in a run")));
    }
    let result = node.outputs.iter().find(|name| !name.is_empty());
    lowering.begin(place.index, result.map(String::as_str).unwrap_or_default());
    if !entry.support.types.keeps_bytes() {
        let arrays = operands.iter().flatten().filter_map(Value::known);
        arrays.into_iter().try_for_each(|array| array.widen(&mut lowering.meter))?;
    }
    let opset = place.version(&node.domain);
    let results = vec![None; node.outputs.len()];
    let first = lowering.graph.nodes.len();
    let (attributes, bodies) = (&attributes[..], &mut Scope { place, names });
    let mut ctx = NodeLowering {
        lowering,
        node,
        attributes,
        opset,
        operands,
        bounds,
        sizes,
        bound: None,
        of_bodies: Vec::new(),
        is_nested: place.is_nested(),
        keeps_extents: place.keeps_extents(),
        results,
        read,
        values,
        bodies,
        is_open: false,
    };
    let made = bounded::known_as_tensors(&mut ctx, entry)?;
    let passed = bounded::of_results(&mut ctx, entry);
    let mut passed = passed.map_err(|problem| with_sources(problem, ctx.lowering))?;
    // A node without operands is also foldable: constants are such nodes.
    let are_constant = ctx.operands.iter().flatten().all(|value| value.known().is_some());
    let fold = entry.fold.filter(|_| are_constant);
    let charged = match passed.result.take() {
        Some(result) => {
            ctx.give(0, result);
            ctx.meter().used_bytes()
        }
        None => apply(entry, fold, &mut ctx)
            .map_err(|problem| with_sources(explained(problem, node, &ctx.operands), ctx.lowering))?,
    };
    if ctx.is_open {
        return Ok(());
    }
    bounded::finish(&mut passed, &mut ctx)?;
    // Quantised integers represent reals, so they are not marked.
    if entry.support.types != Types::Quantised {
        integers::mark(&mut ctx, first)?;
    }
    let results = std::mem::take(&mut ctx.results);
    drop(ctx);
    let result_bytes = freed(&results);
    if fold.is_some() && lowering.graph.tensors.len() == before {
        // All other memory that the evaluation took is free again.
        lowering.meter.keep(charged, result_bytes);
    } else {
        lowering.meter.memory(result_bytes)?;
    }
    for (position, tensor) in made {
        names.replace(&node.inputs[position], tensor, &mut lowering.meter);
    }
    names.state(node, results, before, lowering)?;
    names.set_bounds(node, passed)
}

/// Returns the memory of known results that ends with them.
fn freed(results: &[Option<Value>]) -> usize {
    results.iter().flatten().filter_map(Value::known).map(Array::freed).sum()
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
struct Scope<'s, 'm> {
    place: Place<'s>,
    names: &'s mut Names<'m>,
}

impl Bodies for Scope<'_, '_> {
    fn lower(
        &mut self,
        body: &Graph,
        operands: &[Value],
        lowering: &mut GraphLowering,
        values: &mut ValueSource,
    ) -> Result<(BodyResults, Passed), Problem> {
        let place = self.place.within(operands.is_empty())?;
        let names = Names::of_body(body, operands, self.names, values, &mut lowering.meter)?;
        lower_body(place, body, names, lowering, values)
    }
}

/// Adds the graph nodes of a call, and returns its results. Those that nothing reads are `None`.
fn lower_call(
    call: &Call<'_>,
    node: &Node,
    operands: Vec<Option<Value>>,
    read: &[bool],
    lowering: &mut GraphLowering,
    values: &mut ValueSource,
) -> Result<Vec<Option<Value>>, Problem> {
    let body = &call.function().body;
    let names = Names::of_function(body, operands, read, &mut lowering.meter)?;
    let outer = lowering.enter(node.called()[0]);
    let results = lower_body(call.place(), body, names, lowering, values);
    lowering.path = outer;
    results
        .map(|(results, _)| results)
        .map_err(|problem| problem.of_branch(&call.function().operator(), &node.operator()))
}

/// Adds the graph nodes of a body or function, and returns its results, and those of their extents that a run gives or
/// finds. A result is `None` if it depends on a node that was refused, or if nothing reads it.
fn lower_body<'b>(
    place: Place<'_>,
    body: &'b Graph,
    mut names: Names<'b>,
    lowering: &mut GraphLowering,
    values: &mut ValueSource,
) -> Result<(BodyResults, Passed), Problem> {
    let mut refused = RefusedNodes::default();
    for node in &body.nodes {
        let outcome = lower_node(place, node, lowering, &mut names, values);
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
    let extents = |GraphIo { name, .. }: &GraphIo| (names.bounds(name).to_vec(), names.sizes(name).to_vec());
    let passed = Passed::of_body(body.outputs.iter().map(extents).collect());
    for GraphIo { name, .. } in &body.outputs {
        let operand = match names.is_read(name) {
            true => names.operand(name, values, &mut lowering.meter),
            false => Ok(Operand::Absent),
        };
        let operand =
            operand.map_err(|problem| Problem { reason: format!("its result: {}", problem.reason), ..problem })?;
        results.push(operand.into_value().flatten());
    }
    names.end(&mut lowering.meter);
    // The node that has the body charges its results.
    lowering.meter.free(freed(&results));
    Ok((results, passed))
}

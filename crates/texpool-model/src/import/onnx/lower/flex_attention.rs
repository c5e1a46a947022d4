//! Lowers FlexAttention, an attention with bodies that change its products and its weights.

use super::{attention::Heads, softmax::normalised};
use crate::import::{
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("FlexAttention", 1, Floats, "matmul, softmax", Any, attention)
        .domain("ai.onnx.preview")
        .limits("all is computed in floats of 32 bits")];

/// Returns what a body makes of a value, or the value if the node has no such body. `None` if the body depends on a node
/// that was refused.
fn changed(ctx: &mut NodeLowering<'_>, name: &str, value: Value) -> Result<Option<Value>, Problem> {
    if !ctx.has(name) {
        return Ok(Some(value));
    }
    let dims = value.dims().to_vec();
    let results = ctx.body(name, &[value])?;
    let [result] = <[Option<Value>; 1]>::try_from(results)
        .map_err(|results| Problem::malformed(format!("its {name} has {} results, not one", results.len())))?;
    match result {
        Some(result) if result.dims() != dims => {
            Err(Problem::malformed(format!("its {name} makes {:?} of {dims:?}", result.dims())))
        }
        result => Ok(result),
    }
}

fn attention(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let heads = Heads { queries: ctx.operand(0)?, keys: ctx.operand(1)?, values: ctx.operand(2)? };
    let elem = heads.queries.element_type();
    let scale = if ctx.has("scale") { Some(ctx.float("scale", 1.0)?) } else { None };
    let products = heads.products(ctx, scale)?;
    let Some(products) = changed(ctx, "score_mod", products)? else {
        ctx.is_open = true;
        return Ok(());
    };
    let lines = ctx.compute(&products)?;
    let weights = Value::Computed(normalised(ctx, &lines, &[3], false)?);
    let Some(weights) = changed(ctx, "prob_mod", weights)? else {
        ctx.is_open = true;
        return Ok(());
    };
    let result = heads.summed(ctx, &weights)?;
    let mut result = ctx.compute(&result)?;
    result.elem = elem;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

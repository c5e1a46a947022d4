//! Lowers operators of values that may be missing. A tensor never is, and an operand without a name always is.

use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{Any, LikeOperand},
            OnnxOpEntry,
        },
        value::Value,
    },
    op_registry::All,
};
use texpool_ops::graph::ElementType;

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("OptionalHasElement", 15, All, "none", Any, has_element)
        .limits("tensors")
        .fold_repeated(has_element),
    OnnxOpEntry::new("OptionalGetElement", 15, All, "none", LikeOperand, element)
        .limits("tensors")
        .fold_repeated(element),
];

fn has_element(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let has = i64::from(ctx.optional(0).is_some());
    ctx.give(0, Value::Known(Array::of_ints(Vec::new(), ElementType::Bool, vec![has])));
    Ok(())
}

fn element(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    ctx.give(0, x);
    Ok(())
}

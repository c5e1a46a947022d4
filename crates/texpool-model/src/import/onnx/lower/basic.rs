//! Lowers elementwise operators with two or more operands.

use super::align::{align, unexpanded};
use crate::import::{
    common::{extents, graph::selected_parts},
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{
            BeforeOpset7::{BroadcastAtAxis, SlopePerChannel},
            InputLayout::{Any, LikeOperand},
            OnnxOpEntry,
        },
        value::{Computed, Value},
    },
    op_registry::{All, Floats, Numbers, Truths},
};
use texpool_ops::graph::{Binary, ElementType, Op, Shape, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Add", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Add))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Add)),
    OnnxOpEntry::new("Sub", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Sub))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Sub)),
    OnnxOpEntry::new("Mul", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Mul))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Mul)),
    OnnxOpEntry::new("Div", 1, Numbers, "binary", LikeOperand, div)
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Div)),
    OnnxOpEntry::new("Pow", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Pow))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Pow)),
    OnnxOpEntry::new("Mod", 10, Numbers, "binary", Any, modulo).fold(math::modulo),
    OnnxOpEntry::new("Max", 1, Numbers, "binary", LikeOperand, |c| many(c, Binary::Maximum))
        .fold(|c| math::many(c, Binary::Maximum)),
    OnnxOpEntry::new("Min", 1, Numbers, "binary", LikeOperand, |c| many(c, Binary::Minimum))
        .fold(|c| math::many(c, Binary::Minimum)),
    OnnxOpEntry::new("Sum", 1, Floats, "binary", Any, |c| many(c, Binary::Add)).fold(|c| math::many(c, Binary::Add)),
    OnnxOpEntry::new("Mean", 1, Floats, "binary", Any, mean),
    OnnxOpEntry::new("Equal", 1, All, "binary", Any, |c| truth(c, Binary::Equal))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Equal)),
    OnnxOpEntry::new("Less", 1, Numbers, "binary", Any, |c| truth(c, Binary::Less))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Less)),
    OnnxOpEntry::new("LessOrEqual", 12, Numbers, "binary", Any, |c| truth(c, Binary::LessEqual))
        .fold(|c| math::binary(c, Binary::LessEqual)),
    OnnxOpEntry::new("Greater", 1, Numbers, "binary", Any, |c| truth(c, Binary::Greater))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Greater)),
    OnnxOpEntry::new("GreaterOrEqual", 12, Numbers, "binary", Any, |c| truth(c, Binary::GreaterEqual))
        .fold(|c| math::binary(c, Binary::GreaterEqual)),
    OnnxOpEntry::new("And", 1, Truths, "binary", Any, |c| logic(c, Binary::And, false))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::And)),
    OnnxOpEntry::new("Or", 1, Truths, "binary", Any, |c| logic(c, Binary::Or, true))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Or)),
    OnnxOpEntry::new("Xor", 1, Truths, "binary", Any, |c| truth(c, Binary::Xor))
        .before_opset7(BroadcastAtAxis)
        .fold(|c| math::binary(c, Binary::Xor)),
    OnnxOpEntry::new("Where", 9, All, "binary", LikeOperand, select).fold(math::select),
    OnnxOpEntry::new("PRelu", 1, Numbers, "binary", LikeOperand, prelu).before_opset7(SlopePerChannel),
];

/// Returns whether a known condition holds.
pub(super) fn is_true(condition: &Array) -> bool {
    condition.to_f32().first().is_some_and(|&value| value != 0.0)
}

/// Adds a binary function of two values.
pub(in crate::import::onnx) fn two(
    ctx: &mut NodeLowering<'_>,
    binary: Binary,
    a: &Value,
    b: &Value,
    elem: ElementType,
) -> Result<Computed, Problem> {
    let operands = unexpanded(ctx.lowering, [a, b]);
    let aligned = align(ctx.lowering, &operands)?;
    let tensor = ctx.emit(Op::Binary(binary), &aligned.tensors, aligned.layout.shape())?;
    Ok(Computed { tensor, layout: aligned.layout.tidy(&aligned.dims), dims: aligned.dims, elem })
}

fn pair(ctx: &mut NodeLowering<'_>, binary: Binary, elem: ElementType) -> Result<(), Problem> {
    let (a, b) = (ctx.operand(0)?, ctx.operand(1)?);
    let result = two(ctx, binary, &a, &b, elem)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn arithmetic(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    pair(ctx, binary, elem)
}

fn truth(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    pair(ctx, binary, ElementType::Bool)
}

/// A truth value that decides alone makes the result known, so that a loop ends on import when its counter does.
fn logic(ctx: &mut NodeLowering<'_>, binary: Binary, deciding: bool) -> Result<(), Problem> {
    let operands = [ctx.operand(0)?, ctx.operand(1)?];
    let is_deciding = |value: &Value| value.len() == 1 && value.known().is_some_and(|array| is_true(array) == deciding);
    if !operands.iter().any(is_deciding) {
        return truth(ctx, binary);
    }
    let dims = extents::broadcast(&[operands[0].dims(), operands[1].dims()])?;
    let decided = Array::of_ints(Vec::new(), ElementType::Bool, vec![i64::from(deciding)]);
    let result = decided.broadcast(&dims, ctx.meter())?;
    ctx.give(0, Value::Known(result));
    Ok(())
}

/// Division of integers truncates towards zero.
fn div(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let float = ctx.operand(0)?.element_type().is_float();
    arithmetic(ctx, if float { Binary::Div } else { Binary::TruncDiv })
}

fn modulo(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let fmod = ctx.flag("fmod", false)?;
    arithmetic(ctx, if fmod { Binary::Fmod } else { Binary::Mod })
}

fn folded(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<Value, Problem> {
    let mut result = ctx.operand(0)?;
    for position in 1..ctx.count() {
        let next = ctx.operand(position)?;
        let elem = result.element_type();
        result = Value::Computed(two(ctx, binary, &result, &next, elem)?);
    }
    Ok(result)
}

fn many(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    let result = folded(ctx, binary)?;
    ctx.give(0, result);
    Ok(())
}

fn mean(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let sum = folded(ctx, Binary::Add)?;
    let share = math::scalar(1.0 / ctx.count() as f32);
    let elem = sum.element_type();
    let result = two(ctx, Binary::Mul, &sum, &share, elem)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn select(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [condition, x, y] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    let result = selected(ctx, &condition, [&x, &y])?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Lowers `condition ? x : y` as the sum of the selected elements of `x` and those of `y`.
pub(super) fn selected(
    ctx: &mut NodeLowering<'_>,
    condition: &Value,
    [x, y]: [&Value; 2],
) -> Result<Computed, Problem> {
    let elem = x.element_type();
    // The result has the type of the values; the condition is a mask.
    let node = |binary, [a, b]: [&Value; 2]| two(ctx, binary, a, b, elem).map(Value::Computed);
    let [from_x, from_y] = selected_parts(condition, [x, y], node)?;
    two(ctx, Binary::Add, &from_x, &from_y, elem)
}

fn prelu(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, slope) = (ctx.computed(0)?, ctx.operand(1)?);
    let aligned = align(ctx.lowering, &[Value::Computed(x.clone()), slope])?;
    // Slopes may broadcast to the input. ONNX does not allow an input that broadcasts to the slopes.
    if aligned.dims != x.dims {
        return Err(Problem::malformed("its slopes do not repeat into its input"));
    }
    let tensor = ctx.emit(Op::Prelu, &aligned.tensors, aligned.layout.shape())?;
    ctx.answer(tensor, aligned.dims, aligned.layout, x.elem);
    Ok(())
}

/// Adds a function of one value, in the layout of its operand.
pub(in crate::import::onnx) fn one(
    ctx: &mut NodeLowering<'_>,
    unary: Unary,
    x: &Computed,
    elem: ElementType,
) -> Result<Computed, Problem> {
    let shape: Shape = x.layout.shape();
    let tensor = ctx.emit(Op::Unary(unary), &[x.tensor], shape)?;
    Ok(Computed { tensor, elem, ..x.clone() })
}

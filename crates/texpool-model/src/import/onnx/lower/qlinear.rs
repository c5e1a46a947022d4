//! Lowers operators that read and give integers with scales, ONNX's and those of ONNX Runtime's quantiser. Each is the
//! operator of floats between a dequantisation and a quantisation, as in a file that states these as nodes.

use super::{
    basic::{one, two},
    concat::joined,
    conv::conv,
    dynamic::Dynamic,
    integer::shifted,
    matmul::{gemm, product},
    pool::{global, pool},
    quant::{Scales, apply, dequantized, quantized},
    reduce::reduce,
    softmax::softmax,
};
use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{Any, ChannelsSecond, LikeOperand},
            OF_RUNTIME, OnnxOpEntry,
        },
        value::Value,
    },
    op_registry::{Quantised, Types},
};
use texpool_ops::graph::{Binary, ElementType, PoolKind, ReduceKind, Unary};

const CHANNELS: &str = "channels on the second axis";

type Lower = fn(&mut NodeLowering<'_>) -> Result<(), Problem>;

const fn of_runtime(name: &'static str, types: Types, kernels: &'static str, lower: Lower) -> OnnxOpEntry {
    OnnxOpEntry::new(name, 1, types, kernels, Any, lower).domain(OF_RUNTIME)
}

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("QLinearConv", 10, Quantised, "binary, conv, depthwise, unary", ChannelsSecond, convolution)
        .limits("one to three dimensions; weights and biases must be known"),
    OnnxOpEntry::new("QLinearMatMul", 10, Quantised, "binary, dense, matmul, unary", Any, mat_mul),
    of_runtime("QLinearAdd", Quantised, "binary, unary", |c| binary(c, Binary::Add)),
    of_runtime("QLinearMul", Quantised, "binary, unary", |c| binary(c, Binary::Mul)),
    of_runtime("QLinearSigmoid", Quantised, "binary, unary", |c| {
        single(c, |c| elementwise(c, |_| Ok(Unary::Logistic)))
    }),
    of_runtime("QLinearLeakyRelu", Quantised, "binary, unary", |c| {
        single(c, |c| elementwise(c, |c| Ok(Unary::LeakyRelu { alpha: c.float("alpha", 0.01)? })))
    }),
    of_runtime("QLinearGlobalAveragePool", Quantised, "binary, mean, unary", |c| {
        single_image(c, |c| global(c, ReduceKind::Mean))
    })
    .limits(CHANNELS),
    of_runtime("QLinearAveragePool", Quantised, "binary, pool, unary", |c| {
        single_image(c, |c| pool(c, PoolKind::Average))
    })
    .limits(CHANNELS),
    of_runtime("QLinearReduceMean", Quantised, "binary, mean, unary", |c| single(c, |c| reduce(c, ReduceKind::Mean))),
    of_runtime("QLinearSoftmax", Quantised, "binary, softmax, unary", |c| single(c, softmax_of_opset)),
    of_runtime("QLinearConcat", Quantised, "binary, concat, unary", concat),
    of_runtime("QGemm", Quantised, "binary, dense, matmul, unary", matrices),
    OnnxOpEntry::new("MatMulIntegerToFloat", 1, Quantised, "binary, dense, matmul", LikeOperand, to_float)
        .domain(OF_RUNTIME),
    of_runtime(
        "DynamicQuantizeMatMul",
        Quantised,
        "binary, dense, dynamic_quantize, dynamic_scale, extremes, matmul",
        dynamic_mat_mul,
    ),
];

/// Returns the reals of an operand whose scale and zero point are the operands from `scales` on.
fn reals(ctx: &mut NodeLowering<'_>, position: usize, scales: usize, along: i64) -> Result<Value, Problem> {
    let (x, scales) = (ctx.operand(position)?, Scales::at(ctx, scales, along)?);
    dequantized(ctx, &x, &scales)
}

/// Lowers the operator of floats, which reads these operands, and quantises its result.
fn between(
    ctx: &mut NodeLowering<'_>,
    operands: Vec<Option<Value>>,
    to: &Scales,
    elem: ElementType,
    lower: Lower,
) -> Result<(), Problem> {
    ctx.operands = operands;
    lower(ctx)?;
    quantize_result(ctx, to, elem)
}

/// Quantises the result. Without a zero point it has the type of the first operand.
fn quantize_result(ctx: &mut NodeLowering<'_>, to: &Scales, elem: ElementType) -> Result<(), Problem> {
    let result = ctx.results.first_mut().and_then(Option::take);
    let result = result.ok_or_else(|| Problem::malformed("it has no result"))?;
    let elem = to.zero.as_ref().map_or(elem, Value::element_type);
    let integers = quantized(ctx, &result, to, elem)?;
    ctx.give(0, integers);
    Ok(())
}

/// Returns the reals of biases, whose scale is the product of the scales of input and weights.
fn biases(ctx: &mut NodeLowering<'_>, position: usize, scales: [usize; 2], by: f32) -> Result<Option<Value>, Problem> {
    let Some(integers) = ctx.optional(position) else { return Ok(None) };
    let [x, weights] = [ctx.operand(scales[0])?, ctx.operand(scales[1])?];
    let scale = apply(ctx, Binary::Mul, &x, &weights)?;
    let scale = if by == 1.0 { scale } else { apply(ctx, Binary::Mul, &scale, &math::scalar(by))? };
    let scaled = apply(ctx, Binary::Mul, &integers, &scale)?;
    // A scale with an axis of one gives the biases none that they did not have.
    super::shapes::reshaped(ctx.lowering, &scaled, integers.dims()).map(Some)
}

fn convolution(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    ctx.known(3, "weights")?;
    let (x, weights) = (reals(ctx, 0, 1, 1)?, reals(ctx, 3, 4, 0)?);
    let (biases, to) = (biases(ctx, 8, [1, 4], 1.0)?, Scales::at(ctx, 6, 1)?);
    between(ctx, vec![Some(x), Some(weights), biases], &to, elem, conv)
}

fn mat_mul(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    // A list of scales has one for each row of the first matrix, and one for each column of the second.
    let (a, b) = (reals(ctx, 0, 1, -2)?, reals(ctx, 3, 4, -1)?);
    let to = Scales::at(ctx, 6, -1)?;
    between(ctx, vec![Some(a), Some(b)], &to, elem, |c| {
        let result = product(c, &c.operand(0)?, &c.operand(1)?)?;
        c.give(0, result);
        Ok(())
    })
}

fn binary(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    let (a, b) = (reals(ctx, 0, 1, 1)?, reals(ctx, 3, 4, 1)?);
    let to = Scales::at(ctx, 6, 1)?;
    let result = two(ctx, binary, &a, &b, ElementType::F32)?;
    ctx.give(0, Value::Computed(result));
    quantize_result(ctx, &to, elem)
}

/// An operator with a single tensor, its scale and zero point, and those of the result.
fn single(ctx: &mut NodeLowering<'_>, lower: Lower) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    let (x, to) = (reals(ctx, 0, 1, 1)?, Scales::at(ctx, 3, 1)?);
    between(ctx, vec![Some(x)], &to, elem, lower)
}

fn single_image(ctx: &mut NodeLowering<'_>, lower: Lower) -> Result<(), Problem> {
    if ctx.flag("channels_last", false)? {
        return Err(Problem::unsupported("its channels are on the last axis"));
    }
    single(ctx, lower)
}

fn elementwise(
    ctx: &mut NodeLowering<'_>,
    unary: impl Fn(&NodeLowering<'_>) -> Result<Unary, Problem>,
) -> Result<(), Problem> {
    let (x, unary) = (ctx.computed(0)?, unary(ctx)?);
    let result = one(ctx, unary, &x, ElementType::F32)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// The operator set whose rules apply is an attribute.
fn softmax_of_opset(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    ctx.opset = ctx.int("opset")?.unwrap_or(0);
    softmax(ctx, false)
}

/// The scale of the result comes first, then each operand with its own.
fn concat(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let to = Scales::at(ctx, 0, 1)?;
    let mut parts = Vec::new();
    let mut elem = ElementType::U8;
    for position in (2..ctx.count()).step_by(3) {
        elem = ctx.operand(position)?.element_type();
        parts.push(reals(ctx, position, position + 1, 1)?);
    }
    let rank = parts.first().map_or(0, |value| value.dims().len());
    let along = axis(ctx.int("axis")?.unwrap_or(1), rank)?;
    let result = joined(ctx, &parts, along)?;
    ctx.give(0, result);
    quantize_result(ctx, &to, elem)
}

/// A result without a scale stays real.
fn matrices(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let elem = ctx.operand(0)?.element_type();
    let (alpha, columns) = (ctx.float("alpha", 1.0)?, if ctx.flag("transB", false)? { 0 } else { 1 });
    let (a, b) = (reals(ctx, 0, 1, 0)?, reals(ctx, 3, 4, columns)?);
    let biases = biases(ctx, 6, [1, 4], alpha)?;
    let to = ctx.optional(7).map(|_| Scales::at(ctx, 7, 1)).transpose()?;
    ctx.operands = vec![Some(a), Some(b), biases];
    gemm(ctx)?;
    match to {
        Some(to) => quantize_result(ctx, &to, elem),
        None => Ok(()),
    }
}

/// Sets the product of matrices of whole numbers, scaled, plus biases if there are any. Whole numbers are multiplied first,
/// because later nodes may round what is computed from them.
fn answer(
    ctx: &mut NodeLowering<'_>,
    [a, b]: [&Value; 2],
    scales: [&Value; 2],
    bias: Option<&Value>,
) -> Result<(), Problem> {
    let scale = apply(ctx, Binary::Mul, scales[0], scales[1])?;
    let whole = product(ctx, a, b)?;
    let mut result = apply(ctx, Binary::Mul, &whole, &scale)?;
    if let Some(bias) = bias {
        result = Value::Computed(two(ctx, Binary::Add, &result, bias, ElementType::F32)?);
    }
    ctx.give(0, result);
    Ok(())
}

/// Returns the axis of the columns of an operand.
fn columns(ctx: &NodeLowering<'_>, position: usize) -> Result<usize, Problem> {
    Ok(ctx.operand(position)?.dims().len().saturating_sub(1))
}

fn to_float(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let along = columns(ctx, 1)?;
    let (a, b) = (shifted(ctx, 0, 4, 0)?, shifted(ctx, 1, 5, along)?);
    let (scales, bias) = ([ctx.operand(2)?, ctx.operand(3)?], ctx.optional(6));
    if scales[0].len() != 1 {
        return Err(Problem::unsupported("its first matrix has several scales"));
    }
    answer(ctx, [&a, &b], scales.each_ref(), bias.as_ref())
}

fn dynamic_mat_mul(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, along) = (ctx.computed(0)?, columns(ctx, 1)?);
    let dynamic = Dynamic::of(ctx, &x)?;
    let [a, scale] = [dynamic.integers(ctx, true)?, dynamic.scale(ctx)?].map(Value::Computed);
    let b = shifted(ctx, 1, 3, along)?;
    let (of_columns, bias) = (ctx.operand(2)?, ctx.optional(4));
    answer(ctx, [&a, &b], [&scale, &of_columns], bias.as_ref())
}

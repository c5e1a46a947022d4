//! Lowers operators of ONNX Runtime's optimiser, each of which stands for several operators of ONNX, and the scaler that
//! scikit-learn's networks begin with.

use super::{
    basic::{one, two},
    conv::conv,
    matmul::product,
    norm::{layer, rms},
    shapes::transposed,
};
use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{Any, ChannelsSecond},
            OF_RUNTIME, OnnxOpEntry,
        },
        value::Value,
    },
    op_registry::{Floats, Numbers},
};
use texpool_ops::graph::{Binary, ElementType, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("FusedMatMul", 1, Floats, "binary, dense, matmul", Any, mat_mul)
        .domain(OF_RUNTIME)
        .limits("batches are not transposed"),
    OnnxOpEntry::new("FusedConv", 1, Floats, "binary, conv, depthwise, unary", ChannelsSecond, convolution)
        .domain(OF_RUNTIME)
        .limits("one or two dimensions; weights and biases must be known"),
    OnnxOpEntry::new("BiasGelu", 1, Floats, "binary, unary", Any, |c| biased(c, Unary::Gelu)).domain(OF_RUNTIME),
    OnnxOpEntry::new("FastGelu", 1, Floats, "binary, unary", Any, |c| biased(c, Unary::GeluTanh)).domain(OF_RUNTIME),
    OnnxOpEntry::new("SkipLayerNormalization", 1, Floats, "binary, normalize", Any, |c| skip(c, 4, layer))
        .domain(OF_RUNTIME)
        .limits("without the mean and deviation as results"),
    OnnxOpEntry::new("SkipSimplifiedLayerNormalization", 1, Floats, "binary, normalize", Any, |c| skip(c, 3, rms))
        .domain(OF_RUNTIME)
        .limits("without the mean and deviation as results"),
    OnnxOpEntry::new("Scaler", 1, Numbers, "binary", Any, scaler).domain("ai.onnx.ml"),
];

fn add(ctx: &mut NodeLowering<'_>, a: &Value, b: Option<&Value>) -> Result<Value, Problem> {
    match b {
        Some(b) => Ok(Value::Computed(two(ctx, Binary::Add, a, b, a.element_type())?)),
        None => Ok(a.clone()),
    }
}

/// Returns a matrix with its last two axes exchanged. A vector stays as it is.
fn turned(ctx: &mut NodeLowering<'_>, value: Value) -> Result<Value, Problem> {
    let rank = value.dims().len();
    if rank < 2 {
        return Ok(value);
    }
    let perm: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    transposed(ctx.lowering, &value, &perm)
}

fn mat_mul(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.flag("transBatchA", false)? || ctx.flag("transBatchB", false)? {
        return Err(Problem::unsupported("it transposes batches"));
    }
    let [mut a, mut b] = [ctx.operand(0)?, ctx.operand(1)?];
    if ctx.flag("transA", false)? {
        a = turned(ctx, a)?;
    }
    if ctx.flag("transB", false)? {
        b = turned(ctx, b)?;
    }
    let mut result = product(ctx, &a, &b)?;
    let alpha = ctx.float("alpha", 1.0)?;
    if alpha != 1.0 {
        result = Value::Computed(two(ctx, Binary::Mul, &result, &math::scalar(alpha), a.element_type())?);
    }
    ctx.give(0, result);
    Ok(())
}

/// Returns the activation that a node's attributes name.
fn activation(ctx: &NodeLowering<'_>) -> Result<Option<Unary>, Problem> {
    let params = ctx.floats("activation_params").unwrap_or_default();
    let param = |position: usize, default: f32| params.get(position).copied().unwrap_or(default);
    Ok(Some(match ctx.text("activation", "")?.as_str() {
        "" => return Ok(None),
        "Relu" => Unary::Relu,
        "Sigmoid" => Unary::Logistic,
        "Tanh" => Unary::Tanh,
        "LeakyRelu" => Unary::LeakyRelu { alpha: param(0, 0.01) },
        "Clip" => Unary::Clip { min: param(0, f32::MIN), max: param(1, f32::MAX) },
        "HardSigmoid" => Unary::HardSigmoid { alpha: param(0, 0.2), beta: param(1, 0.5) },
        other => return Err(Problem::unsupported(format!("its activation is `{other}`"))),
    }))
}

/// A tensor that is operand 3 is added before the activation.
fn convolution(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let activation = activation(ctx)?;
    conv(ctx)?;
    let addend = ctx.optional(3);
    let Some(Some(result)) = ctx.results.first().cloned() else { return Ok(()) };
    let mut result = add(ctx, &result, addend.as_ref())?;
    if let Some(unary) = activation {
        let x = ctx.compute(&result)?;
        result = Value::Computed(one(ctx, unary, &x, x.elem)?);
    }
    ctx.give(0, result);
    Ok(())
}

fn biased(ctx: &mut NodeLowering<'_>, unary: Unary) -> Result<(), Problem> {
    let (x, bias) = (ctx.operand(0)?, ctx.optional(1));
    let sum = add(ctx, &x, bias.as_ref())?;
    let sum = ctx.compute(&sum)?;
    let result = one(ctx, unary, &sum, sum.elem)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Normalises the sum of two tensors and a bias, which is operand `bias`. The sum may be a result, too.
fn skip(
    ctx: &mut NodeLowering<'_>,
    bias: usize,
    normalize: fn(&mut NodeLowering<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    if ctx.wants(1) || ctx.wants(2) {
        return Err(Problem::unsupported("its mean or deviation is read"));
    }
    let [x, skipped] = [ctx.operand(0)?, ctx.operand(1)?];
    let sum = add(ctx, &x, Some(&skipped))?;
    let sum = add(ctx, &sum, ctx.optional(bias).as_ref())?;
    let scales = if bias == 4 { vec![ctx.optional(2), ctx.optional(3)] } else { vec![ctx.optional(2)] };
    ctx.operands = [vec![Some(sum.clone())], scales].concat();
    normalize(ctx)?;
    ctx.give(3, sum);
    Ok(())
}

/// Subtracts an offset from each feature, or from all, and multiplies by a scale.
fn scaler(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let mut result = ctx.operand(0)?;
    for (name, binary) in [("offset", Binary::Sub), ("scale", Binary::Mul)] {
        if let Some(list) = ctx.floats(name).filter(|list| !list.is_empty()) {
            ctx.budget_for(&[list.len()], 2 * size_of::<f32>(), 1)?;
            let by = Value::Known(Array::of_floats(vec![list.len()], ElementType::F32, &list));
            result = Value::Computed(two(ctx, binary, &result, &by, ElementType::F32)?);
        }
    }
    ctx.give(0, result);
    Ok(())
}

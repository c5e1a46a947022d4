//! Lowers operators of ONNX Runtime's optimiser, each of which stands for several operators of ONNX.

use super::{
    basic::{one, two},
    conv::conv,
    matmul::{gemm, product},
    norm::{layer, rms},
    reduce::reduced_over,
    rotary::rows,
    shapes::{reshaped, transposed},
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
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, ReduceKind, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("FusedMatMul", 1, Floats, "binary, dense, matmul", Any, mat_mul)
        .domain(OF_RUNTIME)
        .limits("batches are not transposed"),
    OnnxOpEntry::new("FusedConv", 1, Floats, "binary, conv, depthwise, unary", ChannelsSecond, convolution)
        .domain(OF_RUNTIME)
        .limits("one to three dimensions; weights and biases must be known"),
    OnnxOpEntry::new("FusedGemm", 1, Floats, "binary, dense, matmul, unary", Any, activated_gemm).domain(OF_RUNTIME),
    OnnxOpEntry::new("BiasGelu", 1, Floats, "binary, unary", Any, |c| biased(c, Unary::Gelu)).domain(OF_RUNTIME),
    OnnxOpEntry::new("FastGelu", 1, Floats, "binary, unary", Any, |c| biased(c, Unary::GeluTanh)).domain(OF_RUNTIME),
    OnnxOpEntry::new("SkipLayerNormalization", 1, Floats, "binary, normalize", Any, |c| skip(c, 4, layer))
        .domain(OF_RUNTIME)
        .limits("without the mean and deviation as results"),
    OnnxOpEntry::new("SkipSimplifiedLayerNormalization", 1, Floats, "binary, normalize", Any, |c| skip(c, 3, rms))
        .domain(OF_RUNTIME)
        .limits("without the mean and deviation as results"),
    OnnxOpEntry::new("EmbedLayerNormalization", 1, Floats, "binary, gather, normalize, reduce", Any, embedded)
        .domain(OF_RUNTIME),
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

/// Returns the activation that a node's attributes name, with its parameters.
fn activation(ctx: &NodeLowering<'_>, params: &[f32]) -> Result<Option<Unary>, Problem> {
    let param = |position: usize, default: f32| params.get(position).copied().unwrap_or(default);
    Ok(Some(match ctx.text("activation", "")?.as_str() {
        "" => return Ok(None),
        "Relu" => Unary::Relu,
        "Sigmoid" => Unary::Logistic,
        "Tanh" => Unary::Tanh,
        "LeakyRelu" => Unary::LeakyRelu { alpha: param(0, 0.01) },
        "Clip" => Unary::Clip { min: param(0, f32::MIN), max: param(1, f32::MAX) },
        "HardSigmoid" => Unary::HardSigmoid { alpha: param(0, 0.2), beta: param(1, 0.5) },
        "Elu" => Unary::Elu { alpha: param(0, 1.0) },
        "Selu" => Unary::Selu { alpha: param(0, 1.673_263_2), gamma: param(1, 1.050_701) },
        "ThresholdedRelu" => Unary::ThresholdedRelu { alpha: param(0, 1.0) },
        "Softplus" => Unary::Softplus,
        "Softsign" => Unary::Softsign,
        other => return Err(Problem::unsupported(format!("its activation is `{other}`"))),
    }))
}

/// A tensor that is operand 3 is added before the activation.
fn convolution(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let params = ctx.floats("activation_params").unwrap_or_default();
    let activation = activation(ctx, &params)?;
    conv(ctx)?;
    let addend = ctx.optional(3);
    let Some(Some(result)) = ctx.results.first().cloned() else { return Ok(()) };
    let result = add(ctx, &result, addend.as_ref())?;
    give_activated(ctx, &result, activation)
}

/// Sets the result to an activation of a value.
fn give_activated(ctx: &mut NodeLowering<'_>, value: &Value, activation: Option<Unary>) -> Result<(), Problem> {
    let mut x = ctx.compute(value)?;
    if let Some(unary) = activation {
        x = one(ctx, unary, &x, x.elem)?;
    }
    ctx.give(0, Value::Computed(x));
    Ok(())
}

fn activated_gemm(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let mut params = Vec::new();
    for name in ["activation_alpha", "activation_beta", "activation_gamma"] {
        if ctx.has(name) {
            params.push(ctx.float(name, 0.0)?);
        }
    }
    let activation = activation(ctx, &params)?;
    gemm(ctx)?;
    let Some(Some(result)) = ctx.results.first().cloned() else { return Ok(()) };
    give_activated(ctx, &result, activation)
}

/// Normalises the sum of the rows that words, places and segments have in their tables.
fn embedded(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [words, table, by_place] = [ctx.operand(0)?, ctx.operand(2)?, ctx.operand(3)?];
    let &[batch, count] = words.dims() else {
        return Err(Problem::malformed(format!("its words are {:?}", words.dims())));
    };
    let places = match ctx.optional(8) {
        Some(places) => places,
        None => Value::integers((0..ctx.budget_for(&[count], 2 * size_of::<i64>(), 1)? as i64).collect()),
    };
    let found = rows(ctx, &table, &words)?;
    let of_places = rows(ctx, &by_place, &places)?;
    let mut sum = add(ctx, &found, Some(&of_places))?;
    if let (Some(segments), Some(table)) = (ctx.optional(1), ctx.optional(4)) {
        let of_segments = rows(ctx, &table, &segments)?;
        sum = add(ctx, &sum, Some(&of_segments))?;
    }
    // A mask tells how many words there are.
    if ctx.wants(1) {
        let numbers = match ctx.optional(7) {
            Some(mask) => {
                let mask = ctx.compute(&mask)?;
                let numbers = Value::Computed(reduced_over(ctx, &mask, ReduceKind::Sum, &[1])?);
                reshaped(ctx.lowering, &numbers, &[batch])?
            }
            None => Value::Known(Array::of_ints(vec![batch], ElementType::I32, vec![0; batch])),
        };
        ctx.give(1, numbers);
    }
    ctx.give(2, sum.clone());
    let (scale, shift) = (ctx.optional(5), ctx.optional(6));
    normalised_alone(ctx, vec![Some(sum), scale, shift], layer)
}

/// Normalises the first of these operands, in place of the node's. Sets the first result alone.
fn normalised_alone(
    ctx: &mut NodeLowering<'_>,
    operands: Vec<Option<Value>>,
    normalize: fn(&mut NodeLowering<'_>, f32) -> Result<(), Problem>,
) -> Result<(), Problem> {
    ctx.operands = operands;
    let read = std::mem::replace(&mut ctx.read, vec![true]);
    let outcome = normalize(ctx, EPSILON);
    ctx.read = read;
    outcome
}

/// Summand of a variance in ONNX Runtime if a node does not state it.
const EPSILON: f32 = 1e-12;

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
    normalize: fn(&mut NodeLowering<'_>, f32) -> Result<(), Problem>,
) -> Result<(), Problem> {
    if ctx.wants(1) || ctx.wants(2) {
        return Err(Problem::unsupported("its mean or deviation is read"));
    }
    let [x, skipped] = [ctx.operand(0)?, ctx.operand(1)?];
    let sum = add(ctx, &x, Some(&skipped))?;
    let sum = add(ctx, &sum, ctx.optional(bias).as_ref())?;
    let scales = if bias == 4 { vec![ctx.optional(2), ctx.optional(3)] } else { vec![ctx.optional(2)] };
    ctx.give(3, sum.clone());
    normalised_alone(ctx, [vec![Some(sum)], scales].concat(), normalize)
}

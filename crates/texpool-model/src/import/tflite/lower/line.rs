//! Lowers operators that work on whole lines of values: matrix products, cumulative sums, TopK and norms.

use super::{activation::activation, axes::fold};
use crate::import::{
    common::axes::axis,
    error::Problem,
    op_registry::{Floats, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
        schema::{BatchMatMulOptions, CumsumOptions, L2NormOptions, LrnOptions},
    },
};
use texpool_ops::graph::{Act, CumSum, Lrn, MatMul, Normalize, Op, Shape, Statistic, TensorId, TopK, Transpose};

/// Lower limit for norms in TensorFlow Lite's reference implementation.
const LEAST_NORM: f32 = 1e-6;

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("BATCH_MATMUL", LikeOnnx("MatMul"), matmul),
    TfLiteOpEntry::new("LOCAL_RESPONSE_NORMALIZATION", LikeOnnx("LRN"), lrn),
    TfLiteOpEntry::new("CUMSUM", LikeOnnx("CumSum"), cum_sum),
    TfLiteOpEntry::new("TOPK_V2", LikeOnnx("TopK"), top_k).several_results(),
    TfLiteOpEntry::new(
        "L2_NORMALIZATION",
        Alone(Support::new(Floats, "normalize").limits("over the last axis")),
        l2_normalization,
    ),
];

/// Returns a stack of matrices as the last two of four axes. Supports at most two stacking axes.
fn stack(ctx: &mut OperatorLowering<'_, '_>, id: TensorId) -> Result<TensorId, Problem> {
    let dims = ctx.dims(id);
    if dims.len() < 2 {
        return Err(Problem::malformed(format!("{dims:?} is no matrix")));
    }
    match Shape::from_dims(dims) {
        Some(shape) => ctx.view(id, shape),
        None => Err(Problem::unsupported(format!("it stacks matrices along more than two axes: {dims:?}"))),
    }
}

/// Exchanges rows and columns.
fn turned(ctx: &mut OperatorLowering<'_, '_>, id: TensorId) -> Result<TensorId, Problem> {
    let shape = ctx.shape(id);
    ctx.between(Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[id], Shape { w: shape.c, c: shape.w, ..shape })
}

fn matmul(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let options = ctx.options::<BatchMatMulOptions<'static>>()?;
    let (a, b) = (ctx.operand(0)?, ctx.operand(1)?);
    let (mut a, b) = (stack(ctx, a)?, stack(ctx, b)?);
    if options.adj_x() {
        a = turned(ctx, a)?;
    }
    ctx.emit(Op::MatMul(MatMul { transpose_b: options.adj_y() }), &[a, b], Act::None)
}

fn cum_sum(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let options = ctx.options::<CumsumOptions<'static>>()?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let along = axis(ctx.integer(1, "axis")?, dims.len())?;
    ctx.gives(&dims)?;
    let folded = fold(&dims, |axis| axis.cmp(&along), |axis| axis != along)?;
    let x = ctx.view(x, folded.extents.into())?;
    let op = Op::CumSum(CumSum { axis: folded.of[along], exclusive: options.exclusive(), reverse: options.reverse() });
    ctx.emit_as(op, &[x], Act::None, folded.extents.into())
}

/// The first result contains the values, the second their indices, along the last axis.
fn top_k(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    ctx.results(2)?;
    let x = ctx.operand(0)?;
    let k = usize::try_from(ctx.integer(1, "number")?).unwrap_or(0);
    let mut dims = ctx.dims(x).to_vec();
    match dims.last_mut() {
        Some(last) if (1..=*last).contains(&k) => *last = k,
        _ => return Err(Problem::malformed(format!("the greatest {k} of {dims:?}"))),
    }
    for (result, indices) in [false, true].into_iter().enumerate() {
        ctx.select(result)?;
        ctx.gives(&dims)?;
        ctx.emit(Op::TopK(TopK { k, largest: true, indices }), &[x], Act::None)?;
    }
    Ok(())
}

/// Divides every pixel by its norm.
fn l2_normalization(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let act = activation(ctx.options::<L2NormOptions<'static>>()?.activation())?;
    let x = ctx.operand(0)?;
    ctx.gives_like(x)?;
    let axes = [false, false, false, true];
    let norm = Normalize { least: LEAST_NORM, ..Normalize::new(axes, Statistic::SumSquare, 0.0) };
    ctx.emit(Op::Normalize(norm), &[x], act)
}

/// The window covers `radius` channels on both sides.
fn lrn(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let options = ctx.options::<LrnOptions<'static>>()?;
    let radius = usize::try_from(options.radius()).ok().filter(|&radius| radius <= texpool_ops::graph::MAX_ELEMENTS);
    let size = radius.ok_or_else(|| Problem::malformed(format!("its radius is {}", options.radius())))? * 2 + 1;
    let x = ctx.operand(0)?;
    ctx.gives_like(x)?;
    // Multiplied here because ONNX's alpha is divided by the size of the window.
    let op = Op::Lrn(Lrn { size, alpha: options.alpha() * size as f32, beta: options.beta(), bias: options.bias() });
    ctx.emit(op, &[x], Act::None)
}

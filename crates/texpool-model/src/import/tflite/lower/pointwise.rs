//! Lowers elementwise operators, reductions, softmax and log-softmax.

use super::{activation::activation, axes::fold, fourier::real};
use crate::import::{
    common::{axes::axis, extents, graph::selected_parts},
    error::Problem,
    op_registry::{All, Floats, Numbers, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
        schema::{
            AddOptions, DivOptions, GeluOptions, LeakyReluOptions, MulOptions, ReducerOptions, SoftmaxOptions,
            SubOptions,
        },
    },
};
use texpool_ops::graph::{Act, Binary, Constant, Op, Reduce, ReduceKind, Shape, Softmax, TensorId, Unary};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("ADD", LikeOnnx("Add"), add),
    TfLiteOpEntry::new("SUB", LikeOnnx("Sub"), sub),
    TfLiteOpEntry::new("MUL", LikeOnnx("Mul"), mul),
    TfLiteOpEntry::new("DIV", LikeOnnx("Div"), div),
    TfLiteOpEntry::new("POW", LikeOnnx("Pow"), |c| binary(c, Binary::Pow, 0)),
    TfLiteOpEntry::new("FLOOR_MOD", LikeOnnx("Mod"), |c| binary(c, Binary::Mod, 0)),
    TfLiteOpEntry::new("MAXIMUM", LikeOnnx("Max"), |c| binary(c, Binary::Maximum, 0)),
    TfLiteOpEntry::new("MINIMUM", LikeOnnx("Min"), |c| binary(c, Binary::Minimum, 0)),
    TfLiteOpEntry::new("ADD_N", LikeOnnx("Sum"), add_n),
    TfLiteOpEntry::new("EQUAL", LikeOnnx("Equal"), |c| binary(c, Binary::Equal, 0)),
    TfLiteOpEntry::new("LESS", LikeOnnx("Less"), |c| binary(c, Binary::Less, 0)),
    TfLiteOpEntry::new("LESS_EQUAL", LikeOnnx("LessOrEqual"), |c| binary(c, Binary::LessEqual, 0)),
    TfLiteOpEntry::new("GREATER", LikeOnnx("Greater"), |c| binary(c, Binary::Greater, 0)),
    TfLiteOpEntry::new("GREATER_EQUAL", LikeOnnx("GreaterOrEqual"), |c| binary(c, Binary::GreaterEqual, 0)),
    TfLiteOpEntry::new("LOGICAL_AND", LikeOnnx("And"), |c| logic(c, Binary::And, false)),
    TfLiteOpEntry::new("LOGICAL_OR", LikeOnnx("Or"), |c| logic(c, Binary::Or, true)),
    TfLiteOpEntry::new("SELECT", LikeOnnx("Where"), |c| select(c, true)),
    TfLiteOpEntry::new("SELECT_V2", LikeOnnx("Where"), |c| select(c, false)),
    TfLiteOpEntry::new("PRELU", LikeOnnx("PRelu"), prelu),
    TfLiteOpEntry::new("MEAN", LikeOnnx("ReduceMean"), |c| reduce(c, ReduceKind::Mean)),
    TfLiteOpEntry::new("SUM", LikeOnnx("ReduceSum"), |c| reduce(c, ReduceKind::Sum)),
    TfLiteOpEntry::new("REDUCE_MAX", LikeOnnx("ReduceMax"), |c| reduce(c, ReduceKind::Max)),
    // Truth values are 0 or 1, so the maximum is true if any is true, and the minimum if all are.
    TfLiteOpEntry::new("REDUCE_ANY", LikeOnnx("ReduceMax"), |c| reduce(c, ReduceKind::Max)),
    TfLiteOpEntry::new("REDUCE_MIN", LikeOnnx("ReduceMin"), |c| reduce(c, ReduceKind::Min)),
    TfLiteOpEntry::new("REDUCE_ALL", LikeOnnx("ReduceMin"), |c| reduce(c, ReduceKind::Min)),
    TfLiteOpEntry::new("REDUCE_PROD", LikeOnnx("ReduceProd"), |c| reduce(c, ReduceKind::Prod)),
    TfLiteOpEntry::new("ARG_MAX", LikeOnnx("ArgMax"), |c| index_of(c, ReduceKind::ArgMax { last: false })),
    TfLiteOpEntry::new("ARG_MIN", LikeOnnx("ArgMin"), |c| index_of(c, ReduceKind::ArgMin { last: false })),
    TfLiteOpEntry::new("SOFTMAX", LikeOnnx("Softmax"), |c| softmax(c, false)),
    TfLiteOpEntry::new("LOG_SOFTMAX", LikeOnnx("LogSoftmax"), |c| softmax(c, true)),
    TfLiteOpEntry::new("RELU", LikeOnnx("Relu"), |c| unary(c, Unary::Relu)),
    TfLiteOpEntry::new("LEAKY_RELU", LikeOnnx("LeakyRelu"), leaky_relu),
    TfLiteOpEntry::new("ELU", LikeOnnx("Elu"), |c| unary(c, Unary::Elu { alpha: 1.0 })),
    TfLiteOpEntry::new("HARD_SWISH", LikeOnnx("HardSwish"), |c| unary(c, Unary::HardSwish)),
    TfLiteOpEntry::new("RELU6", LikeOnnx("Clip"), |c| unary(c, Unary::Relu6)),
    TfLiteOpEntry::new("RELU_N1_TO_1", LikeOnnx("Clip"), |c| unary(c, Unary::ReluN1To1)),
    TfLiteOpEntry::new("RELU_0_TO_1", LikeOnnx("Clip"), |c| unary(c, Unary::Clip { min: 0.0, max: 1.0 })),
    TfLiteOpEntry::new("LOGISTIC", LikeOnnx("Sigmoid"), |c| unary(c, Unary::Logistic)),
    TfLiteOpEntry::new("TANH", LikeOnnx("Tanh"), |c| unary(c, Unary::Tanh)),
    TfLiteOpEntry::new("GELU", LikeOnnx("Gelu"), gelu),
    TfLiteOpEntry::new("EXP", LikeOnnx("Exp"), |c| unary(c, Unary::Exp)),
    TfLiteOpEntry::new("LOG", LikeOnnx("Log"), |c| unary(c, Unary::Log)),
    TfLiteOpEntry::new("SQRT", LikeOnnx("Sqrt"), |c| unary(c, Unary::Sqrt)),
    TfLiteOpEntry::new("ABS", LikeOnnx("Abs"), |c| unary(c, Unary::Abs)),
    TfLiteOpEntry::new("NEG", LikeOnnx("Neg"), |c| unary(c, Unary::Neg)),
    TfLiteOpEntry::new("SIGN", LikeOnnx("Sign"), |c| unary(c, Unary::Sign)),
    TfLiteOpEntry::new("SIN", LikeOnnx("Sin"), |c| unary(c, Unary::Sin)),
    TfLiteOpEntry::new("COS", LikeOnnx("Cos"), |c| unary(c, Unary::Cos)),
    TfLiteOpEntry::new("FLOOR", LikeOnnx("Floor"), |c| unary(c, Unary::Floor)),
    TfLiteOpEntry::new("CEIL", LikeOnnx("Ceil"), |c| unary(c, Unary::Ceil)),
    TfLiteOpEntry::new("ROUND", LikeOnnx("Round"), |c| unary(c, Unary::Round)),
    TfLiteOpEntry::new("LOGICAL_NOT", LikeOnnx("Not"), |c| unary(c, Unary::Not)),
    TfLiteOpEntry::new("CAST", LikeOnnx("Cast"), cast),
    TfLiteOpEntry::new("RSQRT", Alone(Support::new(Floats, "unary")), |c| unary(c, Unary::Rsqrt)),
    TfLiteOpEntry::new("SQUARE", Alone(Support::new(Floats, "unary")), |c| unary(c, Unary::Square)),
    TfLiteOpEntry::new("SQUARED_DIFFERENCE", Alone(Support::new(Numbers, "binary")), |c| {
        binary(c, Binary::SquaredDifference, 0)
    }),
    TfLiteOpEntry::new("FLOOR_DIV", Alone(Support::new(Numbers, "binary")), |c| binary(c, Binary::FloorDiv, 0)),
    TfLiteOpEntry::new("NOT_EQUAL", Alone(Support::new(All, "binary")), |c| binary(c, Binary::NotEqual, 0)),
];

fn unary(ctx: &mut OperatorLowering<'_, '_>, unary: Unary) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    ctx.gives_like(x)?;
    ctx.emit(Op::Unary(unary), &[x], Act::None)
}

fn binary(ctx: &mut OperatorLowering<'_, '_>, binary: Binary, fused: i8) -> Result<(), Problem> {
    broadcast(ctx, Op::Binary(binary), activation(fused)?)
}

fn add(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<AddOptions<'static>>()?.activation();
    arithmetic(ctx, Binary::Add, act)
}

fn sub(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<SubOptions<'static>>()?.activation();
    arithmetic(ctx, Binary::Sub, act)
}

fn mul(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<MulOptions<'static>>()?.activation();
    arithmetic(ctx, Binary::Mul, act)
}

/// Adds a sum, difference or product. Of operands with the same extents, integers are computed as the runtimes do.
fn arithmetic(ctx: &mut OperatorLowering<'_, '_>, function: Binary, fused: i8) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let inputs = [ctx.operand(0)?, ctx.operand(1)?];
    if ctx.dims(inputs[0]) != ctx.dims(inputs[1]) {
        return binary(ctx, function, fused);
    }
    ctx.gives_like(inputs[0])?;
    let act = activation(fused)?;
    if function == Binary::Mul { ctx.emit_product(inputs, act) } else { ctx.emit_sum(function, inputs, act) }
}

/// Adds up all operands, which must have the same extents.
fn add_n(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let mut sum = ctx.operand(0)?;
    let (dims, shape) = (ctx.dims(sum).to_vec(), ctx.shape(sum));
    ctx.gives(&dims)?;
    // There is at least one operand, which was just read.
    let last = ctx.operand_count() - 1;
    for position in 1..=last {
        let next = ctx.operand(position)?;
        if ctx.dims(next) != dims {
            return Err(Problem::malformed(format!("{dims:?} and {:?} are added up", ctx.dims(next))));
        }
        if position == last {
            return ctx.emit(Op::Binary(Binary::Add), &[sum, next], Act::None);
        }
        sum = ctx.between(Op::Binary(Binary::Add), &[sum, next], shape)?;
    }
    ctx.pass_on()
}

/// A single truth value that decides alone makes the result known, so that a loop ends on import when its counter does.
fn logic(ctx: &mut OperatorLowering<'_, '_>, binary_op: Binary, deciding: bool) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let operands = [ctx.operand(0)?, ctx.operand(1)?];
    let is_deciding = |&id: &TensorId| ctx.known_number(id).is_some_and(|truth| (truth != 0.0) == deciding);
    let is_single = operands.iter().all(|&id| ctx.shape(id).len() == 1);
    if !is_single || !operands.iter().any(is_deciding) {
        return binary(ctx, binary_op, 0);
    }
    let dims = extents::broadcast(&operands.map(|id| ctx.dims(id)))?;
    ctx.give_constant(&dims, Constant::from_i32(&[i32::from(deciding)]))
}

/// Division of integers truncates towards zero.
fn div(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<DivOptions<'static>>()?.activation();
    let [whole, _] = ctx.gives_integers();
    binary(ctx, if whole { Binary::TruncDiv } else { Binary::Div }, act)
}

fn leaky_relu(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let alpha = ctx.options::<LeakyReluOptions<'static>>()?.alpha();
    unary(ctx, Unary::LeakyRelu { alpha })
}

fn gelu(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let approximate = ctx.options::<GeluOptions<'static>>()?.approximate();
    unary(ctx, if approximate { Unary::GeluTanh } else { Unary::Gelu })
}

fn prelu(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    broadcast(ctx, Op::Prelu, Act::None)
}

/// Operands in shapes that broadcast, and the extents of the result.
struct BroadcastOperands {
    views: Vec<TensorId>,
    dims: Vec<usize>,
    shape: Shape,
}

fn broadcast_operands(ctx: &mut OperatorLowering<'_, '_>, inputs: &[TensorId]) -> Result<BroadcastOperands, Problem> {
    let dims = extents::broadcast(&inputs.iter().map(|&id| ctx.dims(id)).collect::<Vec<_>>())?;
    let all: Vec<Vec<usize>> = inputs.iter().map(|&id| extents::with_leading_ones(ctx.dims(id), dims.len())).collect();
    // Neighbouring axes can be merged if each operand is broadcast along both or along neither.
    let role = |axis: usize| all.iter().map(|other| other[axis] == dims[axis]).collect::<Vec<_>>();
    let axes = fold(&dims, role, |_| true)?;
    let mut views = Vec::with_capacity(inputs.len());
    for (&id, other) in inputs.iter().zip(&all) {
        let mut extents = [1; 4];
        other.iter().zip(&axes.of).for_each(|(extent, &slot)| extents[slot] *= extent);
        views.push(ctx.view(id, extents.into())?);
    }
    Ok(BroadcastOperands { views, dims, shape: axes.extents.into() })
}

fn broadcast(ctx: &mut OperatorLowering<'_, '_>, op: Op, act: Act) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let inputs = [ctx.operand(0)?, ctx.operand(1)?];
    let BroadcastOperands { views, dims, shape } = broadcast_operands(ctx, &inputs)?;
    ctx.gives(&dims)?;
    ctx.emit_as(op, &views, act, shape)
}

/// Selects between two values by a condition. In the first version of the operator, a condition with one axis selects
/// whole rows.
fn select(ctx: &mut OperatorLowering<'_, '_>, rows: bool) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let [mut condition, yes, no] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    let rank = ctx.dims(yes).len();
    if let (true, &[extent]) = (rows && rank > 1, ctx.dims(condition)) {
        let mut dims = vec![1; rank];
        dims[0] = extent;
        condition = ctx.view_as(condition, &dims)?;
    }
    let BroadcastOperands { views, dims, shape } = broadcast_operands(ctx, &[condition, yes, no])?;
    ctx.gives(&dims)?;
    let node = |binary, [a, b]: [&TensorId; 2]| ctx.between(Op::Binary(binary), &[*a, *b], shape);
    let parts = selected_parts(&views[0], [&views[1], &views[2]], node)?;
    ctx.emit_as(Op::Binary(Binary::Add), &parts, Act::None, shape)
}

/// Reduces over the axes listed in the second operand.
fn reduce(ctx: &mut OperatorLowering<'_, '_>, kind: ReduceKind) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let keep = ctx.options::<ReducerOptions<'static>>()?.keep_dims();
    let listed = ctx.integers(1, "axes")?;
    reduce_over(ctx, kind, &listed, keep)
}

/// Returns the index of the maximum or minimum along an axis, which is dropped.
fn index_of(ctx: &mut OperatorLowering<'_, '_>, kind: ReduceKind) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let along = ctx.integer(1, "axis")?;
    reduce_over(ctx, kind, &[along], false)
}

fn reduce_over(
    ctx: &mut OperatorLowering<'_, '_>,
    kind: ReduceKind,
    listed: &[i64],
    keep: bool,
) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let over = listed.iter().map(|&index| axis(index, dims.len())).collect::<Result<Vec<_>, _>>()?;
    ctx.gives(&extents::reduced(&dims, &over, keep))?;
    let reduced = |axis: usize| over.contains(&axis);
    // For ArgMax and ArgMin, an axis of one element must still be reduced: the result is index 0, not the element.
    let counts = |axis: usize| reduced(axis) && (dims[axis] > 1 || !kind.keeps_one());
    let folded = fold(&dims, reduced, |axis| !counts(axis))?;
    let mut axes = [false; 4];
    let mut shape = folded.extents;
    for (axis, &slot) in folded.of.iter().enumerate() {
        if counts(axis) {
            axes[slot] = true;
            shape[slot] = 1;
        }
    }
    let reduce = Reduce { kind, axes };
    if kind == ReduceKind::Mean && ctx.emit_reference_mean(x, folded.extents.into(), reduce, shape.into())? {
        return Ok(());
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::Reduce(reduce), &[x], Act::None, shape.into())
}

/// Converts to whole numbers, truth values or 16 bits, unless the operand already has them. Of a complex operand the
/// real part remains.
fn cast(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    if ctx.is_complex(0)? {
        return real(ctx);
    }
    let x = ctx.operand(0)?;
    match ctx.gives_integers() {
        [_, true] => unary(ctx, Unary::NotZero),
        [true, _] if !ctx.is_integer(x) => unary(ctx, Unary::Trunc),
        _ => ctx.pass_on(),
    }
}

/// Works on the last axis, for any rank.
fn softmax(ctx: &mut OperatorLowering<'_, '_>, log: bool) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let beta = if log { 1.0 } else { ctx.options::<SoftmaxOptions<'static>>()?.beta() };
    let x = ctx.operand(0)?;
    ctx.gives_like(x)?;
    ctx.emit(Op::Softmax(Softmax { beta, log }), &[x], Act::None)
}

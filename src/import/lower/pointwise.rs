//! Operators element by element, reductions, and SOFTMAX with its logarithm.

use super::{
    activation::activation,
    axes::{axis, fold},
};
use crate::{
    graph::{Act, Binary, Op, Reduce, Shape, TensorId, Unary},
    import::{
        context::Context,
        error::Problem,
        facts::{All, Fact, Floats, Numbers},
        schema::{
            AddOptions, DivOptions, GeluOptions, LeakyReluOptions, MulOptions, ReducerOptions, SoftmaxOptions,
            SubOptions,
        },
    },
};

pub(super) const FACTS: &[Fact] = &[
    Fact::tflite_alone("RSQRT", Floats, "unary", |c| unary(c, Unary::Rsqrt)),
    Fact::tflite_alone("SQUARE", Floats, "unary", |c| unary(c, Unary::Square)),
    Fact::tflite_alone("SQUARED_DIFFERENCE", Numbers, "binary", |c| binary(c, Binary::SquaredDifference, 0)),
    Fact::tflite_alone("FLOOR_DIV", Numbers, "binary", |c| binary(c, Binary::FloorDiv, 0)),
    Fact::tflite_alone("NOT_EQUAL", All, "binary", |c| binary(c, Binary::NotEqual, 0)),
];

pub(in crate::import) fn unary(ctx: &mut Context<'_, '_>, unary: Unary) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    ctx.gives(ctx.dims(x))?;
    ctx.emit(Op::Unary(unary), &[x], Act::None)
}

pub(in crate::import) fn binary(ctx: &mut Context<'_, '_>, binary: Binary, fused: i8) -> Result<(), Problem> {
    broadcast(ctx, Op::Binary(binary), activation(fused)?)
}

pub(in crate::import) fn add(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<AddOptions<'static>>()?.activation();
    binary(ctx, Binary::Add, act)
}

pub(in crate::import) fn sub(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<SubOptions<'static>>()?.activation();
    binary(ctx, Binary::Sub, act)
}

pub(in crate::import) fn mul(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<MulOptions<'static>>()?.activation();
    binary(ctx, Binary::Mul, act)
}

/// One operand after the other; all have the same extents.
pub(in crate::import) fn add_n(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let mut sum = ctx.operand(0)?;
    let (dims, shape) = (ctx.dims(sum).to_vec(), ctx.shape(sum));
    ctx.gives(&dims)?;
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

/// Whole numbers are divided towards zero.
pub(in crate::import) fn div(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let act = ctx.options::<DivOptions<'static>>()?.activation();
    let [whole, _] = ctx.gives_integers();
    binary(ctx, if whole { Binary::TruncDiv } else { Binary::Div }, act)
}

pub(in crate::import) fn leaky_relu(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let alpha = ctx.options::<LeakyReluOptions<'static>>()?.alpha();
    unary(ctx, Unary::LeakyRelu { alpha })
}

pub(in crate::import) fn gelu(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    let approximate = ctx.options::<GeluOptions<'static>>()?.approximate();
    unary(ctx, if approximate { Unary::GeluTanh } else { Unary::Gelu })
}

pub(in crate::import) fn prelu(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    broadcast(ctx, Op::Prelu, Act::None)
}

/// Several operands as they broadcast into each other, and the extents of what they give.
struct Together {
    views: Vec<TensorId>,
    dims: Vec<usize>,
    shape: Shape,
}

fn together(ctx: &mut Context<'_, '_>, inputs: &[TensorId]) -> Result<Together, Problem> {
    let rank = inputs.iter().map(|&id| ctx.dims(id).len()).max().unwrap_or(0);
    let aligned = |id: &TensorId| [vec![1; rank - ctx.dims(*id).len()], ctx.dims(*id).to_vec()].concat();
    let all: Vec<Vec<usize>> = inputs.iter().map(aligned).collect();
    let longest = |axis: usize| all.iter().map(|dims| dims[axis]).find(|&extent| extent != 1).unwrap_or(1);
    let dims: Vec<usize> = (0..rank).map(longest).collect();
    if all.iter().any(|other| other.iter().zip(&dims).any(|(&extent, &result)| extent != result && extent != 1)) {
        let all: Vec<String> = all.iter().map(|dims| format!("{dims:?}")).collect();
        return Err(Problem::malformed(format!("{} do not broadcast", all.join(" and "))));
    }
    // Neighbouring axes are one long axis where each operand repeats along both, or along neither.
    let role = |axis: usize| all.iter().map(|other| other[axis] == dims[axis]).collect::<Vec<_>>();
    let axes = fold(&dims, role, |_| true)?;
    let mut views = Vec::with_capacity(inputs.len());
    for (&id, other) in inputs.iter().zip(&all) {
        let mut extents = [1; 4];
        other.iter().zip(&axes.of).for_each(|(extent, &slot)| extents[slot] *= extent);
        views.push(ctx.view(id, extents.into())?);
    }
    Ok(Together { views, dims, shape: axes.extents.into() })
}

fn broadcast(ctx: &mut Context<'_, '_>, op: Op, act: Act) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let inputs = [ctx.operand(0)?, ctx.operand(1)?];
    let Together { views, dims, shape } = together(ctx, &inputs)?;
    ctx.gives(&dims)?;
    ctx.emit_as(op, &views, act, shape)
}

/// A condition and two values, of which the one or the other is taken. In the first version a condition of one axis
/// chooses whole rows.
pub(in crate::import) fn select(ctx: &mut Context<'_, '_>, rows: bool) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let [mut condition, yes, no] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    let rank = ctx.dims(yes).len();
    if let (true, &[extent]) = (rows && rank > 1, ctx.dims(condition)) {
        let mut dims = vec![1; rank];
        dims[0] = extent;
        condition = ctx.view_as(condition, &dims)?;
    }
    let Together { views, dims, shape } = together(ctx, &[condition, yes, no])?;
    ctx.gives(&dims)?;
    let [yes, no] = [(Binary::ZeroUnless, views[1]), (Binary::ZeroIf, views[2])]
        .map(|(keep, value)| ctx.between(Op::Binary(keep), &[views[0], value], shape));
    ctx.emit_as(Op::Binary(Binary::Add), &[yes?, no?], Act::None, shape)
}

/// Over the axes that the second operand lists.
pub(in crate::import) fn reduce(ctx: &mut Context<'_, '_>, kind: Reduce) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let keep = ctx.options::<ReducerOptions<'static>>()?.keep_dims();
    let listed = ctx.integers(1, "axes")?;
    reduce_over(ctx, kind, &listed, keep)
}

/// The index of the greatest or the least; the axis disappears.
pub(in crate::import) fn index_of(ctx: &mut Context<'_, '_>, kind: Reduce) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let along = ctx.integer(1, "axis")?;
    reduce_over(ctx, kind, &[along], false)
}

fn reduce_over(ctx: &mut Context<'_, '_>, kind: Reduce, listed: &[i64], keep: bool) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let mut reduced = vec![false; dims.len()];
    for &index in listed {
        reduced[axis(index, dims.len())?] = true;
    }
    let kept = dims.iter().zip(&reduced).filter(|(_, reduced)| keep || !**reduced);
    ctx.gives(&kept.map(|(&extent, &reduced)| if reduced { 1 } else { extent }).collect::<Vec<_>>())?;
    // An index of one element is 0, not the element, so that its axis counts.
    let counts = |axis: usize| reduced[axis] && (dims[axis] > 1 || !kind.keeps_one());
    let folded = fold(&dims, |axis| reduced[axis], |axis| !reduced[axis] || !counts(axis))?;
    let mut axes = [false; 4];
    let mut shape = folded.extents;
    for (axis, &slot) in folded.of.iter().enumerate() {
        if counts(axis) {
            axes[slot] = true;
            shape[slot] = 1;
        }
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::Reduce { kind, axes }, &[x], Act::None, shape.into())
}

/// To whole numbers, truth values or 16 bits what is not such already.
pub(in crate::import) fn cast(ctx: &mut Context<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    match ctx.gives_integers() {
        [_, true] => unary(ctx, Unary::NotZero),
        [true, _] if !ctx.is_integer(x) => unary(ctx, Unary::Trunc),
        _ => ctx.pass_on(),
    }
}

/// Over the last axis, whatever the rank.
pub(in crate::import) fn softmax(ctx: &mut Context<'_, '_>, log: bool) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let beta = if log { 1.0 } else { ctx.options::<SoftmaxOptions<'static>>()?.beta() };
    let x = ctx.operand(0)?;
    ctx.gives(ctx.dims(x))?;
    ctx.emit(Op::Softmax { beta, log }, &[x], Act::None)
}

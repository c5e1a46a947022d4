//! Lowers matrix products.

use super::{
    align::placed_as,
    basic::two,
    gather::expanded,
    shapes::{reshaped, transposed},
    softmax::channels,
};
use crate::import::{
    common::extents,
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Numbers,
};
use texpool_ops::graph::{Binary, ElementType, MatMul, Op, Shape};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("MatMul", 1, Numbers, "dense, matmul", Any, |c| {
        let result = product(c, &c.operand(0)?, &c.operand(1)?)?;
        c.give(0, result);
        Ok(())
    }),
    OnnxOpEntry::new("Gemm", 1, Numbers, "dense, matmul", Any, gemm),
];

/// Returns the product of `[.., M, K]` and `[.., K, N]`. Each vector operand removes one axis of the result.
pub(super) fn product(ctx: &mut NodeLowering<'_>, a: &Value, b: &Value) -> Result<Value, Problem> {
    let (a_dims, b_dims) = (a.dims().to_vec(), b.dims().to_vec());
    if a_dims.is_empty() || b_dims.is_empty() {
        return Err(Problem::malformed("it multiplies by a single number"));
    }
    let a = if a_dims.len() == 1 { reshaped(ctx.lowering, a, &[1, a_dims[0]])? } else { a.clone() };
    let b = if b_dims.len() == 1 { reshaped(ctx.lowering, b, &[b_dims[0], 1])? } else { b.clone() };
    let result = matrices(ctx, &a, &b)?;
    let mut dims = result.dims.clone();
    if b_dims.len() == 1 {
        dims.pop();
    }
    if a_dims.len() == 1 {
        dims.remove(dims.len() - if b_dims.len() == 1 { 1 } else { 2 });
    }
    reshaped(ctx.lowering, &Value::Computed(result), &dims)
}

pub(super) fn matrices(ctx: &mut NodeLowering<'_>, a: &Value, b: &Value) -> Result<Computed, Problem> {
    let (a_dims, b_dims) = (a.dims().to_vec(), b.dims().to_vec());
    let (a_rank, b_rank) = (a_dims.len(), b_dims.len());
    let (depth, columns) = (b_dims[b_rank - 2], b_dims[b_rank - 1]);
    if a_dims[a_rank - 1] != depth {
        return Err(Problem::malformed(format!("{a_dims:?} and {b_dims:?} are no matrices to multiply")));
    }
    let batch = extents::broadcast(&[&a_dims[..a_rank - 2], &b_dims[..b_rank - 2]])?;
    // A known matrix shared by all rows becomes a layer, unless leading ones of the matrix raise the result's rank
    // above the input's.
    if let (Value::Known(weights), Value::Computed(x)) = (b, a)
        && b_dims[..b_rank - 2].iter().all(|&d| d == 1)
        && batch.len() == a_rank - 2
    {
        let weights = ctx.lowering.transposed(&weights.reshaped(&[depth, columns])?, &[1, 0])?;
        return dense(ctx, x, &weights, None);
    }
    batched(ctx, a, b, &batch)
}

/// Adds a layer with known weights `[O, I]` and optional biases over the last axis.
pub(super) fn dense(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    weights: &Array,
    bias: Option<&Array>,
) -> Result<Computed, Problem> {
    let last = x.dims.len() - 1;
    let (outputs, depth) = (weights.dims()[0], weights.dims()[1]);
    let x = channels(ctx, x, &[last])?;
    let mut operands = vec![x.tensor, ctx.lowering.constant(weights, Shape::new(1, 1, outputs, depth))?];
    if let Some(bias) = bias {
        operands.push(ctx.lowering.constant(bias, Shape::new(1, 1, 1, outputs))?);
    }
    let layout = crate::import::onnx::layout_selection::resized(&x.layout, &x.dims, last, 3, outputs);
    let mut dims = x.dims.clone();
    dims[last] = outputs;
    let tensor = ctx.emit(Op::FullyConnected, &operands, layout.shape())?;
    Ok(Computed { tensor, layout: layout.tidy(&dims), dims, elem: x.elem })
}

/// Adds a batched product with rows on W and columns on C. The outer axes go to B and H. For each of B and H, an
/// operand has either all axes or none. Otherwise it repeats along those that it lacks.
fn batched(ctx: &mut NodeLowering<'_>, a: &Value, b: &Value, batch: &[usize]) -> Result<Computed, Problem> {
    let rank = batch.len() + 2;
    let [mut a_dims, mut b_dims] = [a, b].map(|value| extents::with_leading_ones(value.dims(), rank));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mark = |axis: usize| (a_dims[axis] != 1, b_dims[axis] != 1);
    for axis in (0..batch.len()).filter(|&axis| batch[axis] != 1) {
        match groups.last_mut() {
            Some(group) if mark(group[0]) == mark(axis) => group.push(axis),
            _ => groups.push(vec![axis]),
        }
    }
    let outer = match groups.as_slice() {
        [] => [vec![], vec![]],
        [one] => [vec![], one.clone()],
        [first, second] => [first.clone(), second.clone()],
        more => {
            let (outer, dims) = merged(more, batch, [&a_dims, &b_dims]);
            [a_dims, b_dims] = dims;
            outer
        }
    };
    let [first, second] = outer;
    let axes = |rows: usize, columns: usize| [first.clone(), second.clone(), vec![rows], vec![columns]];
    let a_value = expanded(ctx, a, &a_dims)?;
    let b_value = expanded(ctx, b, &b_dims)?;
    // If the second matrix already has the summed axis on C, it is read transposed and need not move.
    let transpose_b = match &b_value {
        Value::Computed(x) => {
            let run = x.layout.runs(&x.dims)[rank - 2].clone();
            !run.is_empty() && x.layout.places[3].contains(&run.start)
        }
        Value::Known(_) => false,
    };
    let natural = axes(rank - 2, rank - 1);
    let a_tensor = placed_as(ctx.lowering, &a_value, &AtomLayout::of(&a_dims, &natural))?;
    let b_axes = if transpose_b { axes(rank - 1, rank - 2) } else { natural.clone() };
    let b_tensor = placed_as(ctx.lowering, &b_value, &AtomLayout::of(&b_dims, &b_axes))?;
    let dims = [batch, &[a_dims[rank - 2], b_dims[rank - 1]]].concat();
    let layout = AtomLayout::of(&dims, &natural);
    let tensor = ctx.emit(Op::MatMul(MatMul { transpose_b }), &[a_tensor, b_tensor], layout.shape())?;
    Ok(Computed { tensor, layout, dims, elem: a.element_type() })
}

/// Merges groups of outer axes to two, and returns these with the extents that the operands repeat to: an operand that
/// has an axis of a group repeats along the others. The groups are those for which the operands have the fewest elements.
fn merged(groups: &[Vec<usize>], batch: &[usize], dims: [&[usize]; 2]) -> ([Vec<usize>; 2], [Vec<usize>; 2]) {
    let split = |at: usize| {
        let outer = [groups[..at].concat(), groups[at..].concat()];
        let repeated = dims.map(|own| {
            let mut own = own.to_vec();
            for group in outer.iter().filter(|group| group.iter().any(|&axis| own[axis] != 1)).collect::<Vec<_>>() {
                group.iter().for_each(|&axis| own[axis] = batch[axis]);
            }
            own
        });
        (outer, repeated)
    };
    let elements = |dims: &[usize]| dims.iter().fold(1usize, |n, &extent| n.saturating_mul(extent));
    let (mut best, mut least) = (split(1), usize::MAX);
    for at in 1..groups.len() {
        let candidate = split(at);
        let sum = candidate.1.iter().fold(0usize, |sum, dims| sum.saturating_add(elements(dims)));
        if sum < least {
            (best, least) = (candidate, sum);
        }
    }
    best
}

pub(super) fn gemm(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (a, b, c) = (ctx.operand(0)?, ctx.operand(1)?, ctx.optional(2));
    let (alpha, beta) = (ctx.float("alpha", 1.0)?, ctx.float("beta", 1.0)?);
    if a.dims().len() != 2 || b.dims().len() != 2 {
        return Err(Problem::malformed(format!("{:?} and {:?} are no matrices", a.dims(), b.dims())));
    }
    let turns = [ctx.flag("transA", false)?, ctx.flag("transB", false)?];
    let mut turned = |value: Value, turn: bool| -> Result<Value, Problem> {
        if turn { transposed(ctx.lowering, &value, &[1, 0]) } else { Ok(value) }
    };
    let (a, b) = (turned(a, turns[0])?, turned(b, turns[1])?);
    let (depth, outputs) = (b.dims()[0], b.dims()[1]);
    if a.dims()[1] != depth {
        return Err(Problem::malformed(format!("{:?} and {:?} do not multiply", a.dims(), b.dims())));
    }
    let scaled = |array: &Array, by: f32, ctx: &mut NodeLowering<'_>| -> Result<Array, Problem> {
        ctx.budget_for(array.dims(), 3 * size_of::<f32>(), 1)?;
        let values: Vec<f32> = array.to_f32().iter().map(|v| v * by).collect();
        Ok(Array::of_floats(array.dims().to_vec(), ElementType::F32, &values))
    };
    let bias = match &c {
        Some(Value::Known(c)) if c.len() == 1 || (c.len() == outputs && c.dims().last() == Some(&outputs)) => {
            let c = c.reshaped(&[c.len()])?.broadcast(&[outputs], ctx.meter())?;
            Some(scaled(&c, beta, ctx)?)
        }
        // Other shapes are added by a separate node below.
        _ => None,
    };
    let elem = a.element_type();
    let mut result = match (&a, &b) {
        (Value::Computed(x), Value::Known(weights)) => {
            let weights = weights.transposed(&[1, 0], ctx.meter())?;
            let weights = if alpha == 1.0 { weights } else { scaled(&weights, alpha, ctx)? };
            dense(ctx, x, &weights, bias.as_ref())?
        }
        _ => {
            let mut result = matrices(ctx, &a, &b)?;
            if alpha != 1.0 {
                result = two(ctx, Binary::Mul, &Value::Computed(result), &math::scalar(alpha), elem)?;
            }
            if let Some(bias) = &bias {
                result = two(ctx, Binary::Add, &Value::Computed(result), &Value::Known(bias.clone()), elem)?;
            }
            result
        }
    };
    if let (Some(mut c), None) = (c, bias) {
        if beta != 1.0 {
            c = match c {
                Value::Known(c) => Value::Known(scaled(&c, beta, ctx)?),
                c => Value::Computed(two(ctx, Binary::Mul, &c, &math::scalar(beta), elem)?),
            };
        }
        result = two(ctx, Binary::Add, &Value::Computed(result), &c, elem)?;
    }
    ctx.give(0, Value::Computed(result));
    Ok(())
}

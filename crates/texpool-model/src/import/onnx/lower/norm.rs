//! Lowers normalizations.

use super::{
    basic::{one, two},
    quant::apply,
    reduce::reduced_over,
    shapes::reshaped,
    softmax::channels,
    volumes::stacked,
};
use crate::import::{
    common::axes::sorted_axes,
    error::Problem,
    onnx::{
        array::Array,
        fold::{
            batch_norm::{self, BatchNorm},
            math,
        },
        layout_selection::uniform,
        node_lowering::NodeLowering,
        op_registry::{
            BeforeOpset7::TrainsUnlessIsTest,
            InputLayout::{Any, ChannelsSecond},
            OnnxOpEntry,
        },
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, Lrn, Normalize, Op, ReduceKind, Statistic, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("BatchNormalization", 1, Floats, "binary, normalize, reduce", ChannelsSecond, batch)
        .before_opset7(TrainsUnlessIsTest)
        .limits("statistics must be known, unless they are those of the input (`training_mode`)")
        .fold(batch_norm::batch),
    OnnxOpEntry::new("InstanceNormalization", 1, Floats, "normalize, binary", ChannelsSecond, instance),
    OnnxOpEntry::new("LayerNormalization", 17, Floats, "normalize, binary", Any, |c| layer(c, 1e-5)),
    OnnxOpEntry::new("GroupNormalization", 18, Floats, "normalize, binary", ChannelsSecond, group),
    OnnxOpEntry::new("MeanVarianceNormalization", 9, Floats, "normalize", Any, mean_variance),
    OnnxOpEntry::new("LpNormalization", 1, Floats, "normalize, reduce, binary", Any, lp).limits("p of 1 or 2"),
    OnnxOpEntry::new("RMSNormalization", 23, Floats, "normalize, binary", Any, |c| rms(c, 1e-5)),
    OnnxOpEntry::new("SimplifiedLayerNormalization", 1, Floats, "normalize, binary", Any, |c| rms(c, 1e-5)),
    OnnxOpEntry::new("LRN", 1, Floats, "lrn", ChannelsSecond, lrn),
];

/// Creates a list with one value per channel for the second of `rank` axes.
fn per_channel(values: Vec<f32>, rank: usize) -> Value {
    let mut dims = vec![1; rank - 1];
    dims[0] = values.len();
    Value::Known(Array::of_floats(dims, ElementType::F32, &values))
}

/// Merges mean, variance, scale and bias into one factor and one shift.
fn batch(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.flag("training_mode", false)? {
        return of_input(ctx);
    }
    // Before operator set 14, the statistics are only results in training mode.
    if (1..5).any(|i| ctx.wants(i)) {
        return Err(batch_norm::in_training());
    }
    let x = ctx.operand(0)?;
    let rank = x.dims().len().max(2);
    let [factor, shift] = BatchNorm::of(ctx, x.dims())?.merged();
    let scaled = two(ctx, Binary::Mul, &x, &per_channel(factor, rank), x.element_type())?;
    let shifted = two(ctx, Binary::Add, &Value::Computed(scaled), &per_channel(shift, rank), x.element_type())?;
    ctx.give(0, Value::Computed(shifted));
    Ok(())
}

/// Normalizes by the statistics of the input itself, with which networks that keep no others are exported.
fn of_input(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let (epsilon, momentum) = (ctx.float("epsilon", 1e-5)?, ctx.float("momentum", 0.9)?);
    let rank = x.dims.len();
    let over: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
    if ctx.wants(1) || ctx.wants(2) {
        let mean = Value::Computed(reduced_over(ctx, &x, ReduceKind::Mean, &over)?);
        let centred = two(ctx, Binary::Sub, &Value::Computed(x.clone()), &mean, x.elem)?;
        let squares = one(ctx, Unary::Square, &centred, x.elem)?;
        let variance = Value::Computed(reduced_over(ctx, &squares, ReduceKind::Mean, &over)?);
        for (position, own) in [(1, mean), (2, variance)] {
            let own = reshaped(ctx.lowering, &own, &[own.len()])?;
            let before = ctx.operand(position + 2)?;
            let before = apply(ctx, Binary::Mul, &before, &math::scalar(momentum))?;
            let own = two(ctx, Binary::Mul, &own, &math::scalar(1.0 - momentum), x.elem)?;
            let now = two(ctx, Binary::Add, &before, &Value::Computed(own), x.elem)?;
            ctx.give(position, Value::Computed(now));
        }
    }
    let y = normalized(ctx, &x, &over, epsilon)?;
    let (scale, bias) = (channel_operand(ctx, 1, rank)?, channel_operand(ctx, 2, rank)?);
    scaled(ctx, y, scale, bias)
}

/// Normalizes to mean 0 and variance 1 over some axes.
fn normalized(ctx: &mut NodeLowering<'_>, x: &Computed, over: &[usize], epsilon: f32) -> Result<Computed, Problem> {
    normalized_by(ctx, x, over, Normalize::variance([false; 4], epsilon))
}

/// Applies a normalization over the axes `over`, ignoring those in `op`.
fn normalized_by(ctx: &mut NodeLowering<'_>, x: &Computed, over: &[usize], op: Normalize) -> Result<Computed, Problem> {
    let marked = x.layout.atoms_of(&x.dims, over);
    let layout = uniform(&x.layout, |atom| marked.contains(&atom))?;
    let tensor = ctx.lowering.bring(x, &layout)?;
    let axes = layout.places.each_ref().map(|list| list.first().is_some_and(|atom| marked.contains(atom)));
    let tensor = ctx.emit(Op::Normalize(Normalize { axes, ..op }), &[tensor], layout.shape())?;
    Ok(Computed { tensor, layout: layout.tidy(&x.dims), ..x.clone() })
}

/// Multiplies by `scale` and adds `bias`, if given.
fn scaled(ctx: &mut NodeLowering<'_>, x: Computed, scale: Option<Value>, bias: Option<Value>) -> Result<(), Problem> {
    let elem = x.elem;
    let mut result = x;
    for (binary, by) in [(Binary::Mul, scale), (Binary::Add, bias)] {
        if let Some(by) = by {
            result = two(ctx, binary, &Value::Computed(result), &by, elem)?;
        }
    }
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Returns an operand with one value per channel in a shape that broadcasts to the second of `rank` axes.
fn channel_operand(ctx: &mut NodeLowering<'_>, position: usize, rank: usize) -> Result<Option<Value>, Problem> {
    let Some(value) = ctx.optional(position) else { return Ok(None) };
    let Some(behind) = rank.checked_sub(2) else {
        return Err(Problem::malformed(format!("its input has {rank} axes, none of them for channels")));
    };
    let dims = [vec![value.len()], vec![1; behind]].concat();
    reshaped(ctx.lowering, &value, &dims).map(Some)
}

fn instance(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let epsilon = ctx.float("epsilon", 1e-5)?;
    let rank = x.dims.len();
    let x = stacked(ctx, x)?;
    let y = normalized(ctx, &x, &(2..rank).collect::<Vec<_>>(), epsilon)?;
    let (scale, bias) = (channel_operand(ctx, 1, rank)?, channel_operand(ctx, 2, rank)?);
    scaled(ctx, y, scale, bias)
}

/// Normalizes the last axes. The node may state another epsilon.
pub(super) fn layer(ctx: &mut NodeLowering<'_>, epsilon: f32) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let epsilon = ctx.float("epsilon", epsilon)?;
    let rank = x.dims.len();
    let from = ctx.axis(rank, -1)?;
    let over: Vec<usize> = (from..rank).collect();
    // The normalization does not output its statistics, so they are computed separately if they are read.
    if ctx.wants(1) || ctx.wants(2) {
        let mean = Value::Computed(reduced_over(ctx, &x, ReduceKind::Mean, &over)?);
        let centred = two(ctx, Binary::Sub, &Value::Computed(x.clone()), &mean, x.elem)?;
        let squares = one(ctx, Unary::Square, &centred, x.elem)?;
        let variance = Value::Computed(reduced_over(ctx, &squares, ReduceKind::Mean, &over)?);
        let raised = two(ctx, Binary::Add, &variance, &math::scalar(epsilon), x.elem)?;
        let inverse = one(ctx, Unary::Rsqrt, &raised, x.elem)?;
        ctx.give(1, mean);
        ctx.give(2, Value::Computed(inverse));
    }
    let y = normalized(ctx, &x, &over, epsilon)?;
    let (scale, bias) = (ctx.optional(1), ctx.optional(2));
    scaled(ctx, y, scale, bias)
}

/// Before operator set 21, scale and bias have one value per group.
fn group(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let epsilon = ctx.float("epsilon", 1e-5)?;
    let groups = ctx.size("num_groups", 1)?;
    let &[n, c, ref rest @ ..] = x.dims.as_slice() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims)));
    };
    if groups == 0 || !c.is_multiple_of(groups) {
        return Err(Problem::malformed(format!("{c} channels in {groups} groups")));
    }
    let grouped = [&[n, groups, c / groups], rest].concat();
    let value = reshaped(ctx.lowering, &Value::Computed(x.clone()), &grouped)?;
    let parted = ctx.compute(&value)?;
    let rank = grouped.len();
    let y = normalized(ctx, &parted, &(2..rank).collect::<Vec<_>>(), epsilon)?;
    let by_group = ctx.operand(1)?.len() == groups && groups != c;
    if by_group {
        let (scale, bias) = (channel_operand(ctx, 1, rank)?, channel_operand(ctx, 2, rank)?);
        scaled(ctx, y, scale, bias)?;
        // `scaled` has set the result with the groups as an axis. It is taken back and reshaped to the file's
        // extents.
        let result = ctx.results.first_mut().and_then(Option::take);
        let result = result.ok_or_else(|| Problem::malformed("it has no result"))?;
        let result = reshaped(ctx.lowering, &result, &x.dims)?;
        ctx.give(0, result);
        return Ok(());
    }
    let whole = reshaped(ctx.lowering, &Value::Computed(y), &x.dims)?;
    let whole = ctx.compute(&whole)?;
    let rank = x.dims.len();
    let (scale, bias) = (channel_operand(ctx, 1, rank)?, channel_operand(ctx, 2, rank)?);
    scaled(ctx, whole, scale, bias)
}

fn mean_variance(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let over = sorted_axes(&ctx.ints("axes").unwrap_or_else(|| vec![0, 2, 3]), x.dims.len())?;
    // ONNX adds 1e-9 to the standard deviation, but here the number is added to the variance, so it is squared.
    let y = normalized(ctx, &x, &over, 1e-18)?;
    ctx.give(0, Value::Computed(y));
    Ok(())
}

fn lp(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let along = ctx.axis(x.dims.len(), -1)?;
    // A line of zeros must stay zero: 0 / 0 would be NaN.
    let least = f32::MIN_POSITIVE;
    let y = match ctx.int("p")?.unwrap_or(2) {
        1 => {
            let norm = Value::Computed(reduced_over(ctx, &x, ReduceKind::L1, &[along])?);
            let norm = Value::Computed(two(ctx, Binary::Maximum, &norm, &math::scalar(least), x.elem)?);
            two(ctx, Binary::Div, &Value::Computed(x.clone()), &norm, x.elem)?
        }
        2 => {
            let norm = Normalize { least, ..Normalize::new([false; 4], Statistic::SumSquare, 0.0) };
            normalized_by(ctx, &x, &[along], norm)?
        }
        p => return Err(Problem::unsupported(format!("its p is {p}"))),
    };
    ctx.give(0, Value::Computed(y));
    Ok(())
}

/// Divides by the root of the mean square over the last axes. The node may state another epsilon.
pub(super) fn rms(ctx: &mut NodeLowering<'_>, epsilon: f32) -> Result<(), Problem> {
    if ctx.wants(1) {
        return Err(Problem::unsupported("its deviation is read"));
    }
    let x = ctx.computed(0)?;
    let epsilon = ctx.float("epsilon", epsilon)?;
    let rank = x.dims.len();
    let from = ctx.axis(rank, -1)?;
    let over: Vec<usize> = (from..rank).collect();
    let y = normalized_by(ctx, &x, &over, Normalize::new([false; 4], Statistic::MeanSquare, epsilon))?;
    let scale = ctx.optional(1);
    scaled(ctx, y, scale, None)
}

fn lrn(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let size = ctx.size("size", 0)?;
    let (alpha, beta, bias) = (ctx.float("alpha", 1e-4)?, ctx.float("beta", 0.75)?, ctx.float("bias", 1.0)?);
    if x.dims.len() < 2 {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims)));
    }
    let x = channels(ctx, &x, &[1])?;
    let tensor = ctx.emit(Op::Lrn(Lrn { size, alpha, beta, bias }), &[x.tensor], x.layout.shape())?;
    ctx.answer(tensor, x.dims, x.layout, x.elem);
    Ok(())
}

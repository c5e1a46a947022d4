//! Normalizations.

use super::{
    basic::{one, two},
    reduce::reduced_over,
    shapes::reshaped,
    softmax::channels,
};
use crate::{
    graph::{Binary, Op, Reduce, Unary},
    import::{
        common::axes::sorted_axes,
        error::Problem,
        onnx::{
            arrange::uniform,
            array::{Array, Elem},
            call::Call,
            fold::math,
            op_registry::{
                InputLayout::{Any, ChannelsSecond},
                OnnxOpEntry,
            },
            value::{Computed, Value},
        },
        op_registry::Floats,
    },
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("BatchNormalization", 1, Floats, "binary", ChannelsSecond, batch)
        .limits("statistics must be known; not in training mode"),
    OnnxOpEntry::new("InstanceNormalization", 1, Floats, "normalize, binary", ChannelsSecond, instance),
    OnnxOpEntry::new("LayerNormalization", 17, Floats, "normalize, binary", Any, layer),
    OnnxOpEntry::new("GroupNormalization", 18, Floats, "normalize, binary", ChannelsSecond, group),
    OnnxOpEntry::new("MeanVarianceNormalization", 9, Floats, "normalize", Any, mean_variance),
    OnnxOpEntry::new("LpNormalization", 1, Floats, "reduce, binary", Any, lp).limits("p of 1 or 2"),
    OnnxOpEntry::new("RMSNormalization", 23, Floats, "mean, binary", Any, rms),
    OnnxOpEntry::new("SimplifiedLayerNormalization", 1, Floats, "mean, binary", Any, rms),
    OnnxOpEntry::new("LRN", 1, Floats, "lrn", ChannelsSecond, lrn),
];

/// A list of one value a channel, for the second of `rank` axes.
fn per_channel(values: Vec<f32>, rank: usize) -> Value {
    let mut dims = vec![1; rank - 1];
    dims[0] = values.len();
    Value::Known(Array::of_floats(dims, Elem::F32, &values))
}

/// Scale and shift in one: what is left of mean and variance.
fn batch(call: &mut Call<'_>) -> Result<(), Problem> {
    if call.flag("training_mode", false)? || (1..5).any(|i| call.wants(i)) {
        return Err(Problem::new("it is in training mode", "export the model for inference"));
    }
    let x = call.operand(0)?;
    let epsilon = call.float("epsilon", 1e-5)?;
    let rank = x.dims().len();
    let channels = if rank < 2 { 1 } else { x.dims()[1] };
    let names = ["scale", "bias", "mean", "variance"];
    let mut lists = Vec::with_capacity(4);
    for (i, name) in names.iter().enumerate() {
        let list = call.known(i + 1, name)?;
        if list.len() != channels {
            return Err(Problem::malformed(format!("its {name} has {} values for {channels} channels", list.len())));
        }
        call.room_for(&[channels], 6 * size_of::<f32>(), 4)?;
        lists.push(list.to_f32().into_owned());
    }
    let factor: Vec<f32> = lists[0].iter().zip(&lists[3]).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let shift: Vec<f32> = (0..channels).map(|i| lists[1][i] - lists[2][i] * factor[i]).collect();
    let rank = rank.max(2);
    let scaled = two(call, Binary::Mul, &x, &per_channel(factor, rank), x.elem())?;
    let shifted = two(call, Binary::Add, &Value::Computed(scaled), &per_channel(shift, rank), x.elem())?;
    call.give(0, Value::Computed(shifted));
    Ok(())
}

/// Mean 0 and variance 1 over some axes.
fn normalized(call: &mut Call<'_>, x: &Computed, over: &[usize], epsilon: f32) -> Result<Computed, Problem> {
    let marked = x.layout.atoms_of(&x.dims, over);
    let layout = uniform(&x.layout, |atom| marked.contains(&atom))?;
    let tensor = call.site.bring(x, &layout)?;
    let axes = layout.places.each_ref().map(|list| list.first().is_some_and(|atom| marked.contains(atom)));
    let tensor = call.emit(Op::Normalize { axes, epsilon }, &[tensor], layout.shape())?;
    Ok(Computed { tensor, layout: layout.tidy(&x.dims), ..x.clone() })
}

/// Times `scale`, plus `bias` if there is one.
fn scaled(call: &mut Call<'_>, x: Computed, scale: Option<Value>, bias: Option<Value>) -> Result<(), Problem> {
    let elem = x.elem;
    let mut result = x;
    for (binary, by) in [(Binary::Mul, scale), (Binary::Add, bias)] {
        if let Some(by) = by {
            result = two(call, binary, &Value::Computed(result), &by, elem)?;
        }
    }
    call.give(0, Value::Computed(result));
    Ok(())
}

/// An operand of one value a channel, as what broadcasts to the second of `rank` axes.
fn channel_operand(call: &mut Call<'_>, position: usize, rank: usize) -> Result<Option<Value>, Problem> {
    let Some(value) = call.optional(position) else { return Ok(None) };
    let Some(behind) = rank.checked_sub(2) else {
        return Err(Problem::malformed(format!("its input has {rank} axes, none of them for channels")));
    };
    let dims = [vec![value.len()], vec![1; behind]].concat();
    reshaped(call.site, &value, &dims).map(Some)
}

fn instance(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let epsilon = call.float("epsilon", 1e-5)?;
    let rank = x.dims.len();
    let y = normalized(call, &x, &(2..rank).collect::<Vec<_>>(), epsilon)?;
    let (scale, bias) = (channel_operand(call, 1, rank)?, channel_operand(call, 2, rank)?);
    scaled(call, y, scale, bias)
}

fn layer(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let epsilon = call.float("epsilon", 1e-5)?;
    let rank = x.dims.len();
    let from = call.axis(rank, -1)?;
    let over: Vec<usize> = (from..rank).collect();
    if call.wants(1) || call.wants(2) {
        let mean = Value::Computed(reduced_over(call, &x, Reduce::Mean, &over)?);
        let centred = two(call, Binary::Sub, &Value::Computed(x.clone()), &mean, x.elem)?;
        let squares = one(call, Unary::Square, &centred, x.elem)?;
        let variance = Value::Computed(reduced_over(call, &squares, Reduce::Mean, &over)?);
        let raised = two(call, Binary::Add, &variance, &math::scalar(epsilon), x.elem)?;
        let inverse = one(call, Unary::Rsqrt, &raised, x.elem)?;
        call.give(1, mean);
        call.give(2, Value::Computed(inverse));
    }
    let y = normalized(call, &x, &over, epsilon)?;
    let (scale, bias) = (call.optional(1), call.optional(2));
    scaled(call, y, scale, bias)
}

/// Before operator set 21, scale and bias are one value a group.
fn group(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let epsilon = call.float("epsilon", 1e-5)?;
    let groups = call.size("num_groups", 1)?;
    let &[n, c, ref rest @ ..] = x.dims.as_slice() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims)));
    };
    if groups == 0 || !c.is_multiple_of(groups) {
        return Err(Problem::malformed(format!("{c} channels in {groups} groups")));
    }
    let grouped = [&[n, groups, c / groups], rest].concat();
    let value = reshaped(call.site, &Value::Computed(x.clone()), &grouped)?;
    let parted = call.compute(&value)?;
    let rank = grouped.len();
    let y = normalized(call, &parted, &(2..rank).collect::<Vec<_>>(), epsilon)?;
    let by_group = call.operand(1)?.len() == groups && groups != c;
    if by_group {
        let (scale, bias) = (channel_operand(call, 1, rank)?, channel_operand(call, 2, rank)?);
        scaled(call, y, scale, bias)?;
        let result = call.results.first_mut().and_then(Option::take);
        let result = result.ok_or_else(|| Problem::malformed("it has no result"))?;
        let result = reshaped(call.site, &result, &x.dims)?;
        call.give(0, result);
        return Ok(());
    }
    let whole = reshaped(call.site, &Value::Computed(y), &x.dims)?;
    let whole = call.compute(&whole)?;
    let rank = x.dims.len();
    let (scale, bias) = (channel_operand(call, 1, rank)?, channel_operand(call, 2, rank)?);
    scaled(call, whole, scale, bias)
}

fn mean_variance(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let over = sorted_axes(&call.ints("axes").unwrap_or_else(|| vec![0, 2, 3]), x.dims.len())?;
    // The deviation is what a billionth is added to: the variance, its square.
    let y = normalized(call, &x, &over, 1e-18)?;
    call.give(0, Value::Computed(y));
    Ok(())
}

fn lp(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let along = call.axis(x.dims.len(), -1)?;
    let kind = match call.int("p")?.unwrap_or(2) {
        1 => Reduce::L1,
        2 => Reduce::L2,
        p => return Err(Problem::unsupported(format!("its p is {p}"))),
    };
    let norm = reduced_over(call, &x, kind, &[along])?;
    // What is all zeros stays so.
    let norm = two(call, Binary::Maximum, &Value::Computed(norm), &math::scalar(f32::MIN_POSITIVE), x.elem)?;
    let y = two(call, Binary::Div, &Value::Computed(x.clone()), &Value::Computed(norm), x.elem)?;
    call.give(0, Value::Computed(y));
    Ok(())
}

fn rms(call: &mut Call<'_>) -> Result<(), Problem> {
    if call.wants(1) {
        return Err(Problem::unsupported("its deviation is read"));
    }
    let x = call.computed(0)?;
    let epsilon = call.float("epsilon", 1e-5)?;
    let rank = x.dims.len();
    let from = call.axis(rank, -1)?;
    let squares = one(call, Unary::Square, &x, x.elem)?;
    let mean = reduced_over(call, &squares, Reduce::Mean, &(from..rank).collect::<Vec<_>>())?;
    let raised = two(call, Binary::Add, &Value::Computed(mean), &math::scalar(epsilon), x.elem)?;
    let factor = one(call, Unary::Rsqrt, &raised, x.elem)?;
    let y = two(call, Binary::Mul, &Value::Computed(x.clone()), &Value::Computed(factor), x.elem)?;
    let scale = call.optional(1);
    scaled(call, y, scale, None)
}

fn lrn(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let size = call.size("size", 0)?;
    let (alpha, beta, bias) = (call.float("alpha", 1e-4)?, call.float("beta", 0.75)?, call.float("bias", 1.0)?);
    if x.dims.len() < 2 {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims)));
    }
    let x = channels(call, &x, &[1])?;
    let tensor = call.emit(Op::Lrn { size, alpha, beta, bias }, &[x.tensor], x.layout.shape())?;
    call.answer(tensor, x.dims, x.layout, x.elem);
    Ok(())
}

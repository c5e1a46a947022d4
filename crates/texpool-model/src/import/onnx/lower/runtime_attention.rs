//! Lowers the attentions of ONNX Runtime's optimiser, as it writes them for transformers.

use super::{
    attention::{Attended, Heads, Weighing, after, attended, causal, places, shorter, split, unless, unsplit},
    basic::two,
    concat::joined,
    matmul::product,
    quant::apply,
    rotary::Angles,
    shapes::{reshaped, transposed},
    slice::take,
};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OF_RUNTIME, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType};

/// Kernels of all attentions.
const KERNELS: &str = "binary, concat, dense, matmul, rearrange, softmax, unary";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Attention", 1, Floats, KERNELS, Any, attention)
        .domain(OF_RUNTIME)
        .limits("without rotation, and without buffers that earlier places share with later ones"),
    OnnxOpEntry::new("MultiHeadAttention", 1, Floats, KERNELS, Any, multi_head)
        .domain(OF_RUNTIME)
        .limits("without buffers that earlier places share with later ones"),
    OnnxOpEntry::new("GroupQueryAttention", 1, Floats, KERNELS, Any, group_query)
        .domain(OF_RUNTIME)
        .limits("earlier places fill their operands; lengths must be known if there are any"),
];

/// Selects consecutive places of an axis.
fn part(ctx: &mut NodeLowering<'_>, x: &Value, along: usize, begin: usize, count: usize) -> Result<Value, Problem> {
    let extent = x.dims().get(along).copied().unwrap_or(0);
    if begin.checked_add(count).is_none_or(|end| end > extent) {
        return Err(Problem::malformed(format!(
            "{:?} has no places {begin} to {count} more of axis {along}",
            x.dims()
        )));
    }
    if count == extent { Ok(x.clone()) } else { take(ctx, x, &[(along, AxisRange::run(begin, count))]) }
}

/// Selects one place of an axis, which the result does not have.
fn at(ctx: &mut NodeLowering<'_>, x: &Value, along: usize, place: usize) -> Result<Value, Problem> {
    let one = part(ctx, x, along, place, 1)?;
    let mut dims = one.dims().to_vec();
    dims.remove(along);
    reshaped(ctx.lowering, &one, &dims)
}

fn plus(ctx: &mut NodeLowering<'_>, a: &Value, b: &Value) -> Result<Value, Problem> {
    two(ctx, Binary::Add, a, b, a.element_type()).map(Value::Computed)
}

/// Returns the factor of the products. 0 stands for the usual one.
fn scale(ctx: &NodeLowering<'_>) -> Result<Option<f32>, Problem> {
    Ok(Some(ctx.float("scale", 0.0)?).filter(|&scale| scale != 0.0))
}

/// Returns the numbers to add to products for a mask of keys. The mask has their number in each batch, ends followed by
/// beginnings, or a number for each key that is 0 for those to hide.
fn of_mask(ctx: &mut NodeLowering<'_>, mask: &Value, batch: usize, keys: usize) -> Result<Value, Problem> {
    let hidden = ctx.float("mask_filter_value", -10_000.0)?;
    match *mask.dims() {
        [count] if count == batch => shorter(ctx, mask, keys, hidden),
        [count] if count == 2 * batch => {
            let [ends, begins] = [part(ctx, mask, 0, 0, batch)?, part(ctx, mask, 0, batch, batch)?];
            let begins = reshaped(ctx.lowering, &begins, &[batch, 1, 1, 1])?;
            let behind = shorter(ctx, &ends, keys, hidden)?;
            let places = places(ctx, keys)?;
            let seen = apply(ctx, Binary::GreaterEqual, &places, &begins)?;
            let before = unless(ctx, &seen, hidden)?;
            apply(ctx, Binary::Add, &behind, &before)
        }
        [of, count] if (of == batch || of == 1) && count == keys => {
            let mask = reshaped(ctx.lowering, mask, &[of, 1, 1, keys])?;
            unless(ctx, &mask, hidden)
        }
        [of, places, count] if (of == batch || of == 1) && count == keys => {
            let mask = reshaped(ctx.lowering, mask, &[of, 1, places, keys])?;
            unless(ctx, &mask, hidden)
        }
        ref dims => Err(Problem::unsupported(format!("its mask is {dims:?}, for {batch} batches of {keys} keys"))),
    }
}

/// Returns how products become weights by the node's scale, bias and mask, if `before` keys precede the first query's own.
fn stated_weighing(
    ctx: &mut NodeLowering<'_>,
    mask: usize,
    batch: usize,
    [rows, keys]: [usize; 2],
    before: usize,
) -> Result<Weighing, Problem> {
    let mut weighing = Weighing { scale: scale(ctx)?, softcap: 0.0, bias: ctx.optional(5) };
    if let Some(mask) = ctx.optional(mask) {
        let bias = of_mask(ctx, &mask, batch, keys)?;
        weighing.add(ctx, bias)?;
    }
    if ctx.flag("unidirectional", false)? {
        let bias = causal(ctx, [rows, keys], before, 0, f32::MIN)?;
        weighing.add(ctx, bias)?;
    }
    Ok(weighing)
}

/// Gives the result of an attention, and the keys and values for later places.
fn give(ctx: &mut NodeLowering<'_>, heads: Heads, by: &Weighing) -> Result<(), Problem> {
    let Attended { result, .. } = attended(ctx, &heads, by)?;
    let result = unsplit(ctx, &result)?;
    ctx.give(0, result);
    ctx.give(1, heads.keys);
    ctx.give(2, heads.values);
    Ok(())
}

fn attention(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.flag("do_rotary", false)? || ctx.flag("past_present_share_buffer", false)? || ctx.optional(6).is_some() {
        return Err(Problem::unsupported("it rotates, or keeps earlier keys and values in buffers"));
    }
    let [x, weights] = [ctx.operand(0)?, ctx.operand(1)?];
    let (&[batch, _, _], &[_, all]) = (x.dims(), weights.dims()) else {
        let reason = format!("it multiplies {:?} and {:?}", x.dims(), weights.dims());
        return Err(Problem::malformed(reason));
    };
    let count = ctx.size("num_heads", 0)?;
    let sizes: Vec<usize> = match ctx.ints("qkv_hidden_sizes").filter(|sizes| !sizes.is_empty()) {
        Some(sizes) => sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect(),
        None => vec![all / 3; 3],
    };
    if sizes.len() != 3 || sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size)) != all {
        return Err(Problem::malformed(format!("queries, keys and values of {sizes:?} make {all} columns")));
    }
    let (bias, mut begin) = (ctx.optional(2), 0);
    let mut parts = Vec::with_capacity(3);
    // Columns of known weights are taken on import, so that nothing has to be split in a run.
    for size in sizes {
        let columns = part(ctx, &weights, 1, begin, size)?;
        let mut projected = product(ctx, &x, &columns)?;
        if let Some(bias) = &bias {
            let own = part(ctx, bias, 0, begin, size)?;
            projected = plus(ctx, &projected, &own)?;
        }
        parts.push(split(ctx, &projected, count)?);
        begin += size;
    }
    let mut before = 0;
    if let Some(past) = ctx.optional(4) {
        before = past.dims().get(3).copied().unwrap_or(0);
        for (position, part) in parts.iter_mut().skip(1).enumerate() {
            let earlier = at(ctx, &past, 0, position)?;
            *part = joined(ctx, &[earlier, part.clone()], 2)?;
        }
    }
    let [queries, keys, values] = <[Value; 3]>::try_from(parts).map_err(|_| Problem::malformed("it has no heads"))?;
    let heads = Heads { queries, keys, values };
    let [rows, keys] = heads.extents()?;
    let weighing = stated_weighing(ctx, 3, batch, [rows, keys], before)?;
    let Attended { result, .. } = attended(ctx, &heads, &weighing)?;
    let result = unsplit(ctx, &result)?;
    ctx.give(0, result);
    if ctx.wants(1) {
        let mut both = Vec::with_capacity(2);
        for value in [&heads.keys, &heads.values] {
            let dims = [&[1], value.dims()].concat();
            both.push(reshaped(ctx.lowering, value, &dims)?);
        }
        let present = joined(ctx, &both, 0)?;
        ctx.give(1, present);
    }
    Ok(())
}

/// Returns the parts of operands that hold queries, keys and values together, with heads split.
fn unpacked(
    ctx: &mut NodeLowering<'_>,
    packed: &Value,
    first: usize,
    heads: &mut [Option<Value>; 3],
) -> Result<(), Problem> {
    let rank = packed.dims().len();
    if rank != 5 || packed.dims()[3] != 3 - first {
        return Err(Problem::malformed(format!("{:?} holds no {} parts", packed.dims(), 3 - first)));
    }
    let turned = transposed(ctx.lowering, packed, &[3, 0, 2, 1, 4])?;
    for (place, part) in heads.iter_mut().skip(first).enumerate() {
        *part = Some(at(ctx, &turned, 0, place)?);
    }
    Ok(())
}

/// Keys and values that are split into heads already are those of another network, without a bias.
fn multi_head(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.optional(8).is_some() || ctx.optional(9).is_some() || ctx.wants(3) {
        return Err(Problem::unsupported("it keeps earlier keys and values in buffers, or its products are read"));
    }
    let count = ctx.size("num_heads", 0)?;
    let (bias, mut parts) = (ctx.optional(3), [None, None, None]);
    let query = ctx.operand(0)?;
    let batch = query.dims().first().copied().unwrap_or(0);
    let operands = [Some(query), ctx.optional(1), ctx.optional(2)];
    // The bias of keys and values follows that of as many queries, and of keys.
    let mut begin = 0;
    for (position, operand) in operands.iter().enumerate() {
        let Some(operand) = operand else { continue };
        match operand.dims().len() {
            5 => {
                unpacked(ctx, operand, position, &mut parts)?;
                if bias.is_some() {
                    return Err(Problem::unsupported("its parts are packed and have a bias"));
                }
            }
            4 => parts[position] = Some(operand.clone()),
            _ => {
                let size = operand.dims().last().copied().unwrap_or(0);
                let biased = match &bias {
                    Some(bias) => {
                        let own = part(ctx, bias, 0, begin, size)?;
                        plus(ctx, operand, &own)?
                    }
                    None => operand.clone(),
                };
                begin += size;
                parts[position] = Some(split(ctx, &biased, count)?);
            }
        }
    }
    let [Some(queries), Some(keys), Some(values)] = parts else {
        return Err(Problem::malformed("it has no keys or values"));
    };
    let heads = Heads { queries, keys: after(ctx, 6, keys)?, values: after(ctx, 7, values)? };
    let [rows, keys] = heads.extents()?;
    let weighing = stated_weighing(ctx, 4, batch, [rows, keys], keys.saturating_sub(rows))?;
    give(ctx, heads, &weighing)
}

/// Returns the places that queries rotate by: those of an operand, or those behind the earlier ones.
fn own_places(ctx: &mut NodeLowering<'_>, before: usize, count: usize) -> Result<Value, Problem> {
    match ctx.optional(9) {
        Some(places) => Ok(places),
        None => {
            let count = ctx.budget_for(&[count], 2 * size_of::<i64>(), 1)? as i64;
            let numbers = (0..count).map(|number| number + before as i64).collect();
            Ok(Value::Known(Array::of_ints(vec![1, count as usize], ElementType::I64, numbers)))
        }
    }
}

/// Fails unless the earlier places fill their operands.
fn check_lengths(ctx: &NodeLowering<'_>, before: usize, keys: usize) -> Result<(), Problem> {
    if before == 0 {
        return Ok(());
    }
    let lengths = ctx.known(5, "lengths")?;
    let lengths = lengths.to_i64().unwrap_or_default();
    if lengths.iter().all(|&length| length.checked_add(1) == i64::try_from(keys).ok()) {
        return Ok(());
    }
    Err(Problem::unsupported(format!("its lengths are {lengths:?}, its earlier keys and its own are {keys}")))
}

/// Keys behind the length of a first sequence have queries of their own, which nothing reads.
fn group_query(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let is_plain = (11..14).all(|position| ctx.optional(position).is_none()) && !ctx.flag("smooth_softmax", false)?;
    if !is_plain || ctx.wants(3) {
        return Err(Problem::unsupported("it has sinks or scales of keys and values, or its products are read"));
    }
    let (count, groups) = (ctx.size("num_heads", 0)?, ctx.size("kv_num_heads", 0)?);
    let query = ctx.operand(0)?;
    let (queries, keys, values) = match (ctx.optional(1), ctx.optional(2)) {
        (Some(keys), Some(values)) => (query, keys, values),
        _ => {
            let all = count.saturating_add(groups.saturating_mul(2));
            let size = query.dims().last().map_or(0, |&width| width / all.max(1));
            let (own, shared) = (count.saturating_mul(size), groups.saturating_mul(size));
            let queries = part(ctx, &query, 2, 0, own)?;
            (queries, part(ctx, &query, 2, own, shared)?, part(ctx, &query, 2, own + shared, shared)?)
        }
    };
    let mut heads = Heads {
        queries: split(ctx, &queries, count)?,
        keys: split(ctx, &keys, groups)?,
        values: split(ctx, &values, groups)?,
    };
    let before = ctx.optional(3).and_then(|past| past.dims().get(2).copied()).unwrap_or(0);
    let [rows, _] = heads.extents()?;
    if ctx.flag("do_rotary", false)? {
        let places = own_places(ctx, before, rows)?;
        let tables = [ctx.operand(7)?, ctx.operand(8)?];
        let is_interleaved = ctx.flag("rotary_interleaved", false)?;
        let angles = Angles::looked_up(ctx, tables, &places, is_interleaved)?;
        heads.queries = angles.turn(ctx, &heads.queries)?;
        heads.keys = angles.turn(ctx, &heads.keys)?;
    }
    heads.keys = after(ctx, 3, heads.keys)?;
    heads.values = after(ctx, 4, heads.values)?;
    let [_, keys] = heads.extents()?;
    check_lengths(ctx, before, keys)?;
    let window = usize::try_from(ctx.int("local_window_size")?.unwrap_or(-1)).unwrap_or(0);
    let mut weighing = Weighing { scale: scale(ctx)?, softcap: ctx.float("softcap", 0.0)?, bias: ctx.optional(10) };
    let bias = causal(ctx, [rows, keys], before, window, f32::MIN)?;
    weighing.add(ctx, bias)?;
    give(ctx, heads, &weighing)
}

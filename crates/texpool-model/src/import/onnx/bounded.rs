//! Extents that a run gives or finds: which axes of a value have one, and how operators pass them on.
//!
//! A tensor has room for the most that its extent can be. The first places along the axis are those that the file means;
//! those behind them hold values without a meaning. Operators that compute each place of the result from one place of the
//! operand pass the extent on. Those that mix the places get an operand whose places behind the extent have no effect
//! (`masks.rs`). All others are refused here.

use super::{
    array::Array,
    bounded_axes::{at_most, each, mixed, rank},
    bounded_fused, bounded_images, bounded_indices, bounded_joins, bounded_means,
    bounded_operands::by_element,
    bounded_products::{einsum, gemm, product, product_of_integers},
    bounded_shapes, bounded_windows,
    lower::{self, reshaped},
    masks::{self, Neutral},
    model::own_domain,
    node_lowering::{NodeLowering, is_extent},
    op_registry::{OF_RUNTIME, OnnxOpEntry},
    open_extents::view,
    passed::Passed,
    sizes,
    value::{BoundedAxis, Value},
};
use crate::import::{common::axes::axis, error::Problem};
use texpool_ops::graph::{Binary, ElementType, ReduceKind};

/// Operators that compute each element of the result from the elements of the operands at the same place.
const BY_ELEMENT: [&str; 68] = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsInf",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Where",
    "Xor",
];

/// Operators that rearrange axes, and make values for extents that they are told.
const REARRANGES: [&str; 3] = ["Reshape", "Transpose", "Unsqueeze"];
const MAKES: [&str; 2] = ["ConstantOfShape", "Range"];

/// Returns the name of a node's operator if it is one of ONNX's own. Others have no name.
fn own_name<'c>(ctx: &NodeLowering<'c>) -> &'c str {
    let node = ctx.node;
    if own_domain(&node.domain).is_empty() { node.op.as_str() } else { "" }
}

/// Adapts the results of a node that was lowered, and adds the axis whose extent it finds.
pub(super) fn finish(passed: &mut Passed, ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if let Some(found) = ctx.bound.take() {
        passed.bounds = vec![vec![found]];
    }
    if let Some(of_body) = ctx.of_bodies.pop() {
        *passed = of_body;
    }
    if let (Some(factor), Some(Some(result))) = (passed.factor.take(), ctx.results.first().cloned()) {
        let elem = result.element_type();
        let scaled = lower::two(ctx, Binary::Mul, &result, &factor, elem)?;
        ctx.give(0, Value::Computed(scaled));
    }
    if let (Some(limit), Some(Some(result))) = (passed.limit.take(), ctx.results.first().cloned()) {
        let elem = result.element_type();
        let limited = lower::two(ctx, Binary::Minimum, &result, &limit, elem)?;
        ctx.give(0, Value::Computed(limited));
    }
    let own = own_name(ctx);
    if ![&BY_ELEMENT[..], &REARRANGES, &MAKES].iter().any(|all| all.contains(&own)) {
        for position in 0..ctx.results.len() {
            if !passed.bounds_of(position).is_empty() {
                let value = ctx.results[position].clone();
                ctx.results[position] = value.map(|value| unknown(ctx, value)).transpose()?;
            }
        }
    }
    Ok(())
}

/// Makes a known value with the extent of a run a tensor. One without elements stays known.
fn unknown(ctx: &mut NodeLowering<'_>, value: Value) -> Result<Value, Problem> {
    if value.len() == 0 {
        return Ok(value);
    }
    ctx.compute(&value).map(Value::Computed)
}

/// Makes tensors of known operands with the extent of a run, unless the node's results are known, too: the numbers at the
/// places are the same in each run. Returns the tensors, by position, so that other nodes that read the values read these.
pub(super) fn known_as_tensors(
    ctx: &mut NodeLowering<'_>,
    entry: &OnnxOpEntry,
) -> Result<Vec<(usize, Value)>, Problem> {
    let own = own_name(ctx);
    // It reads no elements.
    if own == "Shape" {
        return Ok(Vec::new());
    }
    let are_known = ctx.operands.iter().flatten().all(|value| value.known().is_some());
    let keeps_places = [&BY_ELEMENT[..], &REARRANGES].iter().any(|all| all.contains(&own));
    if are_known && keeps_places && entry.fold.is_some() && ctx.sizes.iter().all(Vec::is_empty) {
        return Ok(Vec::new());
    }
    let mut made = Vec::new();
    for position in 0..ctx.operands.len() {
        if ctx.bounds.get(position).is_some_and(|bounds| !bounds.is_empty())
            && let Some(value @ Value::Known(_)) = ctx.optional(position)
        {
            let tensor = unknown(ctx, value)?;
            ctx.operands[position] = Some(tensor.clone());
            made.push((position, tensor));
        }
    }
    Ok(made)
}

/// Returns the extents of a node's results that a run gives or finds. Masks operands whose places the node mixes.
pub(super) fn of_results(ctx: &mut NodeLowering<'_>, entry: &OnnxOpEntry) -> Result<Passed, Problem> {
    let has_sizes = ctx.sizes.iter().any(|sizes| !sizes.is_empty());
    if !has_sizes && ctx.bounds.iter().all(Vec::is_empty) {
        return Ok(Passed::default());
    }
    let own = own_name(ctx);
    if has_sizes {
        if let Some(passed) = made_of_sizes(ctx, own)? {
            return Ok(passed);
        }
        // The number of elements of a list of extents is the same in each run.
        if matches!(own, "Shape" | "Size") && ctx.bounds.iter().all(Vec::is_empty) {
            return Ok(Passed::default());
        }
        if let Some(sizes) = sizes::of_results(ctx, entry, own)? {
            return Ok(Passed { sizes, ..Passed::default() });
        }
        sizes::to_tensors(ctx)?;
    }
    let Some(first) = ctx.bounds.iter().flatten().next().cloned() else { return Ok(Passed::default()) };
    if own == "Shape" {
        let sizes = vec![sizes::of_shape(ctx, &ctx.bounds[0])?];
        return Ok(Passed { sizes, ..Passed::default() });
    }
    of_bounds(ctx, own, &first)?.ok_or_else(|| mixed(&first))
}

/// Returns the axes of a result whose extents an operand states. `None` if the operator takes no such operand.
fn made_of_sizes(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Passed>, Problem> {
    let is_given: Vec<bool> = ctx.sizes.iter().map(|sizes| !sizes.is_empty()).collect();
    // A slice may also begin at such an extent.
    let is_told = |position: usize| is_extent(own, position) || (own == "Slice" && position == 1);
    if !is_given.iter().enumerate().any(|(position, &is_given)| is_given && is_told(position)) {
        return Ok(None);
    }
    let stated = |ctx: &NodeLowering<'_>| {
        let sizes = ctx.sizes.iter().flatten().flatten().next();
        stated(sizes.map_or(0, |size| size.bound))
    };
    let bounds = match own {
        "Range" => return bounded_shapes::range(ctx)?.ok_or_else(|| stated(ctx)).map(Some),
        "ConstantOfShape" => Some(bounded_shapes::filled(ctx)),
        "Expand" => bounded_shapes::expand(ctx)?,
        "Reshape" => bounded_shapes::reshape(ctx)?,
        "Resize" => bounded_images::resized(ctx)?,
        "Slice" => bounded_shapes::sliced_to_sizes(ctx)?,
        _ => top_k(ctx)?,
    };
    match bounds {
        Some(bounds) if is_given.first() != Some(&true) || own == "ConstantOfShape" => Ok(Some(Passed::on(bounds))),
        _ => Err(stated(ctx)),
    }
}

fn stated(bound: usize) -> Problem {
    let reason = format!(
        "the extents that it is told depend on one that is found in a run, and is at most {bound}; its result would not \
         keep that as an axis of its own"
    );
    Problem::new(reason, "cut the graph in front of it, and compute the rest on the results")
}

/// Returns the extents that a node with such operands passes on. `None` if it would read places behind them.
fn of_bounds(ctx: &mut NodeLowering<'_>, own: &str, first: &BoundedAxis) -> Result<Option<Passed>, Problem> {
    let bounds = match own {
        own if BY_ELEMENT.contains(&own) => by_element(ctx),
        "Concat" => bounded_joins::concat(ctx)?,
        "MatMul" => product(ctx, [false; 2])?,
        "Gemm" => gemm(ctx)?,
        "Einsum" => einsum(ctx)?,
        "MatMulInteger" => product_of_integers(ctx, [0, 1])?,
        "QLinearMatMul" => product_of_integers(ctx, [0, 3])?,
        "LSTM" | "GRU" | "RNN" => return recurrent(ctx),
        // The range of all values has zero in it.
        "" if ctx.node.op == "DynamicQuantizeLSTM" => {
            masks::mask(ctx, 0, &ctx.bounds[0].clone(), Neutral::Zero)?;
            return recurrent(ctx);
        }
        "" if ctx.node.domain == OF_RUNTIME => bounded_fused::of_runtime(ctx, first)?,
        "Gather" => bounded_indices::gather(ctx)?,
        "GatherND" => bounded_indices::gather_nd(ctx)?,
        "GatherElements" => bounded_indices::gather_elements(ctx)?,
        "Scatter" | "ScatterElements" => bounded_indices::scatter_elements(ctx)?,
        "ScatterND" => bounded_indices::scatter_nd(ctx)?,
        "NonMaxSuppression" => suppressed(ctx)?,
        "NonZero" => non_zero(ctx)?,
        "Compress" => compressed(ctx)?,
        "RoiAlign" => pooled_regions(ctx)?,
        _ if ctx.bounds.iter().filter(|bounds| !bounds.is_empty()).count() > 1 => None,
        // All others read rows of their first operand.
        _ if ctx.bounds.first().is_none_or(Vec::is_empty) => None,
        "Reshape" => bounded_shapes::reshape(ctx)?,
        "Expand" => bounded_shapes::expand(ctx)?,
        "Flatten" => bounded_shapes::flatten(ctx)?,
        "DynamicQuantizeLinear" => {
            let bounds = ctx.bounds[0].clone();
            masks::mask(ctx, 0, &bounds, Neutral::Zero)?;
            return Ok(Some(Passed { bounds: vec![bounds, vec![]], ..Passed::default() }));
        }
        "AveragePool" => return bounded_windows::averaged(ctx),
        "Conv" | "ConvInteger" | "ConvTranspose" | "LpPool" | "MaxPool" | "QLinearConv" => {
            bounded_windows::windowed(ctx, own)?
        }
        "Resize" | "Upsample" => bounded_images::resized(ctx)?,
        "DepthToSpace" | "SpaceToDepth" => bounded_images::folded(ctx, own)?,
        "Pad" => bounded_images::padded(ctx)?,
        "GlobalAveragePool" | "GlobalMaxPool" => return global_pool(ctx, own),
        "InstanceNormalization" => return bounded_means::instance(ctx),
        "ReduceMean" => return mean(ctx),
        own if own.starts_with("Reduce") => reduction(ctx, own)?,
        "ArgMax" | "ArgMin" => return index(ctx, own),
        "Softmax" | "LogSoftmax" => softmax(ctx)?,
        "TopK" => top_k(ctx)?,
        "CumSum" => cum_sum(ctx)?,
        _ => each(ctx, own)?,
    };
    Ok(bounds.map(Passed::on))
}

/// The scores of boxes behind an extent become such that no box with them is selected. The result has an extent of its own.
fn suppressed(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let [of_boxes, of_scores] = [0, 1].map(|operand| ctx.bounds.get(operand).cloned().unwrap_or_default());
    let others = ctx.bounds.iter().skip(2).all(Vec::is_empty);
    let ([boxes], [scores], true) = (&of_boxes[..], &of_scores[..], others) else { return Ok(None) };
    if boxes.axis != 1 || !scores.is_like(&boxes.on(2)) {
        return Ok(None);
    }
    masks::mask(ctx, 1, &of_scores, Neutral::Least)?;
    Ok(Some(Vec::new()))
}

/// Places behind an extent become zero, so that none of them is found. Exporters look up the places for each use of a mask,
/// so that the masked operand is made once.
fn non_zero(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let key = view(&ctx.operand(0)?);
    if let Some(known) = key.as_ref().and_then(|key| ctx.lowering.open.zeroed.get(key).cloned()) {
        ctx.operands[0] = Some(known);
        return Ok(Some(Vec::new()));
    }
    masks::mask(ctx, 0, &ctx.bounds[0].clone(), Neutral::Zero)?;
    if let Some(key) = key {
        let zeroed = ctx.operand(0)?;
        ctx.lowering.open.zeroed.insert(key, zeroed);
    }
    Ok(Some(Vec::new()))
}

/// Places behind an extent are not selected. Only the axis that is selected along may have an extent of a run.
fn compressed(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let [of_data, of_condition] = [0, 1].map(|operand| ctx.bounds.get(operand).cloned().unwrap_or_default());
    if !ctx.has("axis") || of_condition.is_empty() {
        return Ok(None);
    }
    let along = ctx.axis(rank(ctx, 0), 0)?;
    if of_data.iter().any(|bounded| bounded.axis != along) {
        return Ok(None);
    }
    masks::mask(ctx, 1, &of_condition, Neutral::Zero)?;
    Ok(Some(Vec::new()))
}

/// Each region is pooled alone. Those behind the extent become such that they read the first image's first place.
fn pooled_regions(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let [of_images, of_regions, of_numbers] =
        [0, 1, 2].map(|operand| ctx.bounds.get(operand).cloned().unwrap_or_default());
    let ([], [regions]) = (&of_images[..], &of_regions[..]) else { return Ok(None) };
    let are_alike = |numbers: &BoundedAxis| numbers.is_like(regions);
    if regions.axis != 0 || !of_numbers.iter().all(are_alike) {
        return Ok(None);
    }
    masks::mask(ctx, 1, &of_regions, Neutral::Zero)?;
    masks::mask(ctx, 2, &of_numbers, Neutral::Zero)?;
    Ok(Some(of_regions.clone()))
}

/// Sequences of a batch are computed one by one. An extent of steps becomes the number of steps of each sequence, behind
/// which a cell keeps its state.
fn recurrent(ctx: &mut NodeLowering<'_>) -> Result<Option<Passed>, Problem> {
    let by_step = ctx.int("layout")?.unwrap_or(0) == 0 && ctx.optional(4).is_none();
    if let ([steps], true) = (&ctx.bounds[0].clone()[..], ctx.bounds[1..].iter().all(Vec::is_empty))
        && steps.axis == 0
        && by_step
    {
        let batch = ctx.operand(0)?.dims().get(1).copied().unwrap_or(1);
        let zeros = Value::Known(Array::of_ints(vec![batch], ElementType::I32, vec![0; batch]));
        let count = Value::Computed(steps.size.count.clone());
        let lengths = lower::two(ctx, Binary::Add, &zeros, &count, ElementType::I32)?;
        ctx.operands.resize(ctx.operands.len().max(5), None);
        ctx.operands[4] = Some(Value::Computed(lengths));
        return Ok(Some(Passed { bounds: vec![vec![steps.clone()], vec![]], ..Passed::default() }));
    }
    let states = ctx.bounds.iter().enumerate().filter(|(position, _)| matches!(position, 0 | 5 | 6));
    let batches: Option<Vec<BoundedAxis>> = states
        .filter(|(position, _)| ctx.optional(*position).is_some())
        .map(|(_, bounds)| match &bounds[..] {
            [bounded] if bounded.axis == 1 => Some(bounded.clone()),
            _ => None,
        })
        .collect();
    let others =
        ctx.bounds.iter().enumerate().any(|(position, bounds)| matches!(position, 1..=4 | 7) && !bounds.is_empty());
    let Some([first, more @ ..]) = batches.as_deref() else { return Ok(None) };
    let is_alike = by_step && !others && more.iter().all(|other| other.is_like(first));
    // All states of a sequence have an axis for directions before batches.
    Ok(is_alike.then(|| Passed { bounds: vec![vec![first.on(2)], vec![first.on(1)]], ..Passed::default() }))
}

/// Returns the bounded axes that a reduction sums up, and those of its result.
fn reduced(ctx: &NodeLowering<'_>) -> Result<[Vec<BoundedAxis>; 2], Problem> {
    let Some(over) = ctx.reduced_axes(rank(ctx, 0))? else { return Ok([vec![], ctx.bounds[0].clone()]) };
    let keep = ctx.flag("keepdims", true)?;
    let (summed, kept): (Vec<_>, Vec<_>) =
        ctx.bounds[0].iter().cloned().partition(|bounded| over.contains(&bounded.axis));
    let before = |axis: usize| if keep { 0 } else { over.iter().filter(|&&other| other < axis).count() };
    Ok([summed, kept.iter().map(|bounded| bounded.on(bounded.axis - before(bounded.axis))).collect()])
}

fn reduction(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let kind = match own {
        "ReduceSum" => ReduceKind::Sum,
        "ReduceSumSquare" => ReduceKind::SumSquare,
        "ReduceL1" => ReduceKind::L1,
        "ReduceL2" => ReduceKind::L2,
        "ReduceLogSum" => ReduceKind::LogSum,
        "ReduceLogSumExp" => ReduceKind::LogSumExp,
        "ReduceProd" => ReduceKind::Prod,
        "ReduceMax" => ReduceKind::Max,
        "ReduceMin" => ReduceKind::Min,
        _ => return Ok(None),
    };
    let [summed, kept] = reduced(ctx)?;
    // Without any places, the result would be the least or greatest integer of its type.
    let is_extreme = matches!(kind, ReduceKind::Max | ReduceKind::Min) && ctx.operand(0)?.element_type().is_integer();
    if is_extreme && summed.iter().any(|bounded| bounded.size.least == 0) {
        return Ok(None);
    }
    masks::mask(ctx, 0, &summed, Neutral::of(kind))?;
    Ok(Some(kept))
}

/// A mean over as many places as the bound is scaled to the extent.
fn mean(ctx: &mut NodeLowering<'_>) -> Result<Option<Passed>, Problem> {
    let [summed, kept] = reduced(ctx)?;
    // A mean of integers is truncated, so that it cannot be scaled.
    if !summed.is_empty() && !ctx.operand(0)?.element_type().is_float() {
        return Ok(None);
    }
    masks::mask(ctx, 0, &summed, Neutral::Zero)?;
    let factor = masks::share(ctx, &summed)?;
    Ok(Some(Passed { factor, ..Passed::on(kept) }))
}

/// A pool over all of an image or signal, whose axes follow those of items and channels.
fn global_pool(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Passed>, Problem> {
    let (pooled, kept): (Vec<_>, Vec<_>) = ctx.bounds[0].iter().cloned().partition(|bounded| bounded.axis > 1);
    let is_mean = own == "GlobalAveragePool";
    masks::mask(ctx, 0, &pooled, if is_mean { Neutral::Zero } else { Neutral::Least })?;
    let factor = if is_mean { masks::share(ctx, &pooled)? } else { None };
    Ok(Some(Passed { factor, ..Passed::on(kept) }))
}

/// The first of equal values wins, so that none behind the extent does. If the last one wins, one behind the extent does so
/// only if all values are the least, of which the last one is at the end of the extent.
fn index(ctx: &mut NodeLowering<'_>, own: &str) -> Result<Option<Passed>, Problem> {
    let along = ctx.axis(rank(ctx, 0), 0)?;
    let (keep, last) = (ctx.flag("keepdims", true)?, ctx.flag("select_last_index", false)?);
    let (found, others): (Vec<_>, Vec<_>) = ctx.bounds[0].iter().cloned().partition(|bounded| bounded.axis == along);
    if found.iter().any(|bounded| bounded.size.least == 0) {
        return Ok(None);
    }
    let mut limit = None;
    if let (Some(bounded), true) = (found.first(), last) {
        let count = reshaped(ctx.lowering, &Value::Computed(bounded.size.count.clone()), &[])?;
        let last = lower::two(ctx, Binary::Sub, &count, &Value::integers(vec![1]), ElementType::I64)?;
        limit = Some(reshaped(ctx.lowering, &Value::Computed(last), &[])?);
    }
    let neutral = if own == "ArgMax" { Neutral::Least } else { Neutral::Greatest };
    masks::mask(ctx, 0, &found, neutral)?;
    let to = |bounded: &BoundedAxis| bounded.on(bounded.axis - usize::from(!keep && bounded.axis > along));
    Ok(Some(Passed { limit, ..Passed::on(others.iter().map(to).collect()) }))
}

fn softmax(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let bounds = ctx.bounds[0].clone();
    let rank = rank(ctx, 0);
    let is_old = ctx.opset < 13;
    let along = axis(ctx.int("axis")?.unwrap_or(if is_old { 1 } else { -1 }), rank)?;
    // Softmax flattened the axes from the named one on before operator set 13.
    let in_line = |bounded: &&BoundedAxis| if is_old { bounded.axis >= along } else { bounded.axis == along };
    let line: Vec<BoundedAxis> = bounds.iter().filter(in_line).cloned().collect();
    masks::mask(ctx, 0, &line, Neutral::Least)?;
    Ok(Some(bounds))
}

/// The result has as many places as the operand, but at most the number that the node states, or those of an extent that
/// is found in a run.
fn top_k(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let along = ctx.axis(rank(ctx, 0), -1)?;
    let told = ctx.sizes.get(1).and_then(|sizes| sizes.first().cloned().flatten());
    let most = match ctx.optional(1) {
        Some(_) => usize::try_from(ctx.integer(1, "number")?).unwrap_or(0),
        None => ctx.size("k", 0)?,
    };
    let neutral = if ctx.flag("largest", true)? { Neutral::Least } else { Neutral::Greatest };
    let mut passed = Vec::new();
    for bounded in &ctx.bounds.first().cloned().unwrap_or_default() {
        if bounded.axis != along {
            passed.push(bounded.clone());
            continue;
        }
        masks::mask(ctx, 0, std::slice::from_ref(bounded), neutral)?;
        if told.is_none() {
            passed.extend(at_most(ctx, bounded, most)?);
        }
    }
    passed.extend(told.map(|size| BoundedAxis { axis: along, size }));
    passed.sort_by_key(|bounded| bounded.axis);
    Ok(Some(passed))
}

/// Sums that run forwards reach no place behind the extent before those in front of it.
fn cum_sum(ctx: &mut NodeLowering<'_>) -> Result<Option<Vec<BoundedAxis>>, Problem> {
    let bounds = ctx.bounds[0].clone();
    let along = axis(ctx.integer(1, "axis")?, rank(ctx, 0))?;
    if ctx.flag("reverse", false)? {
        let along: Vec<BoundedAxis> = bounds.iter().filter(|bounded| bounded.axis == along).cloned().collect();
        masks::mask(ctx, 0, &along, Neutral::Zero)?;
    }
    Ok(Some(bounds))
}

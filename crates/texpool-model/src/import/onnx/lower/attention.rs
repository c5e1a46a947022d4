//! Lowers attention: products of queries and keys become weights, which the values are summed by.

use super::{
    basic::{one, two},
    concat::joined,
    matmul::product,
    quant::apply,
    shapes::{reshaped, transposed},
    softmax::normalised,
};
use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("Attention", 23, Floats, "binary, concat, matmul, softmax, unary", Any, attention)];

/// Queries, keys and values, each `[batch, heads, places, size]`. A head of keys may serve several heads of queries.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    pub(super) queries: Value,
    pub(super) keys: Value,
    pub(super) values: Value,
}

/// Describes how the products of queries and keys become weights.
#[derive(Debug, Default)]
pub(super) struct Weighing {
    /// Factor of the products. One over the root of a query's size if it is missing.
    pub(super) scale: Option<f32>,
    /// Bound that a hyperbolic tangent keeps the products within. 0 for none.
    pub(super) softcap: f32,
    /// Numbers that are added to the products.
    pub(super) bias: Option<Value>,
}

/// Result of an attention.
#[derive(Debug)]
pub(super) struct Attended {
    /// `[batch, heads, places, size]`.
    pub(super) result: Value,
    /// The products, the bounded products, these with the bias, and the weights: `[batch, heads, places, keys]` each.
    pub(super) stages: [Value; 4],
}

impl Weighing {
    /// Adds numbers to the bias.
    pub(super) fn add(&mut self, ctx: &mut NodeLowering<'_>, bias: Value) -> Result<(), Problem> {
        self.bias = Some(match self.bias.take() {
            Some(before) => apply(ctx, Binary::Add, &before, &bias)?,
            None => bias,
        });
        Ok(())
    }
}

impl Heads {
    /// Returns the number of places of queries, and the number of keys.
    pub(super) fn extents(&self) -> Result<[usize; 2], Problem> {
        match (self.queries.dims(), self.keys.dims()) {
            (&[_, _, places, _], &[_, _, keys, _]) => Ok([places, keys]),
            (queries, keys) => Err(Problem::malformed(format!("its queries are {queries:?}, its keys {keys:?}"))),
        }
    }

    /// Refuses queries, keys and values that do not fit one another.
    fn fit(&self) -> Result<(), Problem> {
        let [q, k, v] = [&self.queries, &self.keys, &self.values].map(Value::dims);
        let fits = match (q, k, v) {
            (&[batch, heads, _, size], &[of_keys, groups, known, depth], &[of_values, others, count, _]) => {
                let is_alike = of_keys == batch && of_values == batch && depth == size;
                is_alike && others == groups && count == known && groups > 0 && heads.is_multiple_of(groups)
            }
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => Err(Problem::malformed(format!(
                "queries of {q:?}, keys of {k:?} and values of {v:?} do not fit one another"
            ))),
        }
    }

    /// Returns the products of queries and keys, `[batch, heads, places, keys]`, times a factor: one over the root of a
    /// query's size if it is missing.
    pub(super) fn products(&self, ctx: &mut NodeLowering<'_>, scale: Option<f32>) -> Result<Value, Problem> {
        self.fit()?;
        let [batch, heads, places, size] = four(&self.queries)?;
        let [_, groups, known, _] = four(&self.keys)?;
        Problem::check_result(&[batch, heads, places, known])?;
        // Heads that share keys are further rows of one product.
        let rows = heads / groups * places;
        let scaled = match scale.unwrap_or(1.0 / (size as f32).sqrt()) {
            1.0 => self.queries.clone(),
            scale => {
                let elem = self.queries.element_type();
                Value::Computed(two(ctx, Binary::Mul, &self.queries, &math::scalar(scale), elem)?)
            }
        };
        let grouped = reshaped(ctx.lowering, &scaled, &[batch, groups, rows, size])?;
        let turned = transposed(ctx.lowering, &self.keys, &[0, 1, 3, 2])?;
        let products = product(ctx, &grouped, &turned)?;
        reshaped(ctx.lowering, &products, &[batch, heads, places, known])
    }

    /// Sums the values by weights, `[batch, heads, places, keys]`.
    pub(super) fn summed(&self, ctx: &mut NodeLowering<'_>, weights: &Value) -> Result<Value, Problem> {
        let [batch, heads, places, known] = four(weights)?;
        let [_, groups, _, width] = four(&self.values)?;
        let grouped = reshaped(ctx.lowering, weights, &[batch, groups, heads / groups * places, known])?;
        let summed = product(ctx, &grouped, &self.values)?;
        reshaped(ctx.lowering, &summed, &[batch, heads, places, width])
    }
}

/// Returns the extents of a value with four axes.
fn four(value: &Value) -> Result<[usize; 4], Problem> {
    let dims = value.dims();
    <[usize; 4]>::try_from(dims).map_err(|_| Problem::malformed(format!("queries, keys or values of {dims:?}")))
}

/// Computes an attention.
pub(super) fn attended(ctx: &mut NodeLowering<'_>, heads: &Heads, by: &Weighing) -> Result<Attended, Problem> {
    let products = heads.products(ctx, by.scale)?;
    let elem = heads.queries.element_type();
    let bounded = match by.softcap {
        0.0 => products.clone(),
        cap => {
            let parts = two(ctx, Binary::Mul, &products, &math::scalar(1.0 / cap), elem)?;
            let curved = Value::Computed(one(ctx, Unary::Tanh, &parts, elem)?);
            Value::Computed(two(ctx, Binary::Mul, &curved, &math::scalar(cap), elem)?)
        }
    };
    let biased = match &by.bias {
        Some(bias) => Value::Computed(two(ctx, Binary::Add, &bounded, bias, elem)?),
        None => bounded.clone(),
    };
    let lines = ctx.compute(&biased)?;
    if lines.dims != products.dims() {
        let [_, heads, places, _] = four(&products)?;
        return Err(Problem::malformed(format!("a mask makes {:?} of {heads} heads of {places} places", lines.dims)));
    }
    let weights = Value::Computed(normalised(ctx, &lines, &[3], false)?);
    let result = heads.summed(ctx, &weights)?;
    Ok(Attended { result, stages: [products, bounded, biased, weights] })
}

/// Splits `[batch, places, heads * size]` into `[batch, heads, places, size]`.
pub(super) fn split(ctx: &mut NodeLowering<'_>, value: &Value, heads: usize) -> Result<Value, Problem> {
    match *value.dims() {
        [batch, places, all] if heads > 0 && all.is_multiple_of(heads) => {
            let parted = reshaped(ctx.lowering, value, &[batch, places, heads, all / heads])?;
            transposed(ctx.lowering, &parted, &[0, 2, 1, 3])
        }
        ref dims => Err(Problem::malformed(format!("{dims:?} in {heads} heads"))),
    }
}

/// Joins `[batch, heads, places, size]` to `[batch, places, heads * size]`.
pub(super) fn unsplit(ctx: &mut NodeLowering<'_>, value: &Value) -> Result<Value, Problem> {
    let &[batch, heads, places, size] = value.dims() else { return Ok(value.clone()) };
    let turned = transposed(ctx.lowering, value, &[0, 2, 1, 3])?;
    reshaped(ctx.lowering, &turned, &[batch, places, heads * size])
}

/// Puts an operand with keys or values of earlier places in front of those of a node.
pub(super) fn after(ctx: &mut NodeLowering<'_>, earlier: usize, value: Value) -> Result<Value, Problem> {
    match ctx.optional(earlier) {
        Some(earlier) if earlier.dims().len() == 4 => joined(ctx, &[earlier, value], 2),
        Some(earlier) => Err(Problem::malformed(format!("its earlier keys or values are {:?}", earlier.dims()))),
        None => Ok(value),
    }
}

/// Returns numbers to add to products: 0 where a mask is not zero, and `hidden` elsewhere.
pub(super) fn unless(ctx: &mut NodeLowering<'_>, mask: &Value, hidden: f32) -> Result<Value, Problem> {
    apply(ctx, Binary::ZeroIf, mask, &math::scalar(hidden))
}

/// Hides the keys behind each query's own place, which `before` keys precede for the first query. A `window` other than
/// 0 is the number of keys up to that place that stay visible.
pub(super) fn causal(
    ctx: &mut NodeLowering<'_>,
    [queries, keys]: [usize; 2],
    before: usize,
    window: usize,
    hidden: f32,
) -> Result<Value, Problem> {
    let count = ctx.budget_for(&[queries, keys], 2 * size_of::<f32>(), 1)?;
    let bias = |at: usize| {
        let (own, key) = (at / keys.max(1) + before, at % keys.max(1));
        let is_seen = key <= own && (window == 0 || key + window > own);
        if is_seen { 0.0 } else { hidden }
    };
    let bias: Vec<f32> = (0..count).map(bias).collect();
    Ok(Value::Known(Array::of_floats(vec![queries, keys], ElementType::F32, &bias)))
}

/// Hides the keys of each batch from a number on.
pub(super) fn shorter(ctx: &mut NodeLowering<'_>, numbers: &Value, keys: usize, hidden: f32) -> Result<Value, Problem> {
    let numbers = reshaped(ctx.lowering, numbers, &[numbers.len(), 1, 1, 1])?;
    let places = places(ctx, keys)?;
    let seen = apply(ctx, Binary::Less, &places, &numbers)?;
    unless(ctx, &seen, hidden)
}

/// Returns the numbers of the keys, from 0 on.
pub(super) fn places(ctx: &mut NodeLowering<'_>, keys: usize) -> Result<Value, Problem> {
    let count = ctx.budget_for(&[keys], 2 * size_of::<i64>(), 1)?;
    Ok(Value::integers((0..count as i64).collect()))
}

/// A mask that is shorter than the keys hides the rest of them.
fn masked(ctx: &mut NodeLowering<'_>, mask: &Value, keys: usize) -> Result<Value, Problem> {
    let bias = match mask.element_type() {
        ElementType::Bool => unless(ctx, mask, f32::NEG_INFINITY)?,
        _ => mask.clone(),
    };
    let Some((&own, outer)) = bias.dims().split_last() else { return Ok(bias) };
    let Some(missing @ 1..) = keys.checked_sub(own).filter(|_| own > 1) else { return Ok(bias) };
    let dims = [outer, &[missing]].concat();
    let count = ctx.budget_for(&dims, 2 * size_of::<f32>(), 1)?;
    let rest = Array::of_floats(dims, ElementType::F32, &vec![f32::NEG_INFINITY; count]);
    let along = outer.len();
    joined(ctx, &[bias, Value::Known(rest)], along)
}

fn attention(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [mut queries, mut keys, mut values] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    let is_flat = queries.dims().len() == 3;
    if is_flat {
        let (heads, groups) = (ctx.size("q_num_heads", 0)?, ctx.size("kv_num_heads", 0)?);
        queries = split(ctx, &queries, heads)?;
        keys = split(ctx, &keys, groups)?;
        values = split(ctx, &values, groups)?;
    }
    let new = keys.dims().get(2).copied().unwrap_or(0);
    let heads = Heads { queries, keys: after(ctx, 4, keys)?, values: after(ctx, 5, values)? };
    let [places, known] = heads.extents()?;
    let scale = if ctx.has("scale") { Some(ctx.float("scale", 1.0)?) } else { None };
    let mut weighing = Weighing { scale, softcap: ctx.float("softcap", 0.0)?.max(0.0), bias: None };
    if let Some(mask) = ctx.optional(3) {
        weighing.bias = Some(masked(ctx, &mask, known)?);
    }
    if ctx.flag("is_causal", false)? {
        let bias = causal(ctx, [places, known], known - new, 0, f32::NEG_INFINITY)?;
        weighing.add(ctx, bias)?;
    }
    if let Some(numbers) = ctx.optional(6) {
        let bias = shorter(ctx, &numbers, known, f32::NEG_INFINITY)?;
        weighing.add(ctx, bias)?;
    }
    let Attended { result, stages } = attended(ctx, &heads, &weighing)?;
    let result = if is_flat { unsplit(ctx, &result)? } else { result };
    ctx.give(0, result);
    ctx.give(1, heads.keys);
    ctx.give(2, heads.values);
    if ctx.wants(3) {
        let mode = ctx.size("qk_matmul_output_mode", 0)?;
        let stage = stages.get(mode).cloned();
        let stage = stage.ok_or_else(|| Problem::malformed(format!("its qk_matmul_output_mode is {mode}")))?;
        ctx.give(3, stage);
    }
    Ok(())
}

//! Lowers LinearAttention, which keeps a matrix of what it has seen, and reads it by the query of each place in turn.

use super::{
    attention::{split, unsplit},
    basic::{one, two},
    concat::joined,
    matmul::product,
    shapes::{reshaped, transposed},
    slice::take,
};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, Unary};

/// Most places of a run, since each has nodes of its own.
const MAX_PLACES: usize = 1024;

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("LinearAttention", 27, Floats, "binary, concat, matmul, rearrange, unary", Any, attention)
        .limits("at most 1024 places of a run, one after another")];

/// Operands with one row for each place: `[batch, heads, places, size]`, where one head may stand for all.
struct Rows {
    /// Scaled.
    queries: Value,
    keys: Value,
    values: Value,
    /// Factors of the state, one for each row or one for all.
    kept: Option<Value>,
    /// Shares of a value that are written.
    rates: Option<Value>,
}

/// The matrix of each head, `[batch, heads, size of a key, size of a value]`. `None` for zeros.
type State = Option<Value>;

/// Splits an operand of `[batch, places, heads * size]`.
fn rows(
    ctx: &mut NodeLowering<'_>,
    value: &Value,
    heads: usize,
    [batch, places]: [usize; 2],
) -> Result<Value, Problem> {
    let parted = split(ctx, value, heads)?;
    match parted.dims() {
        &[own, _, count, _] if own == batch && count == places => Ok(parted),
        _ => Err(Problem::malformed(format!("{:?} for {batch} batches of {places} places", value.dims()))),
    }
}

impl Rows {
    fn of(ctx: &mut NodeLowering<'_>, heads: usize, groups: usize) -> Result<Self, Problem> {
        let [queries, keys, values] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
        let &[batch, places, width] = queries.dims() else {
            return Err(Problem::malformed(format!("its queries have the extents {:?}", queries.dims())));
        };
        let elem = queries.element_type();
        let around = [batch, places];
        let scale = match ctx.float("scale", 0.0)? {
            0.0 => 1.0 / ((width / heads) as f32).sqrt(),
            scale => scale,
        };
        let scaled = Value::Computed(two(ctx, Binary::Mul, &queries, &math::scalar(scale), elem)?);
        let (is_gated, is_corrected) = match ctx.text("update_rule", "gated_delta")?.as_str() {
            "linear" => (false, false),
            "gated" => (true, false),
            "delta" => (false, true),
            "gated_delta" => (true, true),
            other => return Err(Problem::malformed(format!("its update_rule is `{other}`"))),
        };
        let kept = match is_gated {
            true => {
                let decay = ctx.operand(4)?;
                let decay = rows(ctx, &decay, groups, around)?;
                let decay = ctx.compute(&decay)?;
                Some(Value::Computed(one(ctx, Unary::Exp, &decay, ElementType::F32)?))
            }
            false => None,
        };
        let rates = match is_corrected {
            true => {
                let rates = ctx.operand(5)?;
                let own = if rates.dims().last() == Some(&1) { 1 } else { groups };
                Some(rows(ctx, &rates, own, around)?)
            }
            false => None,
        };
        Ok(Self {
            queries: rows(ctx, &scaled, heads, around)?,
            keys: rows(ctx, &keys, groups, around)?,
            values: rows(ctx, &values, groups, around)?,
            kept,
            rates,
        })
    }

    /// Number of places.
    fn places(&self) -> usize {
        self.keys.dims()[2]
    }

    /// Refuses sizes that do not fit one another.
    fn fit(&self, state: &State) -> Result<(), Problem> {
        let [queries, keys, values] = [&self.queries, &self.keys, &self.values].map(Value::dims);
        let (batch, groups, size) = (keys[0], keys[1], keys[3]);
        let is_single = |rows: &Option<Value>| rows.as_ref().is_none_or(|rows| rows.dims()[3] == 1);
        let is_kept = |rows: &Value| rows.dims()[3] == 1 || rows.dims()[3] == size;
        let is_state = |state: &Value| state.dims() == [batch, groups, size, values[3]];
        let fits = queries[3] == size
            && self.kept.as_ref().is_none_or(is_kept)
            && is_single(&self.rates)
            && state.as_ref().is_none_or(is_state);
        if fits {
            return Ok(());
        }
        let reason = format!("queries of {queries:?}, keys of {keys:?} and values of {values:?} do not fit the others");
        Err(Problem::malformed(reason))
    }

    /// Changes the state at a place, and returns what the queries there read, `[batch, heads, 1, size of a value]`.
    fn step(&self, ctx: &mut NodeLowering<'_>, place: usize, state: &mut State) -> Result<Value, Problem> {
        let elem = ElementType::F32;
        let at = |ctx: &mut NodeLowering<'_>, rows: &Value| take(ctx, rows, &[(2, AxisRange::run(place, 1))]);
        let key = at(ctx, &self.keys)?;
        let column = transposed(ctx.lowering, &key, &[0, 1, 3, 2])?;
        if let (Some(kept), Some(before)) = (&self.kept, &state) {
            let kept = at(ctx, kept)?;
            let kept = transposed(ctx.lowering, &kept, &[0, 1, 3, 2])?;
            *state = Some(Value::Computed(two(ctx, Binary::Mul, before, &kept, elem)?));
        }
        let mut value = at(ctx, &self.values)?;
        if let Some(rates) = &self.rates {
            if let Some(state) = &state {
                let known = product(ctx, &key, state)?;
                value = Value::Computed(two(ctx, Binary::Sub, &value, &known, elem)?);
            }
            let rate = at(ctx, rates)?;
            value = Value::Computed(two(ctx, Binary::Mul, &value, &rate, elem)?);
        }
        let written = Value::Computed(two(ctx, Binary::Mul, &column, &value, elem)?);
        let now = match &state {
            Some(state) => Value::Computed(two(ctx, Binary::Add, state, &written, elem)?),
            None => written,
        };
        let query = at(ctx, &self.queries)?;
        let (heads, groups) = (query.dims()[1], key.dims()[1]);
        let (batch, size, width) = (key.dims()[0], key.dims()[3], value.dims()[3]);
        let shared = reshaped(ctx.lowering, &query, &[batch, groups, heads / groups, size])?;
        let read = product(ctx, &shared, &now)?;
        *state = Some(now);
        reshaped(ctx.lowering, &read, &[batch, heads, 1, width])
    }
}

fn attention(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (heads, groups) = (ctx.size("q_num_heads", 0)?, ctx.size("kv_num_heads", 0)?);
    if groups == 0 || heads == 0 || !heads.is_multiple_of(groups) {
        return Err(Problem::malformed(format!("{heads} heads of queries for {groups} heads of keys")));
    }
    let elem = ctx.operand(0)?.element_type();
    let mut state = ctx.optional(3);
    let of_state = state.as_ref().map_or(elem, Value::element_type);
    let rows = Rows::of(ctx, heads, groups)?;
    rows.fit(&state)?;
    if rows.places() > MAX_PLACES {
        let reason = format!("{} places, one after another: at most {MAX_PLACES} are supported", rows.places());
        return Err(Problem::limit(reason));
    }
    let mut read = Vec::with_capacity(rows.places());
    for place in 0..rows.places() {
        read.push(rows.step(ctx, place, &mut state)?);
    }
    let all = joined(ctx, &read, 2)?;
    let result = unsplit(ctx, &all)?;
    for (position, value, elem) in [(0, Some(result), elem), (1, state, of_state)] {
        if let Some(value) = value {
            let mut value = ctx.compute(&value)?;
            value.elem = elem;
            ctx.give(position, Value::Computed(value));
        }
    }
    Ok(())
}

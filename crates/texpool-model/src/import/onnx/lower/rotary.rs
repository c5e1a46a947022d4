//! Lowers rotary embeddings: pairs of values are turned by an angle of their place.

use super::{
    attention::{split, unsplit},
    basic::two,
    concat::joined,
    gather::{picked, picked_by},
    shapes::reshaped,
    slice::take,
};
use crate::import::{
    common::axes::{AxisRange, axis},
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

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("RotaryEmbedding", 23, Floats, "binary, concat, gather, rearrange", Any, embedding),
    OnnxOpEntry::new("RotaryEmbedding", 1, Floats, "binary, concat, gather, rearrange", Any, of_runtime)
        .domain(OF_RUNTIME)
        .limits("a scale of 1; batches are not packed"),
];

/// Cosines and sines of the angles, `[batch, 1, places, pairs]` each.
#[derive(Clone, Debug)]
pub(super) struct Angles {
    cosines: Value,
    sines: Value,
    /// True if the values of a pair are neighbours. Else they are half of all turned values apart.
    is_interleaved: bool,
}

impl Angles {
    /// Takes rows of two tables, one for each place of a batch.
    pub(super) fn looked_up(
        ctx: &mut NodeLowering<'_>,
        tables: [Value; 2],
        places: &Value,
        is_interleaved: bool,
    ) -> Result<Self, Problem> {
        let [cosines, sines] = tables;
        Self::of([rows(ctx, &cosines, places)?, rows(ctx, &sines, places)?], ctx, is_interleaved)
    }

    /// Takes `[batch, places, pairs]` each.
    fn of(tables: [Value; 2], ctx: &mut NodeLowering<'_>, is_interleaved: bool) -> Result<Self, Problem> {
        let mut spread = |table: &Value| match *table.dims() {
            [batch, places, pairs] => reshaped(ctx.lowering, table, &[batch, 1, places, pairs]),
            ref dims => Err(Problem::malformed(format!("its cosines or sines are {dims:?}"))),
        };
        let [cosines, sines] = tables;
        Ok(Self { cosines: spread(&cosines)?, sines: spread(&sines)?, is_interleaved })
    }

    /// Turns the first values of `[batch, heads, places, size]`.
    pub(super) fn turn(&self, ctx: &mut NodeLowering<'_>, x: &Value) -> Result<Value, Problem> {
        let (cosines, sines) = (self.cosines.dims(), self.sines.dims());
        let (&[batch, heads, places, size], &[_, _, _, pairs]) = (x.dims(), cosines) else {
            return Err(Problem::malformed(format!("it turns {:?}", x.dims())));
        };
        if cosines != sines || pairs == 0 || 2 * pairs > size || cosines[2] != places {
            let reason = format!("cosines of {cosines:?} and sines of {sines:?} do not turn {:?}", x.dims());
            return Err(Problem::malformed(reason));
        }
        let stride = if pairs > 1 { 2 } else { 1 };
        let range = |second: usize| match self.is_interleaved {
            true => AxisRange { begin: second, stride, count: pairs },
            false => AxisRange::run(second * pairs, pairs),
        };
        let elem = x.element_type();
        let [first, second] = [take(ctx, x, &[(3, range(0))])?, take(ctx, x, &[(3, range(1))])?];
        let mut node = |binary, a: &Value, b: &Value| two(ctx, binary, a, b, elem).map(Value::Computed);
        let minuend = node(Binary::Mul, &first, &self.cosines)?;
        let subtrahend = node(Binary::Mul, &second, &self.sines)?;
        let real = node(Binary::Sub, &minuend, &subtrahend)?;
        let summands = [node(Binary::Mul, &first, &self.sines)?, node(Binary::Mul, &second, &self.cosines)?];
        let imaginary = node(Binary::Add, &summands[0], &summands[1])?;
        let mut parts = vec![real, imaginary];
        if self.is_interleaved {
            let pair = [batch, heads, places, pairs, 1];
            let columns =
                parts.iter().map(|part| reshaped(ctx.lowering, part, &pair)).collect::<Result<Vec<_>, _>>()?;
            let turned = joined(ctx, &columns, 4)?;
            parts = vec![reshaped(ctx.lowering, &turned, &[batch, heads, places, 2 * pairs])?];
        }
        if size > 2 * pairs {
            parts.push(take(ctx, x, &[(3, AxisRange::run(2 * pairs, size - 2 * pairs))])?);
        }
        joined(ctx, &parts, 3)
    }
}

/// Returns the row of a table for each number.
pub(super) fn rows(ctx: &mut NodeLowering<'_>, table: &Value, numbers: &Value) -> Result<Value, Problem> {
    let &[count, width] = table.dims() else {
        return Err(Problem::malformed(format!("its table is {:?}, has no rows", table.dims())));
    };
    let dims = [numbers.dims(), &[width]].concat();
    let found = match numbers {
        Value::Known(numbers) => {
            let list = numbers.to_i64().ok_or_else(|| Problem::malformed("its numbers of rows are no integers"))?;
            ctx.budget_for(&[list.len()], 4 * size_of::<usize>(), 2)?;
            let list = list.iter().map(|&row| axis(row, count)).collect::<Result<Vec<_>, _>>();
            let list = list.map_err(|_| Problem::malformed(format!("it reads rows beyond the {count} of a table")))?;
            picked(ctx, table, 0, &list)?
        }
        Value::Computed(numbers) => picked_by(ctx, table, 0, numbers)?,
    };
    reshaped(ctx.lowering, &found, &dims)
}

/// Turns a value, which may have its heads on the last axis.
fn turned(ctx: &mut NodeLowering<'_>, x: &Value, heads: usize, angles: &Angles) -> Result<(), Problem> {
    let result = match x.dims().len() {
        3 => {
            let parted = split(ctx, x, heads)?;
            let turned = angles.turn(ctx, &parted)?;
            unsplit(ctx, &turned)?
        }
        _ => angles.turn(ctx, x)?,
    };
    ctx.give(0, result);
    Ok(())
}

/// Fails if a node states another number of values to turn than its tables do.
fn check_dim(ctx: &NodeLowering<'_>, cosines: &Value) -> Result<(), Problem> {
    let (dim, pairs) = (ctx.size("rotary_embedding_dim", 0)?, cosines.dims().last().copied().unwrap_or(0));
    match dim {
        0 => Ok(()),
        dim if dim == 2 * pairs => Ok(()),
        dim => Err(Problem::malformed(format!("its rotary_embedding_dim is {dim}, for cosines of {pairs} pairs"))),
    }
}

fn embedding(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [x, cosines, sines] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?];
    check_dim(ctx, &cosines)?;
    let is_interleaved = ctx.flag("interleaved", false)?;
    let angles = match ctx.optional(3) {
        Some(places) => Angles::looked_up(ctx, [cosines, sines], &places, is_interleaved)?,
        None => Angles::of([cosines, sines], ctx, is_interleaved)?,
    };
    let heads = ctx.size("num_heads", 0)?;
    turned(ctx, &x, heads, &angles)
}

/// One place stands for the first one of all batches.
fn of_runtime(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.float("scale", 1.0)? != 1.0 || ctx.flag("is_packed_batching", false)? {
        return Err(Problem::unsupported("it scales, or its batches are packed"));
    }
    let [x, mut places, cosines, sines] = [ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?, ctx.operand(3)?];
    check_dim(ctx, &cosines)?;
    let &[.., count, last] = x.dims() else {
        return Err(Problem::malformed(format!("it turns {:?}", x.dims())));
    };
    if places.dims() == [1] {
        let numbers = (0..ctx.budget_for(&[count], 2 * size_of::<i64>(), 1)? as i64).collect();
        let numbers = Array::of_ints(vec![1, count], ElementType::I64, numbers);
        places = match &places {
            Value::Known(first) => {
                let first = first.to_i64().and_then(<[i64]>::first).copied().unwrap_or(0);
                let numbers = numbers.to_i64().unwrap_or_default();
                let numbers = numbers.iter().map(|number| number.saturating_add(first)).collect();
                Value::Known(Array::of_ints(vec![1, count], ElementType::I64, numbers))
            }
            first => Value::Computed(two(ctx, Binary::Add, first, &Value::Known(numbers), ElementType::I64)?),
        };
    }
    let pairs = cosines.dims().last().copied().unwrap_or(0);
    let heads = match ctx.size("num_heads", 0)? {
        0 => last / (2 * pairs).max(1),
        heads => heads,
    };
    let is_interleaved = ctx.flag("interleaved", false)?;
    let angles = Angles::looked_up(ctx, [cosines, sines], &places, is_interleaved)?;
    turned(ctx, &x, heads, &angles)
}

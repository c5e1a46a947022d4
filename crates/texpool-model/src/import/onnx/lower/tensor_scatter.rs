//! Lowers TensorScatter, which writes new keys or values to a cache, from a place of its own on for each batch.

use super::{
    attention::places,
    basic::selected,
    gather::{picked, picked_by},
    quant::apply,
    shapes::{reshaped, transposed},
};
use crate::import::{
    error::Problem,
    onnx::{
        fold::math,
        integers::mark_nodes,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::All,
};
use texpool_ops::graph::{Binary, ElementType};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("TensorScatter", 24, All, "binary, gather", Any, tensor_scatter)];

/// A cache, and what is written to it.
struct Write {
    cache: Value,
    update: Value,
    /// First place of each batch, `[batch, 1]`.
    starts: Value,
    along: usize,
    /// Continues at the begin of the cache behind its end.
    is_circular: bool,
}

impl Write {
    fn of(ctx: &mut NodeLowering<'_>) -> Result<Self, Problem> {
        let (cache, update) = (Value::Computed(ctx.computed(0)?), ctx.operand(1)?);
        let (into, dims) = (cache.dims(), update.dims());
        let along = ctx.axis(into.len(), -2)?;
        let fits = |(axis, (&own, &room)): (usize, (&usize, &usize))| own == room || axis == along && own < room;
        if along == 0 || dims.len() != into.len() || !dims.iter().zip(into).enumerate().all(fits) {
            return Err(Problem::malformed(format!("it writes {dims:?} to a cache of {into:?} along axis {along}")));
        }
        let is_circular = match ctx.text("mode", "linear")?.as_str() {
            "linear" => false,
            "circular" => true,
            other => return Err(Problem::malformed(format!("its mode is `{other}`"))),
        };
        let starts = ctx.optional(2).unwrap_or_else(|| Value::integers(vec![0; into[0].min(1)]));
        if ctx.optional(2).is_some() && starts.dims() != [into[0]] {
            return Err(Problem::malformed(format!("{:?} places for {} batches", starts.dims(), into[0])));
        }
        let starts = reshaped(ctx.lowering, &starts, &[starts.len(), 1])?;
        Ok(Self { cache, update, starts, along, is_circular })
    }

    /// Number of batches, of places, and of new places.
    fn extents(&self) -> [usize; 3] {
        [self.cache.dims()[0], self.cache.dims()[self.along], self.update.dims()[self.along]]
    }

    /// Returns the distance of each place of the cache from the first new one, `[batch, places]`, or `[1, places]` if it
    /// is the same for all batches.
    fn distances(&self, ctx: &mut NodeLowering<'_>) -> Result<Value, Problem> {
        let [_, extent, _] = self.extents();
        let list = places(ctx, extent)?;
        let distances = apply(ctx, Binary::Sub, &list, &self.starts)?;
        match self.is_circular {
            true => apply(ctx, Binary::Mod, &distances, &math::scalar(extent as f32)),
            false => Ok(distances),
        }
    }

    /// Returns whether each place is written.
    fn is_new(&self, ctx: &mut NodeLowering<'_>, distances: &Value) -> Result<Value, Problem> {
        let [_, _, count] = self.extents();
        if count == 1 {
            return apply(ctx, Binary::Equal, distances, &math::scalar(0.0));
        }
        let below = apply(ctx, Binary::Less, distances, &math::scalar(count as f32))?;
        if self.is_circular {
            return Ok(below);
        }
        let from = apply(ctx, Binary::GreaterEqual, distances, &math::scalar(0.0))?;
        apply(ctx, Binary::And, &from, &below)
    }

    /// Returns the element of the update for each place of the cache. Places that are not written have any.
    fn spread(&self, ctx: &mut NodeLowering<'_>, distances: &Value) -> Result<Value, Problem> {
        let [batch, extent, count] = self.extents();
        if count == 1 {
            return Ok(self.update.clone());
        }
        let first = ctx.lowering.graph.nodes.len();
        let least = apply(ctx, Binary::Maximum, distances, &math::scalar(0.0))?;
        let within = apply(ctx, Binary::Minimum, &least, &math::scalar((count - 1) as f32))?;
        ctx.budget_for(&[batch], 2 * size_of::<i64>(), 1)?;
        let begins = Value::integers((0..batch).map(|item| (item * count) as i64).collect());
        let begins = reshaped(ctx.lowering, &begins, &[batch, 1])?;
        let rows = apply(ctx, Binary::Add, &within, &begins)?;
        let rows = exact(ctx, first, &rows);
        // Batches and places become neighbours.
        let rank = self.update.dims().len();
        let order: Vec<usize> =
            [0, self.along].into_iter().chain((1..rank).filter(|&axis| axis != self.along)).collect();
        let turned = transposed(ctx.lowering, &self.update, &order)?;
        let rest = &turned.dims()[2..];
        let flat = reshaped(ctx.lowering, &turned, &[&[batch * count], rest].concat())?;
        let found = match &rows {
            Value::Known(rows) => {
                let list: Vec<usize> = rows.to_f32().iter().map(|&row| row as usize).collect();
                picked(ctx, &flat, 0, &list)?
            }
            Value::Computed(rows) => picked_by(ctx, &flat, 0, rows)?,
        };
        let found = reshaped(ctx.lowering, &found, &[&[batch, extent], rest].concat())?;
        let back: Vec<usize> =
            (0..rank).map(|axis| order.iter().position(|&own| own == axis).unwrap_or(axis)).collect();
        transposed(ctx.lowering, &found, &back)
    }
}

/// Marks the nodes from `first` on that compute indices.
fn exact(ctx: &mut NodeLowering<'_>, first: usize, indices: &Value) -> Value {
    let mut indices = indices.clone();
    if let Value::Computed(indices) = &mut indices {
        indices.elem = ElementType::I64;
        mark_nodes(&mut ctx.lowering.graph, first, indices);
    }
    indices
}

fn tensor_scatter(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let write = Write::of(ctx)?;
    if write.update.len() == 0 {
        ctx.give(0, write.cache);
        return Ok(());
    }
    let [_, extent, _] = write.extents();
    let first = ctx.lowering.graph.nodes.len();
    let distances = write.distances(ctx)?;
    let distances = exact(ctx, first, &distances);
    let new = write.spread(ctx, &distances)?;
    let is_new = write.is_new(ctx, &distances)?;
    let mut dims = vec![1; write.cache.dims().len()];
    (dims[0], dims[write.along]) = (is_new.len() / extent, extent);
    let is_new = reshaped(ctx.lowering, &is_new, &dims)?;
    let result = selected(ctx, &is_new, [&new, &write.cache])?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

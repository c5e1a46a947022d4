//! Reads tuples of indices, as GatherND and ScatterND have them: each names a row among those that the leading axes
//! of a tensor hold.

use super::{
    basic::{selected, two},
    reduce::reduced_over,
    shapes::reshaped,
};
use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        array::{Array, strides},
        integers::mark_nodes,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{Binary, ElementType, ReduceKind};

/// Numbers of the rows that tuples name.
pub(super) enum Rows {
    /// Each is in range.
    Known(Vec<usize>),
    /// One axis of numbers. A negative one counts from the last row, and a tuple outside the axes has one beyond it.
    Computed(Computed),
}

/// Axes whose indices are tuples.
pub(super) struct NamedAxes<'d> {
    /// Extents that tensor and indices share. They precede the named ones.
    pub(super) batch: &'d [usize],
    /// Extents of the axes that a tuple has indices for.
    pub(super) extents: &'d [usize],
}

impl NamedAxes<'_> {
    /// Number of rows of the tensor.
    pub(super) fn rows(&self) -> usize {
        self.batch.iter().chain(self.extents).product()
    }

    /// Returns the rows that tuples along the last axis of `indices` name.
    pub(super) fn of(&self, ctx: &mut NodeLowering<'_>, indices: &Value) -> Result<Rows, Problem> {
        let tuples = indices.len() / self.extents.len().max(1);
        let per_batch = (tuples / self.batch.iter().product::<usize>().max(1)).max(1);
        match indices {
            Value::Known(indices) => self.known(ctx, indices, tuples, per_batch).map(Rows::Known),
            Value::Computed(_) => self.computed(ctx, indices, tuples, per_batch).map(Rows::Computed),
        }
    }

    /// Number of rows of one batch.
    fn rows_of_batch(&self) -> usize {
        self.extents.iter().product()
    }

    fn known(
        &self,
        ctx: &mut NodeLowering<'_>,
        indices: &Array,
        tuples: usize,
        per_batch: usize,
    ) -> Result<Vec<usize>, Problem> {
        let list = indices.to_i64().ok_or_else(|| Problem::malformed("its indices are no integers"))?;
        // Many nodes may share the list. Charged for the rows, and for the constant that a step reads.
        ctx.budget_for(&[tuples], 4 * size_of::<usize>(), 2 * self.extents.len())?;
        let by = strides(self.extents);
        let row = |(number, tuple): (usize, &[i64])| {
            let mut row = number / per_batch * self.rows_of_batch();
            for ((&index, &extent), &by) in tuple.iter().zip(self.extents).zip(&by) {
                let within = axis(index, extent);
                row += by
                    * within.map_err(|_| {
                        Problem::malformed(format!("the indices {tuple:?} lie outside {:?}", self.extents))
                    })?;
            }
            Ok(row)
        };
        list.chunks_exact(self.extents.len().max(1)).enumerate().map(row).collect()
    }

    fn computed(
        &self,
        ctx: &mut NodeLowering<'_>,
        indices: &Value,
        tuples: usize,
        per_batch: usize,
    ) -> Result<Computed, Problem> {
        let one_axis = |ctx: &mut NodeLowering<'_>, rows: &Value| {
            reshaped(ctx.lowering, rows, &[tuples]).and_then(|rows| ctx.compute(&rows))
        };
        if let ([], [_]) = (self.batch, self.extents) {
            return one_axis(ctx, indices);
        }
        let first = ctx.lowering.graph.nodes.len();
        let axes = self.extents.len();
        let list =
            |dims: &[usize], values: Vec<i64>| Value::Known(Array::of_ints(dims.to_vec(), ElementType::I64, values));
        let per_axis = |values: &[usize]| list(&[1, axes], values.iter().map(|&value| value as i64).collect());
        let (extents, zero) = (per_axis(self.extents), list(&[], vec![0]));
        let tuple = reshaped(ctx.lowering, indices, &[tuples, axes])?;
        // Negative indices count from the end of their axis.
        let negative = Value::Computed(two(ctx, Binary::Less, &tuple, &zero, ElementType::Bool)?);
        let shift = Value::Computed(two(ctx, Binary::ZeroUnless, &negative, &extents, ElementType::I64)?);
        let counted = Value::Computed(two(ctx, Binary::Add, &tuple, &shift, ElementType::I64)?);
        let below = Value::Computed(two(ctx, Binary::Less, &counted, &zero, ElementType::Bool)?);
        let beyond = Value::Computed(two(ctx, Binary::GreaterEqual, &counted, &extents, ElementType::Bool)?);
        let outside = two(ctx, Binary::Or, &below, &beyond, ElementType::Bool)?;
        let scaled = two(ctx, Binary::Mul, &counted, &per_axis(&strides(self.extents)), ElementType::I64)?;
        let mut row = Value::Computed(reduced_over(ctx, &scaled, ReduceKind::Sum, &[1])?);
        if !self.batch.is_empty() {
            ctx.budget_for(&[tuples], 2 * size_of::<i64>(), 2)?;
            let begin = |tuple: usize| (tuple / per_batch * self.rows_of_batch()) as i64;
            let begins = list(&[tuples, 1], (0..tuples).map(begin).collect());
            row = Value::Computed(two(ctx, Binary::Add, &row, &begins, ElementType::I64)?);
        }
        // An index outside its axis must not lead to another row.
        let outside = Value::Computed(reduced_over(ctx, &outside, ReduceKind::Max, &[1])?);
        let none = list(&[], vec![self.rows() as i64]);
        let row = Value::Computed(selected(ctx, &outside, [&none, &row])?);
        let row = one_axis(ctx, &row)?;
        mark_nodes(&mut ctx.lowering.graph, first, &row);
        Ok(row)
    }
}

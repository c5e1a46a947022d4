//! Lowers Det, the determinant of small matrices, by their first row and the determinants of what is left.

use super::{basic::two, shapes::reshaped, slice::take};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::Binary;

/// Most rows of a matrix, since each has as many times the nodes of one row less.
const MAX_ROWS: usize = 4;

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("Det", 11, Floats, "binary, rearrange", Any, det).limits("matrices of up to 4 rows")];

fn det(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = Value::Computed(ctx.computed(0)?);
    let &[ref outer @ .., rows, columns] = x.dims() else {
        return Err(Problem::malformed(format!("its input has the extents {:?}", x.dims())));
    };
    if rows != columns {
        return Err(Problem::malformed(format!("matrices of {rows} by {columns}")));
    }
    if rows > MAX_ROWS {
        return Err(Problem::unsupported(format!("matrices of {rows} rows: at most {MAX_ROWS} are supported")));
    }
    let result = below(ctx, &x, 0, &(0..columns).collect::<Vec<_>>())?;
    let result = reshaped(ctx.lowering, &result, outer)?;
    ctx.give(0, result);
    Ok(())
}

/// Returns the determinant of the rows from `row` on, in some columns. Both axes have the extent 1.
fn below(ctx: &mut NodeLowering<'_>, x: &Value, row: usize, columns: &[usize]) -> Result<Value, Problem> {
    let (rank, elem) = (x.dims().len(), x.element_type());
    let mut sum: Option<Value> = None;
    for (number, &column) in columns.iter().enumerate() {
        let at = [(rank - 2, AxisRange::run(row, 1)), (rank - 1, AxisRange::run(column, 1))];
        let mut term = take(ctx, x, &at)?;
        let others: Vec<usize> = columns.iter().copied().filter(|&other| other != column).collect();
        if !others.is_empty() {
            let minor = below(ctx, x, row + 1, &others)?;
            term = Value::Computed(two(ctx, Binary::Mul, &term, &minor, elem)?);
        }
        let binary = if number % 2 == 0 { Binary::Add } else { Binary::Sub };
        sum = Some(match sum {
            Some(sum) => Value::Computed(two(ctx, binary, &sum, &term, elem)?),
            None => term,
        });
    }
    sum.ok_or_else(|| Problem::empty("its matrices have no rows"))
}

//! Lowers ScatterND, which writes rows to tuples of indices.

use super::{
    basic::two,
    concat::joined,
    gather::picked,
    scatter::{Reduction, reduced_into, written_by},
    shapes::reshaped,
    tuples::{NamedAxes, Rows},
};
use crate::import::{
    error::Problem,
    onnx::{
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::All,
};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("ScatterND", 11, All, "binary, concat, gather, rearrange, segment_reduce", Any, scatter_nd)
        .limits("indices of a run repeat only with a reduction")
        .fold(scatter_nd)];

fn scatter_nd(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (data, indices, updates) = (ctx.operand(0)?, ctx.operand(1)?, ctx.operand(2)?);
    let reduction = Reduction::of(ctx)?;
    let misfit = || {
        let (data, indices, updates) = (data.dims(), indices.dims(), updates.dims());
        Problem::malformed(format!("it writes {updates:?} to indices of {indices:?} in {data:?}"))
    };
    let Some((&tuple, outer)) = indices.dims().split_last() else { return Err(misfit()) };
    let Some((extents, rest)) = data.dims().split_at_checked(tuple).filter(|_| tuple > 0) else { return Err(misfit()) };
    if updates.dims() != [outer, rest].concat() {
        return Err(misfit());
    }
    if updates.len() == 0 {
        ctx.give(0, data);
        return Ok(());
    }
    let axes = NamedAxes { batch: &[], extents };
    let (rows, elements, tuples) = (axes.rows(), rest.iter().product::<usize>(), outer.iter().product());
    let named = axes.of(ctx, &indices)?;
    let result = match (&data, &updates, named) {
        (Value::Known(data), Value::Known(updates), Rows::Known(named)) => {
            ctx.budget_for(data.dims(), 2 * size_of::<i64>(), 2)?;
            ctx.budget_for(updates.dims(), size_of::<usize>(), 2)?;
            let places: Vec<usize> = named.iter().flat_map(|row| row * elements..(row + 1) * elements).collect();
            Value::Known(reduced_into(data, updates, &places, reduction))
        }
        (_, _, Rows::Known(named)) => {
            let table = reshaped(ctx.lowering, &data, &[rows, elements])?;
            let updates = reshaped(ctx.lowering, &updates, &[tuples, elements])?;
            replaced(ctx, table, &updates, &named, reduction)?
        }
        (_, _, Rows::Computed(named)) => {
            let table = reshaped(ctx.lowering, &data, &[rows, elements])?;
            let updates = reshaped(ctx.lowering, &updates, &[tuples, elements])?;
            Value::Computed(written_by(ctx, &table, &updates, &Value::Computed(named), 0, reduction)?)
        }
    };
    let result = reshaped(ctx.lowering, &result, data.dims())?;
    ctx.give(0, result);
    Ok(())
}

/// Writes rows to places that are known: joins the new rows to the table, and selects each row of the result. Rows that
/// are written more than once with a reduction take a round for each time.
fn replaced(
    ctx: &mut NodeLowering<'_>,
    mut table: Value,
    updates: &Value,
    named: &[usize],
    reduction: Reduction,
) -> Result<Value, Problem> {
    let rows = table.dims()[0];
    for round in rounds(ctx, rows, named, reduction)? {
        let (places, sources): (Vec<usize>, Vec<usize>) = round.into_iter().unzip();
        let mut new = picked(ctx, updates, 0, &sources)?;
        if let Some(binary) = reduction.binary() {
            let old = picked(ctx, &table, 0, &places)?;
            let elem = table.element_type();
            new = Value::Computed(two(ctx, binary, &old, &new, elem)?);
        }
        ctx.budget_for(&[rows], 4 * size_of::<usize>(), 2)?;
        let mut selection: Vec<usize> = (0..rows).collect();
        places.iter().zip(rows..).for_each(|(&place, source)| selection[place] = source);
        let all = joined(ctx, &[table, new], 0)?;
        table = picked(ctx, &all, 0, &selection)?;
    }
    Ok(table)
}

/// Divides rows to be written, and the numbers of what is written, into lists that name no row twice. Without a
/// reduction only the last one of each row remains.
fn rounds(
    ctx: &mut NodeLowering<'_>,
    rows: usize,
    named: &[usize],
    reduction: Reduction,
) -> Result<Vec<Vec<(usize, usize)>>, Problem> {
    ctx.budget_for(&[rows.max(named.len())], 4 * size_of::<usize>(), 2)?;
    if reduction == Reduction::Replace {
        let mut last = vec![None; rows];
        named.iter().enumerate().for_each(|(source, &row)| last[row] = Some(source));
        let written = last.into_iter().enumerate().filter_map(|(row, source)| Some((row, source?)));
        return Ok(vec![written.collect()]);
    }
    let mut times = vec![0; rows];
    let mut rounds: Vec<Vec<(usize, usize)>> = Vec::new();
    for (source, &row) in named.iter().enumerate() {
        match rounds.get_mut(times[row]) {
            Some(round) => round.push((row, source)),
            None => rounds.push(vec![(row, source)]),
        }
        times[row] += 1;
    }
    Ok(rounds)
}

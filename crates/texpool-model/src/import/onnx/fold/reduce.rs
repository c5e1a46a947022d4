//! Evaluates reductions of known values, including empty ones.
//!
//! Sums differ from those of the references (`ops/reference/reduce.rs`), which add in 32 bits in the order of the
//! kernels so that they can be compared with a device. Folded values are computed only once, so they are summed in 64
//! bits.

use crate::import::{
    common::extents,
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering, value::Value},
};
use texpool_ops::graph::{
    ElementType, ReduceKind,
    evaluate::{greater, lesser},
};

/// Evaluates a reduction of known values. Without axes to reduce, it is applied to each element.
pub(in crate::import::onnx) fn reduce(ctx: &mut NodeLowering<'_>, kind: ReduceKind) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    let keep = ctx.flag("keepdims", true)?;
    let rank = x.dims().len();
    let over = ctx.reduced_axes(rank)?.unwrap_or_default();
    // Charges both operand and result: a thousand sums of one large array are a thousand passes, and a sum over an
    // empty axis has many results but no operand elements.
    ctx.budget_for(x.dims(), size_of::<f32>(), 8)?;
    let dims = extents::reduced(x.dims(), &over, keep);
    let rows = ctx.budget_for(&dims, 2 * size_of::<i64>(), 1)?;
    // Moves the reduced axes to the end.
    let other_axes: Vec<usize> = (0..rank).filter(|axis| !over.contains(axis)).collect();
    let transposed = x.transposed(&[other_axes, over.clone()].concat(), ctx.meter())?;
    let length: usize = over.iter().map(|&axis| x.dims()[axis]).product();
    let array = match transposed.to_i64() {
        Some(values) => {
            let whole = |row: usize| integers(kind, &values[row * length..][..length], x.element_type());
            let values = (0..rows).map(whole).collect::<Option<Vec<i64>>>();
            let values = values.ok_or_else(|| Problem::unsupported("it takes logarithms of integers"))?;
            Array::of_ints(dims, x.element_type(), values)
        }
        None => {
            let values = transposed.to_f32();
            let whole = |row: usize| floats(kind, &values[row * length..][..length]);
            let results = (0..rows).map(whole).collect::<Option<Vec<f32>>>();
            let results = results.ok_or_else(|| Problem::unsupported("indices of known values are not computed"))?;
            Array::of_floats(dims, x.element_type(), &results)
        }
    };
    ctx.give(0, Value::Known(array));
    Ok(())
}

fn integers(kind: ReduceKind, row: &[i64], elem: ElementType) -> Option<i64> {
    let sum = |part: fn(i64) -> i64| row.iter().fold(0i64, |a, &b| a.wrapping_add(part(b)));
    Some(match kind {
        ReduceKind::Sum => sum(|v| v),
        ReduceKind::SumSquare => sum(|v| v.wrapping_mul(v)),
        ReduceKind::L1 => sum(i64::wrapping_abs),
        // A sum that wrapped around may be negative and then has no root.
        ReduceKind::L2 => sum(|v| v.wrapping_mul(v)).max(0).isqrt(),
        ReduceKind::Prod => row.iter().fold(1i64, |a, &b| a.wrapping_mul(b)),
        ReduceKind::Mean => sum(|v| v).checked_div(row.len() as i64)?,
        ReduceKind::Max => row.iter().copied().max().unwrap_or(elem.range().0),
        ReduceKind::Min => row.iter().copied().min().unwrap_or(elem.range().1),
        ReduceKind::LogSum | ReduceKind::LogSumExp | ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => {
            return None;
        }
    })
}

fn floats(kind: ReduceKind, row: &[f32]) -> Option<f32> {
    let greatest = || row.iter().copied().fold(f32::NEG_INFINITY, greater);
    let sum = |part: fn(f32) -> f32| row.iter().map(|&v| f64::from(part(v))).sum::<f64>();
    Some(match kind {
        ReduceKind::Mean => (sum(|v| v) / row.len() as f64) as f32,
        ReduceKind::Sum => sum(|v| v) as f32,
        ReduceKind::SumSquare => sum(|v| v * v) as f32,
        ReduceKind::L1 => sum(f32::abs) as f32,
        ReduceKind::L2 => sum(|v| v * v).sqrt() as f32,
        ReduceKind::LogSum => sum(|v| v).ln() as f32,
        ReduceKind::LogSumExp => {
            let most = greatest();
            // Infinity minus infinity would be NaN.
            if most.is_infinite() {
                return Some(most);
            }
            let rest: f64 = row.iter().map(|&v| f64::from(v - most).exp()).sum();
            (f64::from(most) + rest.ln()) as f32
        }
        ReduceKind::Prod => row.iter().product(),
        ReduceKind::Max => greatest(),
        ReduceKind::Min => row.iter().copied().fold(f32::INFINITY, lesser),
        ReduceKind::ArgMax { .. } | ReduceKind::ArgMin { .. } => return None,
    })
}

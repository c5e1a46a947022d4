//! Evaluates OneHot of known indices.

use crate::import::{
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering, value::Value},
};

/// What a OneHot makes of its indices.
#[derive(Debug)]
pub(in crate::import::onnx) struct OneHot {
    /// Number of places for each index.
    pub(in crate::import::onnx) depth: usize,
    /// Axis of the result that has the places.
    pub(in crate::import::onnx) along: usize,
    /// The value of all other places, and that of the place which an index names.
    pub(in crate::import::onnx) values: Array,
}

impl OneHot {
    /// Reads the operands of a node whose indices have `rank` axes.
    pub(in crate::import::onnx) fn of(ctx: &NodeLowering<'_>, rank: usize) -> Result<Self, Problem> {
        let depth = match ctx.known(1, "depth")?.to_i64() {
            Some(&[depth]) => usize::try_from(depth).unwrap_or(0),
            // NaN becomes 0, and values out of range saturate.
            _ => ctx.scalar(1, "depth")?.unwrap_or(0.0) as usize,
        };
        if depth == 0 {
            return Err(Problem::empty("its depth is 0, or less, which leaves no elements"));
        }
        let values = ctx.known(2, "values")?;
        if values.len() != 2 {
            return Err(Problem::malformed(format!("it has {} values", values.len())));
        }
        Ok(Self { depth, along: ctx.axis(rank + 1, -1)?, values })
    }
}

/// Returns known indices as integers. One with a fraction names no place.
fn integers(indices: &Array) -> Vec<i64> {
    let whole = |&index: &f32| if index.fract() == 0.0 { index as i64 } else { i64::MIN };
    indices.to_i64().map_or_else(|| indices.to_f32().iter().map(whole).collect(), <[i64]>::to_vec)
}

/// Evaluates a OneHot. Negative indices count from the end.
pub(in crate::import::onnx) fn one_hot(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let indices = ctx.known(0, "indices")?;
    let OneHot { depth, along, values } = OneHot::of(ctx, indices.dims().len())?;
    let mut dims = indices.dims().to_vec();
    dims.insert(along, depth);
    ctx.budget_for(indices.dims(), size_of::<i64>(), 1)?;
    let elements = ctx.budget_for(&dims, 0, 4)?;
    let list = integers(&indices);
    let inner: usize = dims[along + 1..].iter().product();
    let is_named = |i: usize| {
        let (place, index) = ((i / inner % depth) as i64, list[i / (depth * inner) * inner + i % inner]);
        usize::from(index == place || index == place - depth as i64)
    };
    let result = values.reshaped(&[2])?.gathered(dims, (0..elements).map(is_named), ctx.meter())?;
    ctx.give(0, Value::Known(result));
    Ok(())
}

//! Lowers operators of `ai.onnx.ml`, with which networks of scikit-learn begin.

use super::{
    basic::two,
    gather::{picked, picked_by},
    shapes::reshaped,
};
use crate::import::{
    common::axes::axis,
    error::Problem,
    onnx::{
        array::Array,
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::{All, Numbers},
};
use texpool_ops::graph::{Binary, ElementType};

/// Domain of these operators.
const DOMAIN: &str = "ai.onnx.ml";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Scaler", 1, Numbers, "binary", Any, scaler).domain(DOMAIN),
    OnnxOpEntry::new("Binarizer", 1, Numbers, "binary", Any, binarizer).domain(DOMAIN),
    OnnxOpEntry::new("ArrayFeatureExtractor", 1, All, "gather, rearrange", Any, features).domain(DOMAIN),
];

/// Subtracts an offset from each feature, or from all, and multiplies by a scale.
fn scaler(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let mut result = ctx.operand(0)?;
    for (name, binary) in [("offset", Binary::Sub), ("scale", Binary::Mul)] {
        if let Some(list) = ctx.floats(name).filter(|list| !list.is_empty()) {
            ctx.budget_for(&[list.len()], 2 * size_of::<f32>(), 1)?;
            let by = Value::Known(Array::of_floats(vec![list.len()], ElementType::F32, &list));
            result = Value::Computed(two(ctx, binary, &result, &by, ElementType::F32)?);
        }
    }
    ctx.give(0, result);
    Ok(())
}

/// Writes 1 for values above the threshold, and 0 for others.
fn binarizer(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let threshold = math::scalar(ctx.float("threshold", 0.0)?);
    let result = two(ctx, Binary::Greater, &x, &threshold, x.element_type())?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

/// Selects columns. A list of values is one row of them.
fn features(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, columns) = (ctx.operand(0)?, ctx.operand(1)?);
    let x = match *x.dims() {
        [count] => reshaped(ctx.lowering, &x, &[1, count])?,
        _ => x,
    };
    let Some((&extent, outer)) = x.dims().split_last() else {
        return Err(Problem::malformed("it selects columns of a single number"));
    };
    let selected = match &columns {
        Value::Known(columns) => {
            let list = columns.to_i64().ok_or_else(|| Problem::malformed("its columns are no integers"))?;
            ctx.budget_for(&[list.len()], 4 * size_of::<usize>(), 2)?;
            let list = list.iter().map(|&column| axis(column, extent)).collect::<Result<Vec<_>, _>>()?;
            picked(ctx, &x, outer.len(), &list)?
        }
        Value::Computed(columns) => picked_by(ctx, &x, outer.len(), columns)?,
    };
    ctx.give(0, selected);
    Ok(())
}

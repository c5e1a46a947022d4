//! Lowers products of 8-bit integers. Zero points are subtracted first, so that they are ordinary products of whole
//! numbers, which compiling checks to be exact.

use super::{conv::convolved, dynamic::from_zero, matmul::product, quant::apply, shapes::reshaped};
use crate::import::{
    common::extents,
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{Any, ChannelsSecond},
            OnnxOpEntry,
        },
        value::Value,
    },
    op_registry::Bytes,
};
use texpool_ops::graph::{Binary, ElementType, QuantParams};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("MatMulInteger", 10, Bytes, "binary, dense, matmul", Any, mat_mul),
    OnnxOpEntry::new("ConvInteger", 10, Bytes, "binary, conv, depthwise", ChannelsSecond, conv)
        .limits("one to three dimensions; weights must be known"),
];

/// Returns an operand minus its zero point, which is operand `zero`. A list of zero points lies along `axis`.
pub(super) fn shifted(ctx: &mut NodeLowering<'_>, position: usize, zero: usize, axis: usize) -> Result<Value, Problem> {
    let value = ctx.operand(position)?;
    let rank = value.dims().len();
    let zero = match ctx.optional(zero) {
        Some(Value::Known(array)) if array.to_f32().iter().all(|&zero| zero == 0.0) => None,
        zero => zero,
    };
    if let Value::Known(array) = &value
        && let Some(array) = known_shifted(ctx, array, zero.as_ref(), axis)?
    {
        return Ok(Value::Known(array));
    }
    let Some(zero) = zero else { return Ok(value) };
    if let Some(quanta) = from_zero(ctx, &value, &zero)? {
        return Ok(quanta);
    }
    let aligned = match zero.dims() {
        _ if zero.len() == 1 => reshaped(ctx.lowering, &zero, &[])?,
        &[count] if axis < rank => {
            let mut dims = vec![1; rank];
            dims[axis] = count;
            reshaped(ctx.lowering, &zero, &dims)?
        }
        _ => zero.clone(),
    };
    let fits = extents::broadcast(&[value.dims(), aligned.dims()]).is_ok_and(|dims| dims == value.dims());
    if !fits {
        let reason = format!("zero points of {:?} do not fit integers of {:?}", zero.dims(), value.dims());
        return Err(Problem::malformed(reason));
    }
    apply(ctx, Binary::Sub, &value, &aligned)
}

/// Attaches the zero points to known integers, which stay bytes. `None` if they are no plain list.
fn known_shifted(
    ctx: &mut NodeLowering<'_>,
    array: &Array,
    zero: Option<&Value>,
    axis: usize,
) -> Result<Option<Array>, Problem> {
    let zeros: Vec<i32> = match zero {
        None => vec![0],
        Some(Value::Known(zero)) if zero.dims().len() <= 1 || zero.len() == 1 => {
            ctx.meter().memory(zero.len().saturating_mul(size_of::<i64>() + size_of::<i32>()))?;
            zero.to_i64().unwrap_or_default().iter().filter_map(|&zero| i32::try_from(zero).ok()).collect()
        }
        Some(_) => return Ok(None),
    };
    let params = match zeros.as_slice() {
        &[zero] => Some(QuantParams::whole(1.0, zero)),
        _ => QuantParams::along(vec![1.0; zeros.len()], zeros, array.dims(), axis),
    };
    let Some(params) = params else { return Ok(None) };
    array.dequantized(params, ctx.meter())
}

/// Sets the result of a product, which is 32-bit integers.
fn answer(ctx: &mut NodeLowering<'_>, result: Value) -> Result<(), Problem> {
    let mut result = ctx.compute(&result)?;
    result.elem = ElementType::I32;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn mat_mul(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [rows, columns] = [ctx.operand(0)?, ctx.operand(1)?].map(|value| value.dims().len());
    // A list for the first operand has one for each row, one for the second operand one for each column.
    let a = shifted(ctx, 0, 2, rows.saturating_sub(2))?;
    let b = shifted(ctx, 1, 3, columns.saturating_sub(1))?;
    let result = product(ctx, &a, &b)?;
    answer(ctx, result)
}

/// Borders hold the zero point, and therefore zeros after the subtraction.
fn conv(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    ctx.known(1, "weights")?;
    let x = shifted(ctx, 0, 2, 0)?;
    let x = ctx.compute(&x)?;
    match shifted(ctx, 1, 3, 0)? {
        Value::Known(weights) => {
            let result = convolved(ctx, &x, weights, false)?;
            answer(ctx, Value::Computed(result))
        }
        Value::Computed(_) => Err(Problem::new(
            "its weights' zero points (operand 3) are computed at run time",
            "make them part of the model, or bind them to values",
        )),
    }
}

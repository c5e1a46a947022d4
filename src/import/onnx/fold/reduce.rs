//! Reductions of known values.

use crate::{
    graph::Reduce,
    import::{
        error::Problem,
        onnx::{
            array::Array,
            call::Call,
            lower::{named_axes, reduced_dims},
            value::Value,
        },
    },
};

pub(in crate::import::onnx) fn reduce(call: &mut Call<'_>, kind: Reduce) -> Result<(), Problem> {
    let x = call.known(0, "input")?;
    let keep = call.flag("keepdims", true)?;
    let Some(over) = named_axes(call, x.dims().len())? else {
        call.give(0, Value::Known(x));
        return Ok(());
    };
    // Work is counted as what is made is: a thousand sums of one large array are a thousand passes.
    call.site.room.take(x.len())?;
    let dims = reduced_dims(x.dims(), &over, keep);
    // The axes that are reduced become the innermost.
    let kept: Vec<usize> = (0..x.dims().len()).filter(|axis| !over.contains(axis)).collect();
    let turned = x.transposed(&[kept, over.clone()].concat());
    let length: usize = over.iter().map(|&axis| x.dims()[axis]).product();
    if length == 0 {
        return Err(Problem::unsupported("it reduces no elements"));
    }
    let array = match turned.to_i64() {
        Some(values) => {
            let one = |row: &[i64]| match kind {
                Reduce::Sum => row.iter().fold(0i64, |a, &b| a.wrapping_add(b)),
                Reduce::Prod => row.iter().fold(1i64, |a, &b| a.wrapping_mul(b)),
                Reduce::Max => row.iter().copied().max().unwrap_or_default(),
                Reduce::Min => row.iter().copied().min().unwrap_or_default(),
                _ => row.iter().fold(0i64, |a, &b| a.wrapping_add(b)) / length as i64,
            };
            Array::of_ints(dims, x.elem(), values.chunks(length).map(one).collect())
        }
        None => {
            let one = |row: &[f32]| match kind {
                Reduce::Sum => row.iter().sum(),
                Reduce::Prod => row.iter().product(),
                Reduce::Max => row.iter().copied().fold(f32::NEG_INFINITY, f32::max),
                Reduce::Min => row.iter().copied().fold(f32::INFINITY, f32::min),
                _ => row.iter().sum::<f32>() / length as f32,
            };
            Array::of_floats(dims, x.elem(), &turned.to_f32().chunks(length).map(one).collect::<Vec<f32>>())
        }
    };
    call.give(0, Value::Known(array));
    Ok(())
}

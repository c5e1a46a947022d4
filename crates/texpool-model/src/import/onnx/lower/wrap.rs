//! Wraps integers of few bits around on overflow.

use super::basic::two;
use crate::import::{
    error::Problem,
    onnx::{
        fold::math,
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::{Binary, ElementType};

/// Reduces integers to their low bits if their type has 8 or 16 bits. Other types are returned unchanged, because
/// floats hold no integers that would wrap around.
pub(in crate::import::onnx) fn wrapped(ctx: &mut NodeLowering<'_>, x: Computed) -> Result<Computed, Problem> {
    let [least, count] = match x.elem {
        ElementType::I8 => [-128.0, 256.0],
        ElementType::U8 => [0.0, 256.0],
        ElementType::I16 => [-32768.0, 65536.0],
        ElementType::U16 => [0.0, 65536.0],
        _ => return Ok(x),
    };
    let elem = x.elem;
    let mut node =
        |binary, x: Computed, number: f32| two(ctx, binary, &Value::Computed(x), &math::scalar(number), elem);
    // Exact: division by a power of two and its remainder cause no rounding.
    if least == 0.0 {
        return node(Binary::Mod, x, count);
    }
    let x = node(Binary::Sub, x, least)?;
    let x = node(Binary::Mod, x, count)?;
    node(Binary::Add, x, least)
}

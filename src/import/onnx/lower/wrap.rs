//! Integers of few bits, which wrap around where they pass the greatest one.

use super::basic::two;
use crate::{
    graph::{Binary, ElementType},
    import::{
        error::Problem,
        onnx::{
            fold::math,
            node_lowering::NodeLowering,
            value::{Computed, Value},
        },
    },
};

/// The low bits of integers, where their type has 8 or 16; of other types the integers as they are: floats hold none that
/// would wrap around.
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
    // Dividing by a power of two is exact, and so is what is left over.
    if least == 0.0 {
        return node(Binary::Mod, x, count);
    }
    let x = node(Binary::Sub, x, least)?;
    let x = node(Binary::Mod, x, count)?;
    node(Binary::Add, x, least)
}

//! Filling texels with one value: the poison that shows what reads memory it should not.

use std::ops::Range;

use super::{Dispatch, Operand, Shader, Words, family};

const SHADER: Shader = Shader { name: "fill", source: include_str!("../../shaders/fill.wgsl") };

/// Fills `rows` of `operand` with `value`.
pub fn fill(operand: &Operand, rows: Range<u32>, value: f32) -> Dispatch {
    let items = rows.len() as u32 * operand.shape.row_texels() as u32;
    let words = Words::bare(operand, rows.start, items).own([value.to_bits(), 0, 0, 0]);
    Dispatch {
        shader: SHADER,
        constants: vec![("LANES", f64::from(family::LANES))],
        words: words.finish(),
        output: operand.texture,
        input: None,
        second: None,
        weights: None,
        groups: items.div_ceil(family::LANES),
    }
}

//! Filling texels with one value: the poison that shows what reads memory it should not, and the border of a pad whose
//! operand lies inside its result.

use std::ops::Range;

use super::{Dispatch, KernelError, Operand, Shader, Words, family};
use crate::{
    graph::{Graph, Node, Op, PadMode},
    rewrite::{Corner, corners},
};

const SHADER: Shader = Shader { name: "fill", source: include_str!("../../shaders/fill.wgsl") };

/// Fills `rows` of `operand` with `value`.
pub fn fill(operand: &Operand, rows: Range<u32>, value: f32) -> Dispatch {
    dispatch(operand, rows, value, None)
}

/// Fills what a pad puts around its operand in `rows` of the result, which is `output`.
///
/// # Errors
/// [`KernelError::Unsupported`] where the pad has no border of one value, or its operand no place inside the result.
pub fn frame(graph: &Graph, node: &Node, output: &Operand, rows: Range<u32>) -> Result<Dispatch, KernelError> {
    let refuse = |reason: String| KernelError::Unsupported { origin: node.origin, op: node.op.name(), reason };
    let corners = corners(graph, node).map_err(|why| refuse(why.to_string()))?;
    let (Op::Pad { mode: PadMode::Constant(value), .. }, [Corner { row, slice, x }], &[part, ..]) =
        (&node.op, &corners[..], &node.inputs[..])
    else {
        return Err(refuse("it is no pad with a border of one value".into()));
    };
    let shape = graph.shape(part);
    let extents = [(row, shape.rows()), (slice, shape.slices()), (x, shape.w)];
    let hole = extents.map(|(&first, extent)| [first as u32, (first + extent) as u32]);
    Ok(dispatch(output, rows, *value, Some(hole)))
}

/// `hole` is the part that stays as it is, where there is one.
fn dispatch(operand: &Operand, rows: Range<u32>, value: f32, hole: Option<[[u32; 2]; 3]>) -> Dispatch {
    let items = rows.len() as u32 * operand.shape.row_texels() as u32;
    let mut words = Words::bare(operand, rows.start, items).own([value.to_bits(), 0, 0, 0]);
    if let Some([[row, row_end], [slice, slice_end], [x, x_end]]) = hole {
        words = words.own([row, row_end, slice, slice_end]).own([x, x_end, 0, 0]);
    }
    Dispatch {
        shader: SHADER,
        constants: vec![("FRAME", f64::from(u8::from(hole.is_some()))), ("LANES", f64::from(family::LANES))],
        words: words.finish(),
        output: operand.texture,
        input: None,
        second: None,
        weights: None,
        groups: items.div_ceil(family::LANES),
    }
}

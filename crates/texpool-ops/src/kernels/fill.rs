//! Fills texels with one value: the poison value that exposes invalid reads, or the border of a pad whose operand is
//! stored inside its result.

use std::{ops::Range, sync::Arc};

use super::{Dispatch, KernelError, KernelParams, Operand, Shader, common, context, grid::LANES, wgsl::shader_params};
use crate::graph::{Graph, Node, Op, Pad, PadMode, SubtensorOffset, subtensor_offsets};

pub(crate) const SHADER: Shader = Shader::new("fill", texpool_shaders::FILL).params::<Params>();

shader_params! {
    #[derive(Default)]
    struct Params {
        value: f32,
        first_part_row: usize,
        end_part_row: usize,
        first_slice: usize,
        first_pixel: usize,
        slices: usize,
        pixels: usize,
    }
}

/// Fills `rows` of `operand` with `value`.
///
/// # Errors
/// Fails with [`KernelError::Misfit`] if the operand does not have these rows.
pub fn fill(operand: &Operand, rows: Range<u32>, value: f32) -> Result<Dispatch, KernelError> {
    context::check_operand(operand, operand.shape)?;
    context::check_rows(operand, &rows)?;
    let items = rows.len() as u32 * operand.shape.row_texels() as u32;
    let params = KernelParams::bare(operand, &rows, items).params(&Params { value, ..Params::default() });
    Ok(dispatch(operand, params, items, false))
}

/// Fills the border of a pad in `rows` of its result `output`, with one invocation per border texel.
///
/// # Errors
/// Fails with [`KernelError::Unsupported`] if the border does not have one constant value, or if the operand cannot
/// be stored inside the result.
pub fn pad_border(graph: &Graph, node: &Node, output: &Operand, rows: Range<u32>) -> Result<Dispatch, KernelError> {
    context::check_operand(output, graph.shape(node.output))?;
    context::check_rows(output, &rows)?;
    let refuse = |reason: String| KernelError::Unsupported { op_index: node.op_index, op: node.op.name(), reason };
    let offsets = subtensor_offsets(graph, node).map_err(|why| refuse(why.to_string()))?;
    let (Op::Pad(Pad { mode: PadMode::Constant(value), .. }), &[SubtensorOffset { row, slice, x }], &[part, ..]) =
        (&node.op, &offsets[..], &node.inputs[..])
    else {
        return Err(refuse("it is no pad with a border of one value".into()));
    };
    let part = graph.shape(part);
    let row_texels = output.shape.row_texels() as u32;
    let [first_part_row, end_part_row] = [row, row + part.rows()];
    // Clamped like in the shader: a stripe above or below the part has no rows next to it.
    let first = (first_part_row as u32).clamp(rows.start, rows.end);
    let beside = (end_part_row as u32).clamp(first, rows.end) - first;
    let items = rows.len() as u32 * row_texels - beside * part.row_texels() as u32;
    let [first_slice, first_pixel, slices, pixels] = [slice, x, part.slices(), part.w];
    let params = Params { value: *value, first_part_row, end_part_row, first_slice, first_pixel, slices, pixels };
    let params = KernelParams::bare(output, &rows, items).params(&params);
    Ok(dispatch(output, params, items, true))
}

fn dispatch(operand: &Operand, params: KernelParams, items: u32, pad_border: bool) -> Dispatch {
    let (own, block) = params.finish();
    let mut constants = vec![("PAD_BORDER", common::flag(pad_border))];
    common::mark_planes(&mut constants, "OUTPUT_PLANES", operand);
    Dispatch {
        shader: SHADER,
        constants,
        own,
        block,
        output: operand.texture,
        input: None,
        second: None,
        weights: None,
        byte_weights: false,
        rounds: SHADER.rounds(&[]),
        groups: items.div_ceil(LANES),
        reach: Arc::new([operand.reach()]),
        counted_node: 0,
    }
}

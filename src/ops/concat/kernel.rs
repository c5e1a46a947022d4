//! Concatenation: a dispatch for each part writes the texels whose first lane is the part's own.
//!
//! Along channels parts may meet inside a texel. No dispatch can read what another wrote, so the dispatch that owns the
//! texel reads the part that follows, too, and the constants among the parts come out of the weights. Where more than
//! two computed parts meet in a texel, no dispatch can do it; the rewriter's `split` makes such nodes into several.

use std::ops::Range;

use crate::{
    graph::{Graph, Node, Shape},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Operand, Shader, StepContext, common, pack,
        wgsl::shader_params,
    },
};

pub(crate) const SHADER: Shader =
    Shader::new("concat", include_str!("../../../shaders/concat.wgsl")).params::<Params>();

shader_params! {
    struct Params {
        corner: [usize; 4],
        extents: [usize; 4],
        first_begin: [usize; 4],
        second_begin: [usize; 4],
        constants: usize,
        constant_slice: usize,
        constant_slices: usize,
    }
}

/// A part of the result: which operand, and where it begins and ends along the axis.
#[derive(Clone, Copy, Debug)]
struct Part {
    operand: usize,
    begin: usize,
    end: usize,
    constant: bool,
}

/// The parts of a concatenation in order.
fn parts(graph: &Graph, node: &Node, axis: usize) -> Vec<Part> {
    let mut begin = 0;
    let mut parts = Vec::with_capacity(node.inputs.len());
    for (operand, &tensor) in node.inputs.iter().enumerate() {
        let end = begin + graph.shape(tensor).dims()[axis];
        parts.push(Part { operand, begin, end, constant: graph.is_constant(tensor) });
        begin = end;
    }
    parts
}

/// What one dispatch writes.
struct Piece {
    /// Indices along the axis: elements, or slices where the axis is the channels.
    begin: usize,
    end: usize,
    /// The computed parts it reads.
    placed: Vec<Part>,
    /// The constant parts it reads.
    constants: Vec<Part>,
    /// First slice that holds constants.
    first_constant: usize,
}

fn pieces(graph: &Graph, node: &Node, axis: usize) -> Vec<Piece> {
    let parts = parts(graph, node, axis);
    let mut pieces = Vec::with_capacity(parts.len());
    for part in &parts {
        let (begin, end) = match axis {
            3 => (part.begin.div_ceil(4), part.end.div_ceil(4)),
            _ => (part.begin, part.end),
        };
        // The part has no texel's first lane, so the dispatch of the part in front writes it.
        if begin == end {
            continue;
        }
        let unit = if axis == 3 { 4 } else { 1 };
        let (constants, placed): (Vec<Part>, Vec<Part>) =
            parts.iter().filter(|p| p.end > begin * unit && p.begin < end * unit).partition(|p| p.constant);
        // Constants that follow a computed part along channels reach into its last slice only.
        let first_constant = match (axis, part.constant) {
            (3, true) => begin,
            (3, false) => end - 1,
            _ => 0,
        };
        pieces.push(Piece { begin, end, placed, constants, first_constant });
    }
    pieces
}

impl Piece {
    /// First pixel, slice, image row, batch, and the extents in that order.
    fn cut(&self, axis: usize, out: Shape) -> [[usize; 4]; 2] {
        let mut corner = [0; 4];
        let mut extents = [out.w, out.slices(), out.h, out.b];
        let at = [3, 2, 0, 1][axis];
        corner[at] = self.begin;
        extents[at] = self.end - self.begin;
        [corner, extents]
    }

    /// How many of its lines lie before a row of the result: a line is an image row of the box, of all its batches.
    fn lines_before(&self, row: u32, axis: usize, out: Shape) -> usize {
        let [[_, _, y0, b0], [_, _, h, b]] = self.cut(axis, out);
        let (image, y) = (row as usize / out.h, row as usize % out.h);
        match image.checked_sub(b0) {
            None => 0,
            Some(batch) if batch < b => batch * h + y.saturating_sub(y0).min(h),
            Some(_) => b * h,
        }
    }

    fn constant_slices(&self, axis: usize, out: Shape) -> usize {
        if self.constants.is_empty() {
            0
        } else if axis == 3 {
            self.end - self.first_constant
        } else {
            out.slices()
        }
    }

    fn constant_texels(&self, axis: usize, out: Shape) -> usize {
        let [_, [w, _, h, b]] = self.cut(axis, out);
        b * h * w * self.constant_slices(axis, out)
    }

    /// The constants as they lie in the box: rows, slices, pixels; zeros where there is none.
    fn pack(&self, graph: &Graph, node: &Node, axis: usize, out: Shape, texels: &mut Vec<[f32; 4]>) {
        let [[x0, _, y0, b0], [w, _, h, b]] = self.cut(axis, out);
        let slices = self.constant_slices(axis, out);
        let base = texels.len();
        texels.resize(base + self.constant_texels(axis, out), [0.0; 4]);
        for part in &self.constants {
            let tensor = node.inputs[part.operand];
            let shape = graph.shape(tensor);
            let values = graph.tensors[tensor].constant.as_ref().map(|c| c.to_f32()).unwrap_or_default();
            let mut offset = [0; 4];
            offset[axis] = part.begin;
            for (i, &value) in values.iter().enumerate() {
                let [pb, py, px, pc] = pack::indices(shape, i);
                let to = [pb + offset[0], py + offset[1], px + offset[2], pc + offset[3]];
                let (Some(b_at), Some(y), Some(x)) =
                    (to[0].checked_sub(b0), to[1].checked_sub(y0), to[2].checked_sub(x0))
                else {
                    continue;
                };
                // A part may reach into two pieces along channels, and is packed for each as far as it lies inside.
                let Some(s) = (to[3] / 4).checked_sub(self.first_constant) else { continue };
                if b_at < b && y < h && x < w && s < slices {
                    texels[base + ((b_at * h + y) * slices + s) * w + x][to[3] % 4] = value;
                }
            }
        }
    }
}

/// For each part that has a dispatch, the rows of the result that it writes some of.
pub(crate) fn dispatch_rows(graph: &Graph, node: &Node, axis: usize) -> Vec<Range<u32>> {
    let out = graph.shape(node.output);
    let rows = |piece: &Piece| match axis {
        0 => (piece.begin * out.h) as u32..(piece.end * out.h) as u32,
        // Of several images a part has rows in each, and no smaller range holds them all.
        1 if out.b == 1 => piece.begin as u32..piece.end as u32,
        _ => 0..out.rows() as u32,
    };
    pieces(graph, node, axis).iter().map(rows).collect()
}

/// The constant parts, piece by piece.
pub(crate) fn weights(graph: &Graph, node: &Node, axis: usize) -> Vec<[f32; 4]> {
    let out = graph.shape(node.output);
    let mut texels = Vec::new();
    for piece in pieces(graph, node, axis) {
        piece.pack(graph, node, axis, out, &mut texels);
    }
    texels
}

/// A dispatch for each part that owns a texel of the step's rows.
pub(crate) fn dispatches(step: &StepContext<'_>, axis: usize) -> Result<Vec<Dispatch>, KernelError> {
    let out = step.output.shape;
    let pieces = pieces(step.graph, step.node, axis);
    let own: usize = pieces.iter().map(|piece| piece.constant_texels(axis, out)).sum();
    let epilogue = EpilogueParams::new(step.graph, step.node, own);
    let mut base = 0;
    let mut dispatches = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        if piece.placed.len() > 2 {
            let reason = format!("{} computed parts meet in a texel; two are possible", piece.placed.len());
            return Err(step.unsupported(reason));
        }
        let texels = piece.constant_texels(axis, out);
        dispatches.extend(dispatch(step, axis, piece, &epilogue, base)?);
        base += texels;
    }
    Ok(dispatches)
}

fn dispatch(
    step: &StepContext<'_>,
    axis: usize,
    piece: &Piece,
    epilogue: &EpilogueParams,
    base: usize,
) -> Result<Option<Dispatch>, KernelError> {
    let out = step.output.shape;
    let constant_slices = piece.constant_slices(axis, out);
    let [corner, extents] = piece.cut(axis, out);
    let [first, end] = [step.rows.start, step.rows.end].map(|row| piece.lines_before(row, axis, out));
    if first == end {
        return Ok(None);
    }
    let items = ((end - first) * extents[0] * extents[1]) as u32;
    let read = piece.placed.iter().map(|part| common::placed(step, part.operand)).collect::<Result<Vec<_>, _>>()?;
    let begin = |index: usize| {
        let mut begin = [0; 4];
        begin[axis] = piece.placed.get(index).map_or(0, |part| part.begin);
        begin
    };
    let mut params = KernelParams::new(step, epilogue, items).first(first as u32);
    if let Some(&first) = read.first() {
        params = params.input(first);
    }
    if let Some(&second) = read.get(1) {
        // The part that follows takes the second input.
        common::no_added_tensor(step)?;
        params = params.second(second);
    }
    let params = params.params(&Params {
        corner,
        extents,
        first_begin: begin(0),
        second_begin: begin(1),
        constants: base,
        constant_slice: piece.first_constant,
        constant_slices,
    });
    // A copy of texels is right only where the part begins with one, and nothing else is in its last.
    let begins = piece.placed.first().is_some_and(|part| axis != 3 || part.begin.is_multiple_of(4));
    let aligned = begins && read.len() == 1 && constant_slices == 0;
    let constants = vec![
        ("FIRST_PART", common::flag(!read.is_empty())),
        ("SECOND_PART", common::flag(read.len() > 1)),
        ("CONSTANTS", common::flag(constant_slices > 0)),
        ("ALIGNED", common::flag(aligned)),
    ];
    let mut dispatch = common::dispatch(step, SHADER, epilogue, params, items, constants, &[]);
    dispatch.input = read.first().map(|part: &&Operand| part.texture);
    if let Some(second) = read.get(1) {
        dispatch = dispatch.reading_second(second);
    }
    Ok(Some(if constant_slices > 0 { dispatch.reading_weights(step) } else { dispatch }))
}

//! Kernel of concatenation. The dispatch of each part writes the texels whose first lane belongs to the part.
//!
//! Along channels, parts may meet inside a texel. No dispatch can read the output of another, so the dispatch that
//! owns the texel also reads the next part. Constant parts are read from the weights. If more than two computed parts
//! meet in a texel, no dispatch can handle it; the rewriter's `split` divides such nodes.

use std::ops::Range;

use super::Concat;
use crate::{
    graph::{Constant, Graph, Node, Shape, TensorId},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, SectionLayout, SectionRole, Shader, StepContext,
        WeightPieces, WeightSection, WeightSections, common, pack, wgsl::shader_params,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Concat {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Concat {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::Any)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        let front = map.node.inputs[..map.operand].iter();
        let begin: usize = front.map(|&tensor| map.graph.shape(tensor).dims()[self.axis]).sum();
        match self.axis {
            0 => map.shifted([-(begin as isize), 0], [1, 1]),
            1 => map.shifted([0, -(begin as isize)], [1, 1]),
            _ => map.same(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        dispatch_rows(graph, node, self.axis)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Concat, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node, self.axis)
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    /// Returns one dispatch for each part that owns a texel of the step's rows.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let out = step.output.shape;
        let pieces = pieces(&parts(step.graph, step.node, self.axis), self.axis);
        let epilogue = EpilogueParams::new(step);
        let mut base = 0;
        let mut dispatches = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            if piece.placed.len() > 2 {
                let reason = format!("{} computed parts meet in a texel; two are possible", piece.placed.len());
                return Err(step.unsupported(reason));
            }
            let texels = piece.constant_texels(self.axis, out);
            dispatches.extend(dispatch(step, self.axis, piece, &epilogue, base)?);
            base += texels;
        }
        Ok(dispatches)
    }
}

pub(crate) const SHADER: Shader = Shader::new("concat", texpool_shaders::CONCAT).params::<Params>();

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

/// A part of the result: its operand, and its range along the axis.
#[derive(Clone, Copy, Debug)]
struct Part {
    operand: usize,
    begin: usize,
    end: usize,
    shape: Shape,
    /// Number among the constant operands, if it is one.
    constant: Option<usize>,
}

/// Returns the parts of a concatenation in order.
fn parts(graph: &Graph, node: &Node, axis: usize) -> Vec<Part> {
    let (mut begin, mut constants) = (0, 0..);
    let mut parts = Vec::with_capacity(node.inputs.len());
    for (operand, &tensor) in node.inputs.iter().enumerate() {
        let shape = graph.shape(tensor);
        let end = begin + shape.dims()[axis];
        let constant = if graph.is_constant(tensor) { constants.next() } else { None };
        parts.push(Part { operand, begin, end, shape, constant });
        begin = end;
    }
    parts
}

/// The box that one dispatch writes.
struct Piece {
    /// Range along the axis, in elements, or in slices if the axis is the channels.
    begin: usize,
    end: usize,
    /// Computed parts to read.
    placed: Vec<Part>,
    /// Constant parts to read.
    constants: Vec<Part>,
    /// First slice that contains constants.
    first_constant: usize,
}

fn pieces(parts: &[Part], axis: usize) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(parts.len());
    for part in parts {
        let (begin, end) = match axis {
            3 => (part.begin.div_ceil(4), part.end.div_ceil(4)),
            _ => (part.begin, part.end),
        };
        // The part contains no first lane of a texel, so the dispatch of the previous part writes it.
        if begin == end {
            continue;
        }
        let unit = if axis == 3 { 4 } else { 1 };
        // Parts lie one behind the other. There may be thousands, so the two ends are found by bisection.
        let first = parts.partition_point(|part| part.end <= begin * unit);
        let behind = parts.partition_point(|part| part.begin < end * unit);
        let (constants, placed): (Vec<Part>, Vec<Part>) =
            parts[first..behind].iter().copied().partition(|part| part.constant.is_some());
        // Constants after a computed part along channels can only be in its last slice.
        let first_constant = match (axis, part.constant.is_some()) {
            (3, true) => begin,
            (3, false) => end - 1,
            _ => 0,
        };
        pieces.push(Piece { begin, end, placed, constants, first_constant });
    }
    pieces
}

impl Piece {
    /// Returns first pixel, slice, image row and batch of the box, and its extents in the same order.
    fn cut(&self, axis: usize, out: Shape) -> [[usize; 4]; 2] {
        let mut corner = [0; 4];
        let mut extents = [out.w, out.slices(), out.h, out.b];
        let at = [3, 2, 0, 1][axis];
        corner[at] = self.begin;
        extents[at] = self.end - self.begin;
        [corner, extents]
    }

    /// Returns the number of the box's lines before a row of the result. Lines are the image rows of the box, over
    /// all its batches.
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

    /// Packs the constants in the layout of the box: rows, slices, pixels; zeros elsewhere.
    fn pack(&self, constants: &[&Constant], axis: usize, out: Shape, texels: &mut Vec<[f32; 4]>) {
        let [[x0, _, y0, b0], [w, _, h, b]] = self.cut(axis, out);
        let slices = self.constant_slices(axis, out);
        let base = texels.len();
        texels.resize(base + self.constant_texels(axis, out), [0.0; 4]);
        for part in &self.constants {
            let constant = part.constant.and_then(|number| constants.get(number));
            let values = constant.map(|constant| constant.to_f32()).unwrap_or_default();
            let mut offset = [0; 4];
            offset[axis] = part.begin;
            for (i, &value) in values.iter().enumerate() {
                let [pb, py, px, pc] = pack::indices(part.shape, i);
                let to = [pb + offset[0], py + offset[1], px + offset[2], pc + offset[3]];
                let (Some(b_at), Some(y), Some(x)) =
                    (to[0].checked_sub(b0), to[1].checked_sub(y0), to[2].checked_sub(x0))
                else {
                    continue;
                };
                // A part may extend into two pieces along channels; each piece packs only the portion inside.
                let Some(s) = (to[3] / 4).checked_sub(self.first_constant) else { continue };
                if b_at < b && y < h && x < w && s < slices {
                    texels[base + ((b_at * h + y) * slices + s) * w + x][to[3] % 4] = value;
                }
            }
        }
    }
}

/// Returns the rows of the result that each dispatch writes to.
pub(crate) fn dispatch_rows(graph: &Graph, node: &Node, axis: usize) -> Vec<Range<u32>> {
    let out = graph.shape(node.output);
    let rows = |piece: &Piece| match axis {
        0 => (piece.begin * out.h) as u32..(piece.end * out.h) as u32,
        // With several images, a part has rows in each of them, and no smaller range covers them all.
        1 if out.b == 1 => piece.begin as u32..piece.end as u32,
        _ => 0..out.rows() as u32,
    };
    pieces(&parts(graph, node, axis), axis).iter().map(rows).collect()
}

/// Returns the constant parts.
pub(crate) fn weights(graph: &Graph, node: &Node, axis: usize) -> Vec<WeightSection> {
    let constants: Vec<TensorId> = node.inputs.iter().copied().filter(|&tensor| graph.is_constant(tensor)).collect();
    if constants.is_empty() {
        return Vec::new();
    }
    let layout = Joined { axis, out: graph.shape(node.output), parts: parts(graph, node, axis) };
    vec![WeightSection::new(SectionRole::Own, constants, layout)]
}

/// The constant parts, piece by piece.
#[derive(Clone, Debug)]
struct Joined {
    axis: usize,
    out: Shape,
    parts: Vec<Part>,
}

impl SectionLayout for Joined {
    fn texels(&self) -> u64 {
        pieces(&self.parts, self.axis).iter().map(|piece| piece.constant_texels(self.axis, self.out) as u64).sum()
    }

    fn pieces<'a>(&self, constants: &[&'a Constant]) -> WeightPieces<'a> {
        let (Self { axis, out, parts }, constants) = (self.clone(), constants.to_vec());
        pack::whole(move || {
            let mut texels = Vec::new();
            for piece in pieces(&parts, axis) {
                piece.pack(&constants, axis, out, &mut texels);
            }
            texels
        })
    }
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
        // The next part needs the second input.
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
    // Whole texels can be copied only if the part starts at a texel boundary and its last texel contains no other
    // part.
    let begins = piece.placed.first().is_some_and(|part| axis != 3 || part.begin.is_multiple_of(4));
    let aligned = begins && read.len() == 1 && constant_slices == 0;
    let constants = vec![
        ("FIRST_PART", common::flag(!read.is_empty())),
        ("SECOND_PART", common::flag(read.len() > 1)),
        ("CONSTANTS", common::flag(constant_slices > 0)),
        ("ALIGNED", common::flag(aligned)),
    ];
    let mut dispatch = common::dispatch(step, SHADER, epilogue, params, items, constants, &[]);
    if let Some(first) = read.first() {
        dispatch = dispatch.reading(first);
    }
    if let Some(second) = read.get(1) {
        dispatch = dispatch.reading_second(second);
    }
    Ok(Some(if constant_slices > 0 { dispatch.reading_weights(step) } else { dispatch }))
}

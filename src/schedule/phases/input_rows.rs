//! The phase model: which rows of an operand an operator reads to write one row of its result.
//!
//! Rows are `B * H`: row `r` is image row `r % H` of batch `r / H`. An operator that needs everything says so, and
//! whatever it reads is then complete before it starts. One small function a family; knows no schedule.

use std::ops::Range;

use crate::graph::{
    Conv2d, CoordMode, Graph, Node, Op, PadAxis, PadMode, Pool2d, ResizeAxis, ResizeMode, Shape, Tensor, TensorId,
    TransposeConv, follows_tensorflow, named,
};

/// For each row of the node's result, the rows of operand `index` that are read; the operands are the node's inputs,
/// then what its epilogue adds. `None` for constants and for an index that is not there.
pub fn input_rows(graph: &Graph, node: &Node, index: usize) -> Option<Vec<Range<u32>>> {
    let epilogue = index == node.inputs.len();
    let tensor = if epilogue { node.epilogue.add? } else { *node.inputs.get(index)? };
    if graph.is_constant(tensor) {
        return None;
    }
    let from = graph.shape(tensor);
    let to = graph.shape(*node.outputs.first()?);
    let image = Image { from, to };
    let window = |id: Option<&TensorId>| id.map_or(1, |&id| graph.shape(id).h);
    Some(match &node.op {
        _ if epilogue => image.alike(),
        Op::Conv2d(conv) | Op::DepthwiseConv2d(conv) => image.conv(conv, window(node.inputs.get(1))),
        Op::TransposeConv(conv) => image.transpose_conv(conv, window(node.inputs.get(1))),
        Op::Pool2d(pool) => image.pool(pool),
        Op::Unary(_) | Op::Prelu | Op::Binary(_) => image.alike(),
        Op::Softmax { .. } | Op::MatMul { .. } | Op::TopK { .. } | Op::Lrn { .. } => image.alike(),
        Op::Normalize { axes, .. } => image.reduce(*axes),
        Op::CumSum { axis, exclusive, reverse } => image.running(*axis, *exclusive, *reverse),
        Op::FullyConnected if node.inputs.get(1).is_some_and(|&w| graph.shape(w).c == from.c) => image.pixels(),
        Op::FullyConnected => image.everything(),
        Op::Reduce { axes, .. } => image.reduce(*axes),
        Op::Pad { before, after, mode } => image.padded(*before, *after, *mode),
        Op::Tile => image.mapped(|[b, y]| Some([b % from.b, y % from.h])),
        Op::Gather { .. } | Op::GatherElements { .. } if index > 0 => match node.op {
            Op::GatherElements { .. } => image.alike(),
            _ => image.everything(),
        },
        Op::Gather { axis: axis @ 0..=1 } => image.gathered(*axis, node.inputs.get(1).map(|&id| &graph.tensors[id])),
        Op::GatherElements { axis: 0 } => image.everything(),
        Op::GatherElements { axis: 1 } => image.each(|_| 0..from.h as isize),
        Op::Gather { .. } => image.alike(),
        // Where there are fewer rows of indices than of elements, they are the first of each batch.
        Op::GatherElements { .. } => image.each(|y| y as isize..y as isize + 1),
        Op::StridedSlice { begin, stride } => {
            image.shifted([begin[0] as isize, begin[1] as isize], [stride[0], stride[1]])
        }
        Op::Concat { axis } => image.part(*axis, graph, &node.inputs[..index]),
        Op::Transpose { perm } if perm[..2] == [0, 1] => image.alike(),
        Op::Transpose { .. } => image.everything(),
        Op::Reshape => image.reshape(),
        Op::DepthToSpace { block, .. } => image.per_block(*block, 1),
        Op::SpaceToDepth { block } => image.per_block(1, *block),
        Op::Resize { mode, coords, scale } if follows_tensorflow(*mode, *coords, *scale) => {
            image.resize(*mode, *coords)
        }
        Op::Resize { .. } => match ResizeAxis::new(&node.op, 0, from.h, to.h) {
            Some(axis) => image.taps(axis),
            None => image.everything(),
        },
    })
}

/// Extents of an operand and of the result.
struct Image {
    from: Shape,
    to: Shape,
}

impl Image {
    /// `rows` of the operand's image of batch `b`, cut to the image, by the row of the result.
    fn each(&self, rows: impl Fn(usize) -> Range<isize>) -> Vec<Range<u32>> {
        let height = self.from.h as isize;
        let cut = |row: usize| {
            let (b, y) = (row / self.to.h, row % self.to.h);
            let Range { start, end } = rows(y);
            let start = start.clamp(0, height);
            let end = end.clamp(start, height);
            let base = if self.from.b == 1 { 0 } else { b as isize * height };
            (base + start) as u32..(base + end) as u32
        };
        (0..self.to.rows()).map(cut).collect()
    }

    fn everything(&self) -> Vec<Range<u32>> {
        vec![0..self.from.rows() as u32; self.to.rows()]
    }

    /// The same row; the only one where the operand is repeated.
    fn alike(&self) -> Vec<Range<u32>> {
        let repeated = self.from.h == 1;
        self.each(|y| {
            let y = if repeated { 0 } else { y as isize };
            y..y + 1
        })
    }

    fn window(&self, stride: usize, reach: usize, above: usize) -> Vec<Range<u32>> {
        self.each(|y| {
            let top = (y * stride) as isize - above as isize;
            top..top + reach as isize
        })
    }

    fn conv(&self, conv: &Conv2d, window: usize) -> Vec<Range<u32>> {
        let reach = window.saturating_sub(1) * conv.dilation[0] + 1;
        self.window(conv.stride[0], reach, conv.padding.top)
    }

    fn pool(&self, pool: &Pool2d) -> Vec<Range<u32>> {
        let reach = pool.window[0].saturating_sub(1) * pool.dilation[0] + 1;
        self.window(pool.stride[0], reach, pool.padding.top)
    }

    /// Input row `i` reaches output rows `i * stride - top` and the window's height from there.
    fn transpose_conv(&self, conv: &TransposeConv, window: usize) -> Vec<Range<u32>> {
        let reach = window.saturating_sub(1) * conv.dilation[0] + 1;
        let (stride, top) = (conv.stride[0].max(1) as isize, conv.padding.top as isize);
        self.each(|y| {
            let y = y as isize + top;
            let first = (y - reach as isize + 1).max(0);
            (first + stride - 1) / stride..y / stride + 1
        })
    }

    /// A dense layer whose every pixel is a row of values of its own: pixels keep their order, not their rows.
    fn pixels(&self) -> Vec<Range<u32>> {
        let (from, to) = (self.from.w, self.to.w);
        let row = |row: usize| (row * to / from) as u32..((row * to + to).div_ceil(from)) as u32;
        (0..self.to.rows()).map(row).collect()
    }

    /// Elements keep their dense order.
    fn reshape(&self) -> Vec<Range<u32>> {
        let (from, to) = (self.from.w * self.from.c, self.to.w * self.to.c);
        let row = |row: usize| (row * to / from) as u32..((row * to + to).div_ceil(from)) as u32;
        (0..self.to.rows()).map(row).collect()
    }

    fn reduce(&self, [batch, height, ..]: [bool; 4]) -> Vec<Range<u32>> {
        if batch && self.from.b > 1 {
            return self.everything();
        }
        let rows = self.from.h as isize;
        self.each(|y| if height { 0..rows } else { y as isize..y as isize + 1 })
    }

    /// The rows in front of each, or behind.
    fn running(&self, axis: usize, exclusive: bool, reverse: bool) -> Vec<Range<u32>> {
        let own = isize::from(!exclusive);
        match axis {
            0 if self.from.b > 1 => self.everything(),
            1 if reverse => self.each(|y| y as isize + 1 - own..self.from.h as isize),
            1 => self.each(|y| 0..y as isize + own),
            _ => self.alike(),
        }
    }

    /// The batch and row that each batch and row of the result reads, if it reads any.
    fn mapped(&self, source: impl Fn([usize; 2]) -> Option<[usize; 2]>) -> Vec<Range<u32>> {
        let row = |row: usize| match source([row / self.to.h, row % self.to.h]) {
            Some([b, y]) => {
                let start = (b * self.from.h + y) as u32;
                start..start + 1
            }
            None => 0..0,
        };
        (0..self.to.rows()).map(row).collect()
    }

    /// Batch and row `i` of the result read `first + i * stride`; what lies outside is read nowhere.
    fn shifted(&self, first: [isize; 2], stride: [isize; 2]) -> Vec<Range<u32>> {
        let extents = [self.from.b, self.from.h];
        self.mapped(|at| {
            let from = [0, 1].map(|axis| {
                usize::try_from(first[axis] + at[axis] as isize * stride[axis]).ok().filter(|&i| i < extents[axis])
            });
            Some([from[0]?, from[1]?])
        })
    }

    fn padded(&self, before: [isize; 4], after: [isize; 4], mode: PadMode) -> Vec<Range<u32>> {
        let extents = [self.from.b, self.from.h];
        let axes = [0, 1].map(|axis| PadAxis::new(extents[axis], before[axis], after[axis]));
        self.mapped(|at| Some([axes[0]?.source(mode, at[0])?, axes[1]?.source(mode, at[1])?]))
    }

    /// Rows or batches looked up: those that constant indices name, all where the indices are computed.
    fn gathered(&self, axis: usize, indices: Option<&Tensor>) -> Vec<Range<u32>> {
        let Some(constant) = indices.and_then(|tensor| tensor.constant.as_ref()) else { return self.everything() };
        let extent = [self.from.b, self.from.h][axis];
        let named: Vec<usize> = constant.to_f32().iter().map(|&index| named(index, extent)).collect();
        self.mapped(|mut at| {
            at[axis] = *named.get(at[axis])?;
            Some(at)
        })
    }

    /// The rows of every tap that has a part.
    fn taps(&self, axis: ResizeAxis) -> Vec<Range<u32>> {
        self.each(|y| {
            let Some(taps) = axis.at(y) else { return 0..0 };
            let rows = (0..axis.taps()).filter(|&tap| taps.weights[tap] != 0.0).map(|tap| taps.pixel(tap, self.from.h));
            let (low, high) = rows.fold((usize::MAX, 0), |(low, high), row| (low.min(row), high.max(row + 1)));
            low.min(high) as isize..high as isize
        })
    }

    /// A part of a concatenation, behind the parts in front of it.
    fn part(&self, axis: usize, graph: &Graph, front: &[TensorId]) -> Vec<Range<u32>> {
        let begin: usize = front.iter().map(|&tensor| graph.shape(tensor).dims()[axis]).sum();
        match axis {
            0 => self.shifted([-(begin as isize), 0], [1, 1]),
            1 => self.shifted([0, -(begin as isize)], [1, 1]),
            _ => self.alike(),
        }
    }

    /// `to` rows of the result for every `from` rows of the operand.
    fn per_block(&self, to: usize, from: usize) -> Vec<Range<u32>> {
        self.each(|y| {
            let first = (y / to * from) as isize;
            first..first + from as isize
        })
    }

    /// The rows between which the result's row lies. A position next to a whole number may fall on either side of it in
    /// a device's arithmetic, so both count.
    fn resize(&self, mode: ResizeMode, coords: CoordMode) -> Vec<Range<u32>> {
        const SLACK: f64 = 1e-3;
        let (from, to) = (self.from.h as f64, self.to.h as f64);
        let scale = match coords {
            CoordMode::AlignCorners if self.to.h > 1 => (from - 1.0) / (to - 1.0),
            _ => from / to,
        };
        self.each(|y| {
            let position = match (coords, mode) {
                (CoordMode::HalfPixel, ResizeMode::Linear) => (y as f64 + 0.5) * scale - 0.5,
                (CoordMode::HalfPixel, ResizeMode::Nearest(_)) => (y as f64 + 0.5) * scale,
                (CoordMode::AlignCorners, ResizeMode::Nearest(_)) => y as f64 * scale + 0.5,
                _ => y as f64 * scale,
            };
            let (low, high) = (position - SLACK, position + SLACK);
            let upper = if mode == ResizeMode::Linear { high.ceil() } else { high.floor() };
            let inside = |row: f64| row.clamp(0.0, from - 1.0) as isize;
            inside(low.floor())..inside(upper) + 1
        })
    }
}

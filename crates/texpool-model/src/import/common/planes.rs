//! Volumes as images: planes along the depth are items of a batch. Shifting and picking planes moves whole images, so
//! that operators of images compute those of volumes.

use crate::import::error::Problem;
use texpool_ops::graph::{Concat, Op, Pad, PadMode, Shape, StridedSlice, TensorId};

/// Adds nodes to the graph.
pub(in crate::import) trait Emit {
    /// Adds a node, and returns its result, a tensor of `shape`.
    fn emit(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem>;
}

/// Volumes of `depth` planes each, in a tensor `[items * depth, h, w, c]`.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct Planes {
    pub(in crate::import) tensor: TensorId,
    pub(in crate::import) items: usize,
    pub(in crate::import) depth: usize,
    /// A single plane.
    pub(in crate::import) plane: Shape,
}

impl Planes {
    /// Returns the shape of the tensor with another depth.
    pub(in crate::import) fn shape(&self, depth: usize) -> Shape {
        Shape { b: self.items * depth, ..self.plane }
    }

    /// Returns the shape with the planes of an item below one another, of the same texels.
    pub(in crate::import) fn stacked(&self, depth: usize) -> Shape {
        Shape { b: self.items, h: depth * self.plane.h, ..self.plane }
    }

    /// Adds planes of zeros in front and at the end.
    fn bordered(self, emit: &mut impl Emit, front: usize, back: usize) -> Result<Self, Problem> {
        if front + back == 0 {
            return Ok(self);
        }
        let depth = self.depth + front + back;
        let mode = PadMode::Constant(0.0);
        // The planes of a single item are the batch, so that their pad may be written in place.
        let (axis, rows, shapes) = match self.items {
            1 => (0, 1, [self.shape(self.depth), self.shape(depth)]),
            _ => (1, self.plane.h, [self.stacked(self.depth), self.stacked(depth)]),
        };
        let [mut before, mut after] = [[0; 4]; 2];
        (before[axis], after[axis]) = ((front * rows) as isize, (back * rows) as isize);
        let from = reshaped(emit, self.tensor, self.shape(self.depth), shapes[0])?;
        let tensor = emit.emit(Op::Pad(Pad { before, after, mode }), &[from], shapes[1])?;
        let tensor = reshaped(emit, tensor, shapes[1], self.shape(depth))?;
        Ok(Self { tensor, depth, ..self })
    }

    /// Returns planes `first`, `first + stride` and so on, all of which exist.
    pub(in crate::import) fn taken(
        self,
        emit: &mut impl Emit,
        first: usize,
        stride: usize,
        count: usize,
    ) -> Result<Self, Problem> {
        if first == 0 && count == self.depth {
            return Ok(self);
        }
        let step = stride as isize;
        let tensor = if self.items > 1 && stride == 1 {
            let from = reshaped(emit, self.tensor, self.shape(self.depth), self.stacked(self.depth))?;
            let slice = StridedSlice { begin: [0, first * self.plane.h, 0, 0], stride: [1; 4] };
            let tensor = emit.emit(Op::StridedSlice(slice), &[from], self.stacked(count))?;
            reshaped(emit, tensor, self.stacked(count), self.shape(count))?
        } else {
            let mut parts = Vec::with_capacity(self.items);
            for item in 0..self.items {
                let slice = StridedSlice { begin: [item * self.depth + first, 0, 0, 0], stride: [step, 1, 1, 1] };
                let shape = Shape { b: count, ..self.plane };
                parts.push(emit.emit(Op::StridedSlice(slice), &[self.tensor], shape)?);
            }
            match *parts {
                [part] => part,
                _ => emit.emit(Op::Concat(Concat { axis: 0 }), &parts, self.shape(count))?,
            }
        };
        Ok(Self { tensor, depth: count, ..self })
    }

    /// Returns for each number in `first` the planes from there on, in steps of `stride`. Planes outside are zero.
    pub(in crate::import) fn runs(
        self,
        emit: &mut impl Emit,
        first: &[isize],
        stride: usize,
        count: usize,
    ) -> Result<Vec<Self>, Problem> {
        let span = (count - 1) * stride + 1;
        let front = first.iter().map(|&first| (-first).max(0)).max().unwrap_or(0) as usize;
        let ends = first.iter().map(|&first| first + span as isize - self.depth as isize);
        let back = ends.max().unwrap_or(0).max(0) as usize;
        let whole = self.bordered(emit, front, back)?;
        first.iter().map(|&first| whole.taken(emit, (first + front as isize) as usize, stride, count)).collect()
    }

    /// Joins volumes of the same extents along the channels.
    pub(in crate::import) fn joined(emit: &mut impl Emit, all: &[Self]) -> Result<Option<Self>, Problem> {
        let Some(&one) = all.first().filter(|_| all.len() > 1) else { return Ok(all.first().copied()) };
        let plane = Shape { c: all.iter().map(|planes| planes.plane.c).sum(), ..one.plane };
        let joined = Self { plane, ..one };
        let parts: Vec<TensorId> = all.iter().map(|planes| planes.tensor).collect();
        let tensor = emit.emit(Op::Concat(Concat { axis: 3 }), &parts, joined.shape(one.depth))?;
        Ok(Some(Self { tensor, ..joined }))
    }

    /// Joins volumes of the same extents such that the first planes of all come first, then the second ones, and so on.
    pub(in crate::import) fn interleaved(emit: &mut impl Emit, all: &[Self]) -> Result<Option<Self>, Problem> {
        let Some(&one) = all.first().filter(|_| all.len() > 1) else { return Ok(all.first().copied()) };
        let whole = Self { depth: one.depth * all.len(), ..one };
        let Shape { b, h, .. } = one.shape(one.depth);
        // Planes with the same number are below one another.
        let below = Shape { b, h: h * all.len(), ..one.plane };
        let parts: Vec<TensorId> = all.iter().map(|planes| planes.tensor).collect();
        let tensor = emit.emit(Op::Concat(Concat { axis: 1 }), &parts, below)?;
        let tensor = reshaped(emit, tensor, below, whole.shape(whole.depth))?;
        Ok(Some(Self { tensor, ..whole }))
    }
}

/// Adds a reshape, unless the tensor has the shape already.
fn reshaped(emit: &mut impl Emit, tensor: TensorId, from: Shape, to: Shape) -> Result<TensorId, Problem> {
    if from == to { Ok(tensor) } else { emit.emit(Op::Reshape, &[tensor], to) }
}

/// A tap of a window along the depth: its number, and the plane that it reads for the first result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) struct Tap {
    pub(in crate::import) number: usize,
    pub(in crate::import) first: isize,
}

/// Windows of a convolution along the depth.
#[derive(Clone, Copy, Debug)]
pub(in crate::import) struct DepthWindow {
    /// Number of taps.
    pub(in crate::import) extent: usize,
    pub(in crate::import) stride: usize,
    pub(in crate::import) dilation: usize,
}

impl DepthWindow {
    /// Returns the taps that read some of the `depth` planes, for a result of `count` planes and `front` planes of
    /// zeros in front. One tap is left in any case.
    pub(in crate::import) fn taps(&self, depth: usize, front: usize, count: usize) -> Vec<Tap> {
        let first = |number: usize| (number * self.dilation) as isize - front as isize;
        let all = (0..self.extent).map(|number| Tap { number, first: first(number) });
        reading(all, depth, self.stride, count)
    }

    /// Returns the taps of a transposed convolution for those planes of the result whose numbers leave `remainder` when
    /// divided by the stride, of which there are `count`. `cut` planes are cut off in front.
    pub(in crate::import) fn transposed_taps(
        &self,
        depth: usize,
        cut: usize,
        remainder: usize,
        count: usize,
    ) -> Vec<Tap> {
        let tap = |number: usize| {
            let distance = (remainder + cut) as isize - (number * self.dilation) as isize;
            let stride = self.stride as isize;
            (distance % stride == 0).then(|| Tap { number, first: distance / stride })
        };
        let taps = reading((0..self.extent).filter_map(tap), depth, 1, count);
        // Planes that no tap reaches are computed of zeros.
        if taps.is_empty() { vec![Tap { number: 0, first: -(count as isize) }] } else { taps }
    }
}

/// Leaves out taps that read no plane, except for the first one if none does.
fn reading(taps: impl Iterator<Item = Tap> + Clone, depth: usize, stride: usize, count: usize) -> Vec<Tap> {
    let reads = |tap: &Tap| {
        // The first plane that is not in front of the volume.
        let skipped = if tap.first < 0 { tap.first.unsigned_abs().div_ceil(stride) } else { 0 };
        skipped < count && tap.first + ((skipped * stride) as isize) < depth as isize
    };
    let some: Vec<Tap> = taps.clone().filter(reads).collect();
    if some.is_empty() { taps.take(1).collect() } else { some }
}

//! Height and width made larger or smaller.

use std::ops::Range;

use super::{
    operator::{ConstantOperands, Operator, Properties, one_dispatch, plain},
    reference::{self, Operands, ReferenceError},
    rows::RowMap,
    work::{Family, Work},
};
use crate::{
    graph::{CoordMode, Graph, Node, Op, ResizeAxis, ResizeMode, Shape, follows_tensorflow},
    kernels::{self, Dispatch, KernelError, StepContext},
};

/// Height and width made larger or smaller.
pub(super) struct Resize<'a> {
    pub(super) op: &'a Op,
    pub(super) mode: ResizeMode,
    pub(super) coords: CoordMode,
    pub(super) scale: Option<[f32; 2]>,
}

impl Operator for Resize<'_> {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        if self.follows_tensorflow() {
            return between(map, self.mode, self.coords);
        }
        match ResizeAxis::new(self.op, 0, map.from.h, map.to.h) {
            Some(axis) => taps(map, &axis),
            None => map.everything(),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, Family::Resize, 1, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<[f32; 4]> {
        Vec::new()
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        if self.follows_tensorflow() {
            kernels::resize::dispatches(step, self.mode, self.coords)
        } else {
            kernels::resample::dispatches(step)
        }
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(if self.follows_tensorflow() {
            reference::resize::tensorflow(&x, self.mode, self.coords, out)
        } else {
            reference::resize::taps(&x, self.op, self.coords, out)
        })
    }
}

impl Resize<'_> {
    /// Whether it is one of those that TensorFlow Lite's arithmetic defines to the bit.
    fn follows_tensorflow(&self) -> bool {
        follows_tensorflow(self.mode, self.coords, self.scale)
    }
}

/// The rows of every tap that has a part.
fn taps(map: &RowMap<'_>, axis: &ResizeAxis) -> Vec<Range<u32>> {
    map.each(|y| {
        let Some(taps) = axis.at(y) else { return 0..0 };
        let rows = (0..axis.taps()).filter(|&tap| taps.weights[tap] != 0.0).map(|tap| taps.pixel(tap, map.from.h));
        let (low, high) = rows.fold((usize::MAX, 0), |(low, high), row| (low.min(row), high.max(row + 1)));
        low.min(high) as isize..high as isize
    })
}

/// The rows between which the result's row lies. A position next to a whole number may fall on either side of it in a
/// device's arithmetic, so both count.
fn between(map: &RowMap<'_>, mode: ResizeMode, coords: CoordMode) -> Vec<Range<u32>> {
    const SLACK: f64 = 1e-3;
    let (from, to) = (map.from.h as f64, map.to.h as f64);
    let scale = match coords {
        CoordMode::AlignCorners if map.to.h > 1 => (from - 1.0) / (to - 1.0),
        _ => from / to,
    };
    map.each(|y| {
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

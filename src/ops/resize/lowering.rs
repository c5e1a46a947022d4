//! Resize: changes height and width.

use std::ops::Range;

use super::{
    Resize, kernel, reference, resample_kernel,
    tensorflow::{Coords, TensorFlowResize},
};
use crate::{
    graph::{Graph, Node, ResizeAxis, Shape},
    kernels::{Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, one_dispatch, plain},
        reference::{Operands, ReferenceError},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Resize {
    const SHADERS: &'static [Shader] = &[kernel::SHADER, resample_kernel::SHADER];
}

impl Operator for Resize {
    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        match TensorFlowResize::of(self) {
            Some(resize) => between(map, resize),
            None => taps(map, &ResizeAxis::new(self, 0, map.from.h, map.to.h)),
        }
    }

    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>> {
        one_dispatch(graph, node)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Resize, 1, 1)
    }

    fn weights(&self, _graph: &Graph, _node: &Node) -> Vec<WeightSection> {
        Vec::new()
    }

    fn weight_sections(&self, _graph: &Graph, _node: &Node) -> Option<WeightSections> {
        None
    }

    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        match TensorFlowResize::of(self) {
            Some(resize) => kernel::dispatches(step, resize),
            None => resample_kernel::dispatches(step, self),
        }
    }

    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError> {
        let x = operands.get(0)?;
        Ok(match TensorFlowResize::of(self) {
            Some(resize) => reference::tensorflow(&x, resize, out),
            None => reference::taps(&x, self, out),
        })
    }
}

/// Returns the rows of all taps, including those with weight zero: the kernel reads them, and a value multiplied by
/// zero must be a finite number.
fn taps(map: &RowMap<'_>, axis: &ResizeAxis) -> Vec<Range<u32>> {
    map.each(|y| {
        let Some(taps) = axis.at(y) else { return 0..0 };
        let rows = (0..axis.taps()).map(|tap| taps.pixel(tap, map.from.h));
        let (low, high) = rows.fold((usize::MAX, 0), |(low, high), row| (low.min(row), high.max(row + 1)));
        low as isize..high as isize
    })
}

/// Returns the rows around the position of a result row. A position close to a whole number may fall on either side
/// of it in a device's arithmetic, so both sides are included.
fn between(map: &RowMap<'_>, TensorFlowResize { bilinear, coords }: TensorFlowResize) -> Vec<Range<u32>> {
    const SLACK: f64 = 1e-3;
    let (from, to) = (map.from.h as f64, map.to.h as f64);
    let scale = match coords {
        Coords::AlignCorners if map.to.h > 1 => (from - 1.0) / (to - 1.0),
        Coords::Asymmetric | Coords::HalfPixel | Coords::AlignCorners => from / to,
    };
    map.each(|y| {
        let position = match (coords, bilinear) {
            (Coords::HalfPixel, true) => (y as f64 + 0.5) * scale - 0.5,
            (Coords::HalfPixel, false) => (y as f64 + 0.5) * scale,
            (Coords::AlignCorners, false) => y as f64 * scale + 0.5,
            (Coords::AlignCorners, true) | (Coords::Asymmetric, _) => y as f64 * scale,
        };
        let (low, high) = (position - SLACK, position + SLACK);
        let upper = if bilinear { high.ceil() } else { high.floor() };
        let inside = |row: f64| row.clamp(0.0, from - 1.0) as isize;
        inside(low.floor())..inside(upper) + 1
    })
}

//! Reductions over axes.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family};
use crate::graph::Reduce;

pub(super) const MEAN: Shader = Shader::new("mean", include_str!("../../shaders/mean.wgsl"));
pub(super) const REDUCE: Shader = Shader::new("reduce", include_str!("../../shaders/reduce.wgsl"));

/// How a mean over width is taken.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// Not over width, or over channels too.
    Plain = 0,
    /// Over height and width: the mean of the rows' means.
    Both = 1,
    /// Over width alone.
    One = 2,
}

const fn rows([_, height, width, channels]: [bool; 4]) -> Rows {
    match (height, width, channels) {
        (true, true, false) => Rows::Both,
        (false, true, false) => Rows::One,
        _ => Rows::Plain,
    }
}

/// One texel of the result an invocation; it sums in one order, whatever the rows of the step.
pub(crate) fn dispatches(step: &StepContext<'_>, kind: Reduce, axes: [bool; 4]) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let params = KernelParams::new(step, &plan, items).input(input).own(axes.map(u32::from));
    if let Some(code) = code(kind) {
        let kind = ("KIND", f64::from(code));
        return Ok(vec![family::dispatch(step, REDUCE, &plan, params, items, vec![kind]).reading(input)]);
    }
    let extents = input.shape.dims();
    let rows = rows(axes);
    let reduced = |axis: &usize| axes[*axis] && !(rows == Rows::Both && *axis == 2);
    let divisor = (0..4).filter(reduced).map(|axis| extents[axis]).product::<usize>() as f32;
    let row = (extents[2] as f32).to_bits();
    let params = params.own([divisor.to_bits(), row, rows as u32, 0]);
    Ok(vec![family::dispatch(step, MEAN, &plan, params, items, Vec::new()).reading(input)])
}

/// The code of a reduction in `reduce.wgsl`; the mean has a shader of its own.
const fn code(kind: Reduce) -> Option<u32> {
    Some(match kind {
        Reduce::Mean => return None,
        Reduce::Sum => 1,
        Reduce::SumSquare => 2,
        Reduce::Max => 3,
        Reduce::Min => 4,
        Reduce::Prod => 5,
        Reduce::L1 => 6,
        Reduce::L2 => 7,
        Reduce::LogSum => 8,
        Reduce::LogSumExp => 9,
        Reduce::ArgMax { last: false } => 10,
        Reduce::ArgMin { last: false } => 11,
        Reduce::ArgMax { last: true } => 12,
        Reduce::ArgMin { last: true } => 13,
    })
}

//! Reductions over axes.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family};
use crate::graph::Reduce;

const SHADER: Shader = Shader { name: "reduce", source: include_str!("../../shaders/reduce.wgsl") };

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
pub(super) fn dispatches(step: &StepContext<'_>, kind: Reduce, axes: [bool; 4]) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let extents = input.shape.dims();
    let rows = rows(axes);
    let reduced = |axis: &usize| axes[*axis] && !(rows == Rows::Both && *axis == 2);
    let divisor = match kind {
        _ if kind != Reduce::Mean => {
            return Err(family::unsupported(step, "there is no kernel for it yet".into()));
        }
        _ => (0..4).filter(reduced).map(|axis| extents[axis]).product::<usize>() as f32,
    };
    let row = (extents[2] as f32).to_bits();
    let words = Words::new(step, &plan, items).input(input).own(axes.map(u32::from)).own([
        divisor.to_bits(),
        row,
        rows as u32,
        0,
    ]);
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, Vec::new()).reading(input)])
}

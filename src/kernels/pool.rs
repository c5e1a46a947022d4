//! Pools: the greatest, the mean or the norm of a window.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family};
use crate::graph::{Padding, Pool2d, PoolKind, Shape};

pub(super) const SHADER: Shader = Shader::new("pool", include_str!("../../shaders/pool.wgsl"));

/// First and last but one row and column that count in a mean, from the corner of the image with all its border.
fn counted(around: Padding, counted: Padding, image: Shape) -> [u32; 4] {
    let first = |padding: usize, border: usize| padding as i32 - border as i32;
    let [y, x] = [first(around.top, counted.top), first(around.left, counted.left)];
    let end = |padding: usize, extent: usize, border: usize| (padding + extent + border) as i32;
    [y, end(around.top, image.h, counted.bottom), x, end(around.left, image.w, counted.right)].map(|v| v as u32)
}

/// One texel an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, pool: &Pool2d) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let (kind, power) = match pool.kind {
        PoolKind::Max => (0u8, 0),
        PoolKind::Average => (1, 0),
        PoolKind::Lp { p } => (2, p),
    };
    let params = KernelParams::new(step, &plan, items)
        .input(input)
        .own([pool.window[0], pool.window[1], pool.stride[0], pool.stride[1]].map(|v| v as u32))
        .own([pool.padding.top, pool.padding.left, pool.dilation[0], pool.dilation[1]].map(|v| v as u32))
        .own(counted(pool.padding, pool.counted.unwrap_or_default(), input.shape))
        .own([power, 0, 0, 0]);
    let constants = vec![("KIND", f64::from(kind)), ("COUNTED", f64::from(u8::from(pool.counted.is_some())))];
    Ok(vec![family::dispatch(step, SHADER, &plan, params, items, constants).reading(input)])
}

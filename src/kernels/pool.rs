//! Pools: the greatest or the mean of a window.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family};
use crate::graph::{Pool2d, PoolKind};

const SHADER: Shader = Shader { name: "pool", source: include_str!("../../shaders/pool.wgsl") };

/// One texel an invocation.
pub(super) fn dispatches(step: &StepContext<'_>, pool: &Pool2d) -> Result<Vec<Dispatch>, KernelError> {
    if pool.dilation != [1, 1] || pool.counted.is_some() || matches!(pool.kind, PoolKind::Lp { .. }) {
        return Err(family::unsupported(step, super::NO_KERNEL.into()));
    }
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let words = Words::new(step, &plan, items)
        .input(input)
        .own([pool.window[0], pool.window[1], pool.stride[0], pool.stride[1]].map(|v| v as u32))
        .own([pool.padding.top as u32, pool.padding.left as u32, 0, 0]);
    let average = ("AVERAGE", f64::from(u8::from(pool.kind == PoolKind::Average)));
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, vec![average]).reading(input)])
}

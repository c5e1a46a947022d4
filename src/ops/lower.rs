//! A step to its dispatches.

use std::sync::Arc;

use super::{bounds, lookup, weights::weight_sections, words::packed_weight_texels};
use crate::{
    graph,
    kernels::{Dispatch, KernelError, Reach, StepContext, context, epilogue},
};

/// The dispatches of a step, in order.
///
/// # Errors
/// [`KernelError::Unsupported`] where no kernel runs this form of the operator; [`KernelError::Graph`],
/// [`KernelError::TooLarge`] and [`KernelError::Misfit`] where the graph is not whole, or the step is put together of
/// parts that do not fit.
pub fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    check_all(step)?;
    lower(step)
}

/// The same for a step of a graph that has been [checked](super::check), with weights that lie where they were uploaded
/// to.
pub(crate) fn lower(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    context::check(step)?;
    epilogue::check(step)?;
    let all = 0..step.output.shape.slices() as u32;
    let inside = step.slices.start < step.slices.end && step.slices.end <= all.end;
    if step.weights.packing.is_words() && lookup::properties(step.graph, step.node).weights.is_none() {
        return Err(context::misfit("its kernel reads weights as texels alone".into()));
    }
    let sections = || weight_sections(step.graph, step.node, step.weights.packing);
    if !inside || step.slices != all && sections().is_none() {
        return Err(context::misfit(format!("slices {:?} are asked for of {}", step.slices, all.end)));
    }
    let mut dispatches = lookup::dispatches(step)?;
    let reach: Arc<[Reach]> = step.reach().into();
    dispatches.iter_mut().for_each(|dispatch| dispatch.reach = Arc::clone(&reach));
    Ok(dispatches)
}

/// Checks all of a step that was put together by hand: the graph too, and that its weights have room.
fn check_all(step: &StepContext<'_>) -> Result<(), KernelError> {
    graph::check(step.graph)?;
    bounds::check(step.graph)?;
    // By address: the checks above were of the graph's own nodes.
    if !step.graph.nodes.iter().any(|node| std::ptr::eq(node, step.node)) {
        return Err(context::misfit("the node is none of the graph's".into()));
    }
    let packing = step.weights.packing;
    let needed = match weight_sections(step.graph, step.node, packing) {
        Some(sections) => sections.slice_texels() * step.slices.len() as u64,
        None => packed_weight_texels(step.graph, step.node, packing),
    };
    let room = step.weights.texels;
    if u64::from(room) < needed {
        return Err(context::misfit(format!("the weights take {needed} texels, and have room for {room}")));
    }
    Ok(())
}

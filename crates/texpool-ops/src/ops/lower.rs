//! Lowers a step to its dispatches.

use std::sync::Arc;

use super::{bounds, conv::kernel::is_pointwise, lookup, op::Op, weights::weight_sections, words::section_texels};
use crate::{
    graph,
    kernels::{Dispatch, KernelError, Reach, StepContext, WeightPlace, context, epilogue},
};

/// Returns the dispatches of a step, in order.
///
/// # Errors
/// Fails with [`KernelError::Unsupported`] if no kernel supports this form of the operator; with
/// [`KernelError::Graph`], [`KernelError::TooLarge`] or [`KernelError::Misfit`] if the graph is invalid or the parts
/// of the step do not fit together.
pub fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    check_all(step)?;
    lower(step, None)
}

/// Lowers a step of a graph that has already been [checked](super::check). The weights must be at the location they
/// were uploaded to.
///
/// `width` limits the columns that are computed, for operators of which [`Needed`](super::Needed) says so.
pub fn lower(step: &StepContext<'_>, width: Option<usize>) -> Result<Vec<Dispatch>, KernelError> {
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
    let reach: Arc<[Reach]> = step.reach().into();
    let mut dispatches = match width {
        Some(width) if width < step.output.shape.w => lookup::dispatches(&narrow(step, width))?,
        _ => lookup::dispatches(step)?,
    };
    dispatches.iter_mut().for_each(|dispatch| dispatch.reach = Arc::clone(&reach));
    Ok(dispatches)
}

/// Returns the step with fewer columns. Rows keep their places, since these follow from the pitch.
fn narrow<'a>(step: &StepContext<'a>, width: usize) -> StepContext<'a> {
    let mut narrow = step.clone();
    narrow.output.shape.w = width;
    // Kernels of single pixels count those of the operand like those of the result, and both have the same width.
    let is_of_pixels = match &step.node.op {
        Op::FullyConnected => true,
        Op::Conv2d(conv) => is_pointwise(step.graph.shape(step.node.inputs[1]), conv),
        _ => false,
    };
    if let Some(Some(input)) = narrow.inputs.first_mut().filter(|_| is_of_pixels) {
        input.shape.w = width;
    }
    narrow
}

/// Checks a step that was assembled by hand, including its graph and the space for its weights.
fn check_all(step: &StepContext<'_>) -> Result<(), KernelError> {
    graph::check(step.graph)?;
    bounds::check(step.graph)?;
    // Compares addresses, because the checks above covered the graph's own nodes.
    if !step.graph.nodes.iter().any(|node| std::ptr::eq(node, step.node)) {
        return Err(context::misfit("the node is none of the graph's".into()));
    }
    let WeightPlace { starts, end, packing, .. } = step.weights;
    for (role, needed) in section_texels(step.graph, step.node, packing, &step.slices) {
        let start = starts[role as usize];
        if u64::from(start) + needed > u64::from(end) {
            let why = format!("the weights ({role:?}) take {needed} texels from {start} on, and have room up to {end}");
            return Err(context::misfit(why));
        }
    }
    Ok(())
}

//! A step to its dispatches, and a node to the weights that they read.

use super::{bounds, lookup};
use crate::{
    graph::{self, Graph, Node},
    kernels::{Dispatch, EpilogueParams, KernelError, StepContext, context, epilogue},
};

/// The texels that a node's kernel reads beside its tensors: weights, biases, PReLU alphas.
pub fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    let mut texels = lookup::weights(graph, node);
    // Alphas lie behind the kernel's own texels, which each kernel counts again for its dispatches.
    EpilogueParams::new(graph, node, texels.len()).pack(&mut texels);
    texels
}

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
    lookup::dispatches(step)
}

/// Checks all of a step that was put together by hand: the graph too, and that its weights have room.
fn check_all(step: &StepContext<'_>) -> Result<(), KernelError> {
    graph::check(step.graph)?;
    bounds::check(step.graph)?;
    // By address: the checks above were of the graph's own nodes.
    if !step.graph.nodes.iter().any(|node| std::ptr::eq(node, step.node)) {
        return Err(context::misfit("the node is none of the graph's".into()));
    }
    let (room, needed) = (step.weights.texels, weights(step.graph, step.node).len());
    if (room as usize) < needed {
        return Err(context::misfit(format!("the weights take {needed} texels, and have room for {room}")));
    }
    Ok(())
}

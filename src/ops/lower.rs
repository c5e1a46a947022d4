//! A step to its dispatches, and a node to the weights that they read.

use super::{bounds, lookup};
use crate::{
    graph::{self, Act, Graph, Node},
    kernels::{Dispatch, KernelError, StepContext, WeightPieces, WeightSections, context, epilogue},
};

/// The version of what [`weights`] answers with, to be raised where a kernel wants its weights packed otherwise: they are
/// kept in files from run to run.
pub const PACKING: u32 = 1;

/// The texels that a node's kernel reads beside its tensors, one after another: weights, biases, PReLU alphas.
pub fn weights<'a>(graph: &'a Graph, node: &'a Node) -> WeightPieces<'a> {
    // Alphas lie behind the kernel's own texels, which each kernel counts again for its dispatches.
    let alphas = std::iter::once_with(|| epilogue::alphas(graph, node));
    Box::new(lookup::weights(graph, node).chain(alphas).filter(|texels| !texels.is_empty()))
}

/// How many texels [`weights`] answers with.
pub fn weight_texels(graph: &Graph, node: &Node) -> u64 {
    match weight_sections(graph, node) {
        Some(sections) => sections.all(),
        None => weights(graph, node).map(|texels| texels.len() as u64).sum(),
    }
}

/// How the texels of [`weights`] are divided by slices of the node's result; `None` where no kernel computes some slices
/// alone.
pub fn weight_sections(graph: &Graph, node: &Node) -> Option<WeightSections> {
    let mut sections = lookup::weight_sections(graph, node)?;
    for act in [node.epilogue.first, node.epilogue.then] {
        if let Act::Prelu(alphas) = act {
            // One alpha a channel, as the shader counts them.
            if graph.shape(alphas).len().div_ceil(4) != graph.shape(node.output).slices() {
                return None;
            }
            sections = sections.with_channels();
        }
    }
    Some(sections)
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
    let all = 0..step.output.shape.slices() as u32;
    let inside = step.slices.start < step.slices.end && step.slices.end <= all.end;
    if !inside || step.slices != all && weight_sections(step.graph, step.node).is_none() {
        return Err(context::misfit(format!("slices {:?} are asked for of {}", step.slices, all.end)));
    }
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
    let needed = match weight_sections(step.graph, step.node) {
        Some(sections) => sections.slice_texels() * step.slices.len() as u64,
        None => weight_texels(step.graph, step.node),
    };
    let room = step.weights.texels;
    if u64::from(room) < needed {
        return Err(context::misfit(format!("the weights take {needed} texels, and have room for {room}")));
    }
    Ok(())
}

//! Kernels: for a step and its placements, the shader to run, its constants, its words and its size.
//!
//! One file a family, beside one WGSL file in `shaders/`. A family offers `weights` (what it wants packed into texels,
//! known before any placement; nothing where it has none), `dispatches`, and a CPU twin. Knows no wgpu handle.

mod block;
mod conv;
mod depthwise;
mod dispatch;
mod family;
mod fill;
mod fully_connected;
mod pack;
mod tail;
pub mod twin;
mod unary;
mod words;

pub use dispatch::{Constants, Dispatch, FOLD, KernelError, Operand, Shader, StepContext, WeightPlace};
pub use fill::fill;
pub use tail::TailPlan;
pub use words::Words;

use crate::graph::{Graph, Node, Op};

/// The texels that a node's kernel reads beside its tensors: weights, biases, PReLU alphas.
pub fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    let mut texels = match &node.op {
        Op::Conv2d(op) => conv::weights(graph, node, op, conv::Kind::Full),
        Op::DepthwiseConv2d(op) => depthwise::weights(graph, node, op),
        Op::FullyConnected => fully_connected::weights(graph, node),
        _ => Vec::new(),
    };
    TailPlan::new(graph, node, texels.len()).pack(&mut texels);
    texels
}

/// The dispatches of a step, in order.
///
/// # Errors
/// [`KernelError::Unsupported`] where no kernel runs this form of the operator.
pub fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    match &step.node.op {
        Op::Conv2d(op) => conv::dispatches(step, op, conv::Kind::Full),
        Op::DepthwiseConv2d(op) => depthwise::dispatches(step, op),
        Op::FullyConnected => fully_connected::dispatches(step),
        Op::Unary(unary) => unary::dispatches(step, *unary),
        _ => Err(family::unsupported(step, "no kernel".into())),
    }
}

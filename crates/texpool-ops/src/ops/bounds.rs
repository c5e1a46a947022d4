//! Limits on numbers so that kernels can compute in 32 bits. Shaders are compiled without run-time checks
//! (`gpu/pipelines.rs`), so this module rejects values that would wrap or be truncated there.

use super::lookup::properties;
use crate::{
    graph::{Graph, Node},
    kernels::KernelError,
};

/// Exclusive upper limit on the elements of a tensor: the sum of two element counts cannot overflow, not even as
/// signed parameters.
const ELEMENTS: usize = 1 << 30;

/// Exclusive upper limit on strides, dilations, windows, paddings and the extents that pads mirror. An extent with
/// padding on both sides stays below 2^31, and so does twice the period of a mirrored one.
const ATTRIBUTES: usize = 1 << 29;

/// Checks all numbers of a graph that kernels compute with: elements of tensors and attributes of operators. The
/// graph must be valid ([`crate::graph::check`]), because then these numbers bound all others.
///
/// # Errors
/// Fails with [`KernelError::TooLarge`] for the first number that is too large.
pub fn check(graph: &Graph) -> Result<(), KernelError> {
    graph.nodes.iter().try_for_each(|node| check_node(graph, node))
}

fn check_node(graph: &Graph, node: &Node) -> Result<(), KernelError> {
    let refuse = |what: String, found: usize, limit: usize| {
        let (op_index, op) = (node.op_index, node.op.name());
        Err(KernelError::TooLarge { op_index, op, what, found, limit })
    };
    for tensor in node.operands().chain([node.output]) {
        let tensor = &graph.tensors[tensor];
        match tensor.shape.checked_len() {
            Some(elements) if elements < ELEMENTS => {}
            // `None` means that the product itself overflows.
            elements => {
                let what = format!("elements of `{}`", tensor.name);
                return refuse(what, elements.unwrap_or(usize::MAX), ELEMENTS);
            }
        }
    }
    match properties(graph, node).attributes.into_iter().find(|&(_, value)| value >= ATTRIBUTES) {
        Some((what, found)) => refuse(what.to_owned(), found, ATTRIBUTES),
        None => Ok(()),
    }
}

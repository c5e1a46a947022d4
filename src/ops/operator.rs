//! Defines how operators run.

use std::ops::Range;

use super::{
    reference::{Operands, ReferenceError},
    rows::RowMap,
    work::Work,
};
use crate::{
    graph::{Graph, Node, Padding, Shape, TensorId},
    kernels::{ChannelWeights, Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
};

/// Operands that an operator's kernels can read as constants, so that no step needs to compute them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantOperands {
    /// All but the first, which must be computed.
    AfterFirst,
    /// Either of two, but not both.
    OneOfTwo,
    /// Any of them.
    Any,
}

/// Properties of a node other than its rows and kernels.
pub(crate) struct Properties {
    /// Operands that may be constants.
    pub(crate) constants: ConstantOperands,
    /// Named numbers that a file may choose freely. They are not limited by the extents of a tensor, but kernels
    /// compute in 32 bits.
    pub(crate) attributes: Vec<(&'static str, usize)>,
    /// The tensor of indices that the node reads or computes, if any, and the number of positions that they
    /// distinguish.
    pub(crate) indices: Option<(TensorId, usize)>,
    /// The weights, if the kernels can read them in any [packing](crate::kernels::WeightPacking).
    pub(crate) weights: Option<ChannelWeights>,
}

/// Execution of an operator: its dependencies, costs, weights, dispatches and result. No method has a default.
pub(crate) trait Operator {
    /// Returns constants, attributes and indices.
    fn properties(&self, graph: &Graph, node: &Node) -> Properties;

    /// Returns the rows of an operand that each row of the result reads.
    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>>;

    /// Returns the rows of the result that each dispatch writes to.
    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>>;

    /// Returns the work for the whole result.
    fn work(&self, graph: &Graph, node: &Node) -> Work;

    /// Returns the sections of the weights that the kernel reads, without those of the epilogue.
    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection>;

    /// Returns the division of these sections by slices of the result, if the kernels can compute a subset of the
    /// slices.
    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections>;

    /// Returns the dispatches of a step, in order.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError>;

    /// Computes the result on the CPU, without the epilogue and independently of the kernels.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError>;
}

/// The shaders of an operator.
pub(crate) trait Kernels {
    /// All shaders that its dispatches may use.
    const SHADERS: &'static [Shader];
}

/// Returns one dispatch over all rows of a node's result.
pub(super) fn one_dispatch(graph: &Graph, node: &Node) -> Vec<Range<u32>> {
    let rows = graph.shape(node.output).rows() as u32;
    // Avoids `vec![0..rows]`, for which Clippy suspects a mistyped list of numbers.
    std::iter::once(0..rows).collect()
}

/// Returns the properties of an operator without indices whose attributes are limited by extents.
pub(super) fn plain(constants: ConstantOperands) -> Properties {
    Properties { constants, attributes: Vec::new(), indices: None, weights: None }
}

/// Names both numbers of an attribute that has one for rows and one for columns.
pub(super) fn pairs(what: &'static str, values: [usize; 2]) -> [(&'static str, usize); 2] {
    values.map(|value| (what, value))
}

/// Names the four numbers of a padding.
pub(super) fn around(padding: Padding) -> [(&'static str, usize); 4] {
    let Padding { top, bottom, left, right } = padding;
    [top, bottom, left, right].map(|value| ("padding", value))
}

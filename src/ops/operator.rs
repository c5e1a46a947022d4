//! How operators are run.

use std::ops::Range;

use super::{
    reference::{Operands, ReferenceError},
    rows::RowMap,
    work::Work,
};
use crate::{
    graph::{Graph, Node, Padding, Shape, TensorId},
    kernels::{ChannelWeights, Dispatch, KernelError, Shader, StepContext, WeightPieces, WeightSections},
};

/// Which operands of an operator its kernels read where they are constants, so that no step must compute them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantOperands {
    /// All but the first, which must be computed.
    AfterFirst,
    /// Either of two, but not both.
    OneOfTwo,
    /// Any of them.
    Any,
}

/// What there is to know of a node beside its rows and kernels.
pub(crate) struct Properties {
    /// Which operands may be constants.
    pub(crate) constants: ConstantOperands,
    /// Numbers that a file may choose freely, by name: no extent of a tensor bounds them, and kernels count in 32 bits.
    pub(crate) attributes: Vec<(&'static str, usize)>,
    /// The tensor of indices that it reads or answers, if it does, and how many places they tell apart.
    pub(crate) indices: Option<(TensorId, usize)>,
    /// Its weights, where its kernels read them however they are [packed](crate::kernels::WeightPacking).
    pub(crate) weights: Option<ChannelWeights>,
}

/// How an operator is run, and what it computes. Nothing has a default.
pub(crate) trait Operator {
    /// Constants, attributes and indices.
    fn properties(&self, graph: &Graph, node: &Node) -> Properties;

    /// For each row of the result, the rows of an operand that are read.
    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>>;

    /// For each of its dispatches, the rows of the result that it writes some of.
    fn dispatch_rows(&self, graph: &Graph, node: &Node) -> Vec<Range<u32>>;

    /// What it has to do.
    fn work(&self, graph: &Graph, node: &Node) -> Work;

    /// The texels that its kernel reads beside its tensors, without those of its epilogue, one after another.
    fn weights<'a>(&self, graph: &'a Graph, node: &'a Node) -> WeightPieces<'a>;

    /// How these are divided by slices of the result, where its kernels can compute some slices.
    fn weight_sections(&self, graph: &Graph, node: &Node) -> Option<WeightSections>;

    /// The dispatches of a step, in order.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError>;

    /// Its result on the CPU, without its epilogue; uses nothing of the kernels.
    fn reference(&self, operands: &Operands<'_>, out: Shape) -> Result<Vec<f32>, ReferenceError>;
}

/// The shaders of an operator.
pub(crate) trait Kernels {
    /// Every shader that its dispatches may name.
    const SHADERS: &'static [Shader];
}

/// One dispatch over all rows of a node's result.
pub(super) fn one_dispatch(graph: &Graph, node: &Node) -> Vec<Range<u32>> {
    let rows = graph.shape(node.output).rows() as u32;
    // Clippy takes `vec![0..rows]` for a list of numbers gone wrong.
    std::iter::once(0..rows).collect()
}

/// The properties of an operator without indices whose attributes are bounded by extents.
pub(super) fn plain(constants: ConstantOperands) -> Properties {
    Properties { constants, attributes: Vec::new(), indices: None, weights: None }
}

/// Both numbers of an attribute that has one for rows and one for columns.
pub(super) fn pairs(what: &'static str, values: [usize; 2]) -> [(&'static str, usize); 2] {
    values.map(|value| (what, value))
}

/// The four numbers of a padding.
pub(super) fn around(padding: Padding) -> [(&'static str, usize); 4] {
    let Padding { top, bottom, left, right } = padding;
    [top, bottom, left, right].map(|value| ("padding", value))
}

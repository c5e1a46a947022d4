//! Defines how operators run on the device.

use std::ops::Range;

use super::{rows::RowMap, work::Work};
use crate::{
    graph::{Graph, Node, Padding, TensorId},
    kernels::{ChannelWeights, Dispatch, KernelError, Shader, StepContext, WeightSection, WeightSections},
};

/// Operands that an operator's kernels can read as constants, so that no step needs to compute them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantOperands {
    /// All but the first, which must be computed.
    AfterFirst,
    /// Either of two, but not both.
    OneOfTwo,
    /// Any of them.
    Any,
}

/// Properties of a node other than its rows and kernels.
pub struct Properties {
    /// Operands that may be constants.
    pub constants: ConstantOperands,
    /// Named numbers that a file may choose freely. They are not limited by the extents of a tensor, but kernels
    /// compute in 32 bits.
    pub(crate) attributes: Vec<(&'static str, usize)>,
    /// The tensor of indices that the node reads or computes, if any, and the number of positions that they
    /// distinguish.
    pub indices: Option<(TensorId, usize)>,
    /// The weights, if the kernels can read them in any [packing](crate::kernels::WeightPacking).
    pub(crate) weights: Option<ChannelWeights>,
}

/// Execution of an operator on the device: its dependencies, costs, weights and dispatches.
///
/// No method has a default. Methods that are the same for a whole category of operators come from `category!`.
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
}

/// Implements the methods of [`Operator`] that the operators of a category share. An operator that fits no category
/// implements every method itself.
macro_rules! category {
    // Moves values of its operand to other places, without weights and with attributes limited by extents.
    (moves_values) => {
        category!(one_operand);

        fn work(&self, graph: &$crate::graph::Graph, node: &$crate::graph::Node) -> $crate::ops::work::Work {
            $crate::ops::work::Work::new(graph, node, $crate::ops::work::CostClass::Move, 1, 1)
        }
    };
    // Computes its result from one operand, without weights and with attributes limited by extents.
    (one_operand) => {
        category!(one_operand_with_properties);

        fn properties(
            &self,
            _graph: &$crate::graph::Graph,
            _node: &$crate::graph::Node,
        ) -> $crate::ops::operator::Properties {
            $crate::ops::operator::plain($crate::ops::operator::ConstantOperands::AfterFirst)
        }
    };
    // Computes its result from one operand, without weights. Attributes or indices have limits of their own.
    (one_operand_with_properties) => {
        category!(undivided_weights);

        fn weights(
            &self,
            _graph: &$crate::graph::Graph,
            _node: &$crate::graph::Node,
        ) -> Vec<$crate::kernels::WeightSection> {
            Vec::new()
        }
    };
    // Computes each row from the same row of two operands, one of which may be a constant.
    (two_operands) => {
        category!(undivided_weights);

        fn properties(
            &self,
            _graph: &$crate::graph::Graph,
            _node: &$crate::graph::Node,
        ) -> $crate::ops::operator::Properties {
            $crate::ops::operator::plain($crate::ops::operator::ConstantOperands::OneOfTwo)
        }

        fn input_rows(&self, map: &$crate::ops::rows::RowMap<'_>) -> Vec<std::ops::Range<u32>> {
            map.same()
        }

        fn weights(
            &self,
            graph: &$crate::graph::Graph,
            node: &$crate::graph::Node,
        ) -> Vec<$crate::kernels::WeightSection> {
            $crate::kernels::pack::whole_of_two(graph, node)
        }
    };
    // Writes the whole result in one dispatch, with weights that are not divided by slices of the result.
    (undivided_weights) => {
        fn dispatch_rows(&self, graph: &$crate::graph::Graph, node: &$crate::graph::Node) -> Vec<std::ops::Range<u32>> {
            $crate::ops::operator::one_dispatch(graph, node)
        }

        fn weight_sections(
            &self,
            _graph: &$crate::graph::Graph,
            _node: &$crate::graph::Node,
        ) -> Option<$crate::kernels::WeightSections> {
            None
        }
    };
}
pub(super) use category;

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

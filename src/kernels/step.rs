//! What a kernel is given, and why it may refuse it.

use std::ops::Range;

use super::WeightPacking;
use crate::{
    graph::{CheckError, Graph, Node, Shape},
    plan::RowTable,
};

/// A tensor and where it lies: an operand of a step.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Extents.
    pub shape: Shape,
    /// The texture, in the caller's numbering.
    pub texture: usize,
    /// Base-two logarithm of the texture's width.
    pub shift: u32,
    /// Texels of the texture.
    pub texels: u64,
    /// Where each row starts. Rows that no step of a run needs may have no room there.
    pub rows: RowTable,
    /// Texels from a slice of a row to the next: the width, or that of the tensor that it is a part of.
    pub pitch: u32,
}

/// Where a step's packed weights lie in the weight texture.
#[derive(Clone, Copy, Debug, Default)]
pub struct WeightPlace {
    /// Which weight texture.
    pub texture: usize,
    /// First texel.
    pub base: u32,
    /// How many texels.
    pub texels: u32,
    /// Texels of the node's weights that would lie in front of these: those of the slices before the step's.
    pub skipped: u32,
    /// Base-two logarithm of the texture's width.
    pub shift: u32,
    /// How they are packed.
    pub packing: WeightPacking,
}

/// All that a kernel may know of one step.
#[derive(Clone, Debug)]
pub struct StepContext<'a> {
    /// The model.
    pub graph: &'a Graph,
    /// The step's node.
    pub node: &'a Node,
    /// The node's operands in its order; `None` for constants.
    pub inputs: Vec<Option<Operand>>,
    /// The tensor that the epilogue adds.
    pub add: Option<Operand>,
    /// The result.
    pub output: Operand,
    /// Output rows to compute.
    pub rows: Range<u32>,
    /// Output slices to compute: all of them, unless the node's [sections](super::WeightSections) let them be divided.
    pub slices: Range<u32>,
    /// Where the texels that the kernel's `weights` asked for lie; those of `slices` alone.
    pub weights: WeightPlace,
}

/// `override` constants of a pipeline, by name.
pub type Constants = Vec<(&'static str, f64)>;

/// What a dispatch relies on of a texture that it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Which.
    pub(crate) texture: usize,
    /// Base-two logarithm of its width.
    pub(crate) shift: u32,
    /// Texels that it must have.
    pub(crate) texels: u64,
}

/// Why a step cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No kernel for this form of the operator.
    #[error("operator {op_index} ({op}) cannot run: {reason}")]
    Unsupported {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
        /// What is missing.
        reason: String,
    },
    /// A step was put together of parts that do not fit.
    #[error("a step cannot be lowered: {why}")]
    Misfit {
        /// What does not fit.
        why: String,
    },
    /// A step's graph is not whole.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// A number is too large for the 32 bits that kernels count in.
    #[error("operator {op_index} ({op}) cannot run: {what}: {found} is not below {limit}")]
    TooLarge {
        /// Index in the model file.
        op_index: usize,
        /// Its name.
        op: &'static str,
        /// What was counted.
        what: String,
        /// How many there are.
        found: usize,
        /// How many there may not be.
        limit: usize,
    },
}

impl StepContext<'_> {
    /// A refusal of this step.
    pub(crate) fn unsupported(&self, reason: String) -> KernelError {
        KernelError::Unsupported { op_index: self.node.op_index, op: self.node.op.name(), reason }
    }
}

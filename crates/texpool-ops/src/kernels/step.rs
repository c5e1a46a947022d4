//! Input of a kernel, and the reasons why it may reject a step.

use std::ops::Range;

use super::{SectionRole, WeightPacking};
use crate::graph::{CheckError, Graph, Node, Shape, TexelStorage};
use texpool_plan::RowTable;

/// A tensor and its location: an operand of a step.
#[derive(Clone, Debug)]
pub struct Operand {
    /// Extents.
    pub shape: Shape,
    /// Texture index, in the caller's numbering.
    pub texture: usize,
    /// Base-two logarithm of the texture's width.
    pub shift: u32,
    /// Total number of texels in the texture.
    pub texels: u64,
    /// Start of each row. Rows that no step of a run needs may be outside the texture.
    pub rows: RowTable,
    /// Distance between slices of a row, in texels: the width of this tensor, or of the tensor that contains it.
    pub pitch: u32,
    /// Representation of its values.
    pub storage: TexelStorage,
}

/// Location of a step's packed weights in a weight texture.
#[derive(Clone, Copy, Debug, Default)]
pub struct WeightPlace {
    /// Index of the weight texture.
    pub texture: usize,
    /// First texel of each section, by [role](SectionRole). All sections are in the same texture, in any order. That of
    /// a missing section is not read.
    pub starts: [u32; SectionRole::COUNT],
    /// Texel after the last section.
    pub end: u32,
    /// Number of texels of the first section before these: those of the slices before the step's slices.
    pub skipped: u32,
    /// Base-two logarithm of the texture's width.
    pub shift: u32,
    /// Packing of the weights.
    pub packing: WeightPacking,
    /// Number of the texture's texels before the first weight, if four texels of bytes hold the words of one texel of
    /// weights; all other positions then count texels of weights. `None` if a texel of the texture is one of weights.
    pub bytes_from: Option<u32>,
}

impl WeightPlace {
    /// Places sections with these numbers of texels one after another, from texel `base` on.
    #[must_use]
    pub fn in_order(mut self, base: u32, sections: impl IntoIterator<Item = (SectionRole, u32)>) -> Self {
        (self.starts, self.end) = ([base; SectionRole::COUNT], base);
        for (role, texels) in sections {
            self.starts[role as usize] = self.end;
            self.end = self.end.saturating_add(texels);
        }
        self
    }

    /// Returns the number of texels of the texture for one of weights.
    pub(crate) const fn unit(&self) -> u32 {
        if self.bytes_from.is_some() { 4 } else { 1 }
    }

    /// Returns the texel from which kernels count: the first of the result's first slice, even if the step's slices
    /// are others. The subtraction may wrap, and adding wraps back.
    pub(crate) const fn base(&self) -> u32 {
        self.starts[SectionRole::Own as usize].wrapping_sub(self.skipped)
    }
}

/// The step data that a kernel may use.
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
    /// Output slices to compute: all of them, unless the node's [sections](super::WeightSections) allow dividing
    /// them.
    pub slices: Range<u32>,
    /// Location of the node's weights; only of those for `slices`.
    pub weights: WeightPlace,
}

/// `override` constants of a pipeline, by name.
pub type Constants = Vec<(&'static str, f64)>;

/// Requirements of a dispatch on a texture that it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Index of the texture.
    pub texture: usize,
    /// Base-two logarithm of the texture's width.
    pub shift: u32,
    /// Minimum number of texels.
    pub texels: u64,
}

/// Reason why a step cannot run.
///
/// ```
/// use texpool_ops::kernels::KernelError;
///
/// let (op, what) = ("GATHER", "elements of the table".to_owned());
/// let error = KernelError::TooLarge { op_index: 3, op, what, found: 1 << 32, limit: 1 << 31 };
/// assert_eq!(error.op_index(), Some(3));
/// let text = "operator 3 (GATHER) cannot run: elements of the table: 4294967296 is not below 2147483648";
/// assert_eq!(error.to_string(), text);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The kernel does not support this form of the operator.
    #[error("operator {op_index} ({op}) cannot run: {reason}")]
    Unsupported {
        /// Index in the model file.
        op_index: usize,
        /// Name of the operator.
        op: &'static str,
        /// The unsupported feature.
        reason: String,
    },
    /// The parts of a step do not fit together.
    #[error("a step cannot be lowered: {why}")]
    Misfit {
        /// Description of the mismatch.
        why: String,
    },
    /// The step's graph is invalid.
    #[error(transparent)]
    Graph(#[from] CheckError),
    /// A number is too large for the 32-bit arithmetic of kernels.
    #[error("operator {op_index} ({op}) cannot run: {what}: {found} is not below {limit}")]
    TooLarge {
        /// Index in the model file.
        op_index: usize,
        /// Name of the operator.
        op: &'static str,
        /// Description of the counted quantity.
        what: String,
        /// The actual number.
        found: usize,
        /// Exclusive upper limit.
        limit: usize,
    },
}

impl KernelError {
    /// Returns the index in the model file of the operator that cannot run. `None` if the fault is not one operator's.
    pub const fn op_index(&self) -> Option<usize> {
        match self {
            Self::Unsupported { op_index, .. } | Self::TooLarge { op_index, .. } => Some(*op_index),
            Self::Misfit { .. } | Self::Graph(_) => None,
        }
    }
}

impl StepContext<'_> {
    /// Returns the first texel of a section that has `rows` texels per slice, as kernels count texels. A kernel adds
    /// the slice number times `rows`. Sections may lie in any order, so this may wrap, and adding wraps back.
    pub(crate) const fn section(&self, role: SectionRole, rows: u32) -> u32 {
        let WeightPlace { starts, .. } = self.weights;
        let skipped = self.slices.start.wrapping_mul(rows);
        starts[role as usize].wrapping_sub(self.weights.base()).wrapping_sub(skipped)
    }

    /// Returns the error for a step that the kernel does not support.
    pub(crate) fn unsupported(&self, reason: String) -> KernelError {
        KernelError::Unsupported { op_index: self.node.op_index, op: self.node.op.name(), reason }
    }
}

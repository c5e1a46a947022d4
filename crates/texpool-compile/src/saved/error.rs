//! Errors of loading a saved plan.

use crate::CompileError;
use texpool_model::rewrite::UnknownRule;
use texpool_plan::{PlanError, printable};

/// Reason why a saved plan cannot be loaded. In every case, the model can be compiled again.
///
/// ```
/// use texpool_compile::{CompileOptions, SavedPlanError, compile, load};
/// use texpool_ops::graph::{GraphBuilder, Unary};
/// use texpool_plan::SearchControl;
///
/// let mut b = GraphBuilder::new("sines");
/// let x = b.input("x", &[1, 8, 8, 4])?;
/// let y = b.unary("y", Unary::Sin, x)?;
/// let (graph, options) = (b.finish(&[y])?, CompileOptions::default());
/// let saved = compile(&graph, &options, &SearchControl::new())?.save();
/// let load = |bytes: &[u8]| load(&graph, bytes, options.limits).err();
/// assert!(matches!(load(b"a text"), Some(SavedPlanError::NotAPlan)));
/// assert!(matches!(load(&saved[..saved.len() - 1]), Some(SavedPlanError::Length { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The bytes are not a saved plan.
    #[error("these bytes are no saved plan: load what `CompiledModel::save` gave")]
    NotAPlan,
    /// The plan was saved in another version of the format.
    #[error(
        "the plan is saved in version {found} of the format, and version {expected} can be loaded: compile the model \
         again, and save it"
    )]
    Version {
        /// Version of the saved plan.
        found: u16,
        /// Version that can be loaded.
        expected: u16,
    },
    /// The number of bytes differs from the saved length.
    #[error("the saved plan has {found} bytes of {expected}: copy it again, or compile the model again")]
    Length {
        /// Number of bytes given.
        found: u64,
        /// Number of bytes that were saved; if even this number is cut off, the minimum length of any plan.
        expected: u64,
    },
    /// The bytes are not those that were saved.
    #[error("the saved plan is damaged: byte {at}: {why}; copy it again, or compile the model again")]
    Damaged {
        /// Position of the first error.
        at: usize,
        /// Description of the error.
        why: &'static str,
    },
    /// The plan uses a rewriting rule that was removed.
    #[error("the plan was saved by another version of the rewriter: {0}; compile the model again")]
    Rule(#[from] UnknownRule),
    /// The plan belongs to another model, or to one that is now rewritten to other nodes.
    #[error(
        "the plan is that of another model, `{}`, or of another version of it or of the rewriter, and `{}` has other \
         nodes: compile the model again",
        printable(saved),
        printable(found)
    )]
    OtherModel {
        /// Name of the model in the saved plan.
        saved: String,
        /// Name of the model that the plan was loaded for.
        found: String,
    },
    /// The plan requires writing parts in place where this is not possible.
    #[error(
        "the plan was saved by another version of the rewriter: the parts of node {node} cannot be written in place; \
         compile the model again"
    )]
    NotInPlace {
        /// Index of the node in the rewritten graph.
        node: usize,
    },
    /// The device does not support a texture of the plan.
    #[error(
        "texture {texture} of the plan is {width} x {height} texels, and extents up to {max_extent} are allowed: \
         compile the model for this device"
    )]
    Limits {
        /// Index of the texture.
        texture: usize,
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
        /// The largest supported extent.
        max_extent: u32,
    },
    /// The model cannot be rewritten and scheduled with the decisions in the plan.
    #[error("the model cannot be compiled as the plan says: {0}")]
    Compile(Box<CompileError>),
    /// The plan violates a rule for this model.
    #[error("the plan does not hold for this model: {0}; compile the model again")]
    Plan(#[from] PlanError),
}

impl From<CompileError> for SavedPlanError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Plan(error) => Self::Plan(error),
            error => Self::Compile(Box::new(error)),
        }
    }
}

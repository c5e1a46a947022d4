//! Why bytes are no plan of a model.

use crate::{
    compile::CompileError,
    plan::{PlanError, printable},
    rewrite::UnknownRule,
};

/// Why a saved plan cannot be loaded. Whatever it is, the model can be compiled again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedPlanError {
    /// The bytes are something else.
    #[error("these bytes are no saved plan: load what `CompiledModel::save` gave")]
    NotAPlan,
    /// The format has another version.
    #[error(
        "the plan is saved in version {found} of the format, and version {expected} can be loaded: compile the model \
         again, and save it"
    )]
    Version {
        /// The version of the bytes.
        found: u16,
        /// The version that can be loaded.
        expected: u16,
    },
    /// There are more or fewer bytes than were saved.
    #[error("the saved plan has {found} bytes of {expected}: copy it again, or compile the model again")]
    Length {
        /// The bytes there are.
        found: u64,
        /// The bytes that were saved; where not even their number is left, the least that any plan has.
        expected: u64,
    },
    /// The bytes are not those that were saved.
    #[error("the saved plan is damaged: byte {at}: {why}; copy it again, or compile the model again")]
    Damaged {
        /// Where the first thing stands that is wrong.
        at: usize,
        /// What is wrong there.
        why: &'static str,
    },
    /// A rewriting rule that the plan was made with is not there any more.
    #[error("the plan was saved by another version of the rewriter: {0}; compile the model again")]
    Rule(#[from] UnknownRule),
    /// The plan is that of another model, or of one that is now rewritten to other nodes.
    #[error(
        "the plan is that of another model, `{}`, or of another version of it or of the rewriter, and `{}` has other \
         nodes: compile the model again",
        printable(saved),
        printable(found)
    )]
    OtherModel {
        /// Name of the model that the plan was saved of.
        saved: String,
        /// Name of the model that it was loaded for.
        found: String,
    },
    /// The plan asks that parts be written in place that cannot be.
    #[error(
        "the plan was saved by another version of the rewriter: the parts of node {node} cannot be written in place; \
         compile the model again"
    )]
    NotInPlace {
        /// Index of the node in the rewritten graph.
        node: usize,
    },
    /// The device does not allow a texture of the plan.
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
        /// The greatest extent that is allowed.
        max_extent: u32,
    },
    /// The model cannot be rewritten and scheduled as the plan asks.
    #[error("the model cannot be compiled as the plan says: {0}")]
    Compile(Box<CompileError>),
    /// The plan breaks a rule with this model.
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

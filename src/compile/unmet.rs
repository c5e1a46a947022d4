//! Result of a search that found no plan within the limit.

use super::{error::CompileError, model::CompiledModel};

/// The error, together with the smallest plan that was found, from which a later search can start.
#[derive(Debug)]
pub struct Unmet {
    /// Reason why no plan was found.
    pub error: CompileError,
    /// The smallest plan that was found.
    pub smallest: Option<Box<CompiledModel>>,
}

impl From<CompileError> for Unmet {
    fn from(error: CompileError) -> Self {
        Self { error, smallest: None }
    }
}

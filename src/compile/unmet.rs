//! A search that came to no plan within what was asked for.

use super::{error::CompileError, model::CompiledModel};

/// Why there is no plan, and the smallest that was found all the same: where a later search begins.
#[derive(Debug)]
pub struct Unmet {
    /// Why there is none.
    pub error: CompileError,
    /// The smallest plan that was found.
    pub smallest: Option<Box<CompiledModel>>,
}

impl From<CompileError> for Unmet {
    fn from(error: CompileError) -> Self {
        Self { error, smallest: None }
    }
}

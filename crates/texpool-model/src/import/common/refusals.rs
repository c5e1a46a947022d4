//! Collects the operators of a file that cannot be imported.

use crate::import::error::{ImportError, Problem, UnsupportedOp};

/// Maximum number of refusals listed. Chosen beyond any real model. Each entry contains three texts, which a hostile
/// file could multiply by its number of nodes.
const MAX_LISTED: usize = 10_000;

#[derive(Debug, Default)]
pub(in crate::import) struct Refusals {
    list: Vec<UnsupportedOp>,
}

impl Refusals {
    /// Adds a refusal. Fails at once if an allowance of the import was exceeded.
    pub(in crate::import) fn note(
        &mut self,
        node: usize,
        name: &str,
        operator: &str,
        result: &str,
        problem: Problem,
    ) -> Result<(), ImportError> {
        let problem = problem.within(Some(node), operator, result)?;
        self.list.push(UnsupportedOp::new(node, name, operator, &problem));
        Ok(())
    }

    /// Returns whether the maximum number of refusals is listed.
    pub(in crate::import) fn is_full(&self) -> bool {
        self.list.len() >= MAX_LISTED
    }

    /// Fails if any refusal is listed.
    pub(in crate::import) fn finish(self) -> Result<(), ImportError> {
        if self.list.is_empty() { Ok(()) } else { Err(ImportError::Unsupported(self.list)) }
    }
}

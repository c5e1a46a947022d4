//! Collects the operators of a file that cannot be imported.

use crate::import::error::{ImportError, MAX_LISTED, Problem, UnsupportedOp};

#[derive(Debug, Default)]
pub(in crate::import) struct Refusals {
    list: Vec<UnsupportedOp>,
}

impl Refusals {
    /// Adds a refusal, or those of the nodes in branches that are its cause. Fails at once if an allowance of the import
    /// was exceeded.
    pub(in crate::import) fn note(
        &mut self,
        node: usize,
        name: &str,
        operator: &str,
        result: &str,
        problem: Problem,
    ) -> Result<(), ImportError> {
        let problem = problem.within(Some(node), operator, result)?;
        if problem.nodes.is_empty() {
            self.list.push(UnsupportedOp::new(node, name, operator, &problem));
        }
        let room = MAX_LISTED.saturating_sub(self.list.len());
        self.list.extend(problem.nodes.into_iter().take(room).map(|inner| UnsupportedOp::of_branch(node, name, inner)));
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

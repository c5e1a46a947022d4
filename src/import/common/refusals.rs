//! The list of all operators of a file that cannot be imported.

use crate::import::error::{ImportError, Problem, UnsupportedOp};

/// Refusals listed at most. Chosen beyond any real model: the list holds three texts each, which a hostile file would
/// have multiplied by its number of nodes.
const MAX_LISTED: usize = 10_000;

#[derive(Debug, Default)]
pub(in crate::import) struct Refusals {
    list: Vec<UnsupportedOp>,
}

impl Refusals {
    /// Notes one. Fails at once where more is asked for than the import may take.
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

    /// Whether no more are listed.
    pub(in crate::import) fn is_full(&self) -> bool {
        self.list.len() >= MAX_LISTED
    }

    /// Fails if there are any.
    pub(in crate::import) fn finish(self) -> Result<(), ImportError> {
        if self.list.is_empty() { Ok(()) } else { Err(ImportError::Unsupported(self.list)) }
    }
}

//! Finds the smallest set of inputs that must be bound as constants for a case to import. Symbolic extents take their
//! values from the data.

use std::cmp::Reverse;

use texpool_model::import::{ImportError, ImportOptions, from_bytes_with};
use texpool_ops::graph::Graph;

use super::case::Case;

/// The imported model of a case.
pub(crate) struct ImportedCase {
    pub(crate) graph: Graph,
    /// Indices of the bound inputs.
    pub(crate) bound: Vec<usize>,
}

/// Parts of refusals that depend on the bound inputs instead of the model.
const OF_BINDING: [&str; 2] = ["at run time", "must be known"];

/// Imports with no input bound, then with one, then with more, later inputs first. If nothing works, returns the
/// first refusal that does not depend on the bound inputs.
pub(crate) fn import(case: &Case) -> Result<ImportedCase, String> {
    let count = case.inputs.len().min(8);
    let mut masks: Vec<u32> = (0..1 << count).collect();
    masks.sort_by_key(|mask| (mask.count_ones(), Reverse(*mask)));
    let mut refusals = Vec::new();
    for mask in masks {
        let bound: Vec<usize> = (0..count).filter(|i| mask >> i & 1 == 1).collect();
        let constants = bound.iter().map(|&i| (case.facts.inputs[i].clone(), case.inputs[i].clone()));
        let mut options = ImportOptions { constants: constants.collect(), ..ImportOptions::default() };
        let mut imported = from_bytes_with(case.model.clone(), &options);
        if let Err(ImportError::UnresolvedDim(open)) = imported {
            options.dims =
                open.into_iter().map(|extent| (extent.name, case.extent(&extent.input, extent.axis))).collect();
            imported = from_bytes_with(case.model.clone(), &options);
        }
        match imported {
            Ok(graph) => return Ok(ImportedCase { graph, bound }),
            Err(error) => refusals.push(error.to_string()),
        }
    }
    let telling = refusals.iter().position(|reason| !OF_BINDING.iter().any(|words| reason.contains(words)));
    Err(refusals.swap_remove(telling.unwrap_or(0)))
}

//! Explains why a node is refused: by its operands, with their names and extents as in the file, or by the inputs that
//! a value is computed from.

use super::{graph_lowering::GraphLowering, model::Node, value::Value};
use crate::import::{error::Problem, label::label};

/// Adds to a problem what only the node's operands say: which of them has no elements, or the extents of all if the
/// reason states none.
pub(super) fn explained(problem: Problem, node: &Node, operands: &[Option<Value>]) -> Problem {
    let named = || {
        let present = node.inputs.iter().zip(operands).enumerate();
        present.filter_map(|(position, (name, value))| Some((position, label(name), value.as_ref()?.dims())))
    };
    // A list without entries is a valid operand of many operators, so only data counts.
    let is_data = |position: usize, dims: &[usize]| position == 0 || dims.len() > 1;
    let mut empty = named().filter(|(position, _, dims)| dims.contains(&0) && is_data(*position, dims));
    match empty.next() {
        Some((_, name, dims)) if problem.may_be_of_no_elements() => {
            Problem::empty(format!("its operand `{name}` has no elements: its extents are {dims:?}"))
        }
        _ if problem.by_operands => {
            let list: Vec<String> = named().map(|(_, name, dims)| format!("`{name}` of {dims:?}")).collect();
            Problem { reason: format!("{}; its operands are {}", problem.reason, list.join(", ")), ..problem }
        }
        _ => problem,
    }
}

/// Hint for values that follow from constants alone, but that the importer does not compute.
const OF_CONSTANTS: &str =
    "no input has an effect on it: fold the constants of the model before, so that the file holds its values";

/// Hint for values that follow from an extent with an upper bound.
const OF_EXTENT: &str = "bind the extent to one number in place of an upper bound";

/// Adds to a problem of values that a run computes the inputs that they are computed from.
pub(super) fn with_sources(problem: Problem, lowering: &mut GraphLowering) -> Problem {
    let Some(tensor) = problem.computed else { return problem };
    let found = lowering.source_names(tensor).and_then(|names| Ok((names, lowering.deciding_inputs(tensor)?)));
    let (names, inputs) = match found {
        Ok(found) => found,
        Err(excess) => return excess,
    };
    let is_input = lowering.graph.inputs.contains(&tensor);
    let reason = if is_input || names.is_empty() { problem.reason } else { format!("{} from {names}", problem.reason) };
    let problem = Problem { reason, computed: None, ..problem };
    if names.is_empty() {
        return Problem { hint: OF_CONSTANTS, remedy: None, ..problem };
    }
    let is_extent = |name: &String| {
        let mut counts =
            lowering.graph.bounded_inputs.iter().filter_map(|bounded| lowering.graph.inputs.get(bounded.count));
        counts.any(|&count| lowering.graph.tensors[count].name == *name)
    };
    match problem.remedy {
        // The caller does not see the input of an extent.
        None if inputs.iter().any(is_extent) => Problem { hint: OF_EXTENT, ..problem },
        None => problem.decided_by(inputs),
        Some(_) => problem,
    }
}

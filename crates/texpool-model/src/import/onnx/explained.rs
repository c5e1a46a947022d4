//! Explains why a node is refused by its operands, with their names and extents as in the file.

use super::{model::Node, value::Value};
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

//! Lowers operators of TensorFlow Lite to nodes of the graph. There is one function per operator and one file per
//! group of operators, which also contains their rows of the operator table and mentions no operators of other
//! groups.

mod activation;
mod axes;
mod boxes;
mod branch;
mod constants;
mod conv;
mod conv3d;
mod custom;
mod fourier;
mod landmarks;
mod layout;
mod line;
mod lookup;
mod loops;
mod padding;
mod parts;
mod pointwise;
mod recurrent;
mod rows;
mod slice;
mod space;
mod spread;
mod variable;

use super::{
    op_registry::{ResultCount, TfLiteOpEntry},
    operator_lowering::OperatorLowering,
};
use crate::import::error::Problem;

/// All operators, by group.
static OPERATORS: [&[TfLiteOpEntry]; 18] = [
    conv::OPERATORS,
    conv3d::OPERATORS,
    pointwise::OPERATORS,
    line::OPERATORS,
    layout::OPERATORS,
    constants::OPERATORS,
    slice::OPERATORS,
    lookup::OPERATORS,
    rows::OPERATORS,
    spread::OPERATORS,
    space::OPERATORS,
    fourier::OPERATORS,
    recurrent::OPERATORS,
    variable::OPERATORS,
    branch::OPERATORS,
    loops::OPERATORS,
    boxes::OPERATORS,
    landmarks::OPERATORS,
];

/// Adds the nodes that compute the operator's result, or turns the result into a constant.
pub(super) fn lower(ctx: &mut OperatorLowering<'_, '_>, operator: &str) -> Result<(), Problem> {
    let entry = find(operator).ok_or_else(|| unknown(operator))?;
    match entry.results {
        ResultCount::None => {
            ctx.results(0)?;
            return (entry.lower)(ctx);
        }
        ResultCount::One if ctx.result_count() > 0 => ctx.results(1)?,
        ResultCount::One | ResultCount::Several if ctx.result_count() == 0 => {
            return Err(Problem::malformed("it has no result"));
        }
        ResultCount::One | ResultCount::Several => {}
    }
    let first = ctx.node_count();
    (entry.lower)(ctx)?;
    ctx.fold(first)?;
    ctx.mark_integers(first);
    Ok(())
}

/// Returns the reason for refusing an operator that is not in the table.
fn unknown(operator: &str) -> Problem {
    match operator {
        "CALL" | "STABLEHLO_WHILE" => Problem::new(
            "control flow is not supported",
            "convert the model without it, or cut the graph in front of it",
        ),
        _ => Problem::unsupported("the operator is not supported"),
    }
}

/// Iterates over all operators.
pub(in crate::import) fn operators() -> impl Iterator<Item = &'static TfLiteOpEntry> {
    OPERATORS.iter().copied().flatten()
}

/// Finds an operator by name.
fn find(name: &str) -> Option<&'static TfLiteOpEntry> {
    operators().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_occurs_once_and_is_one_of_the_schema() {
        let mut names = BTreeSet::new();
        for entry in operators() {
            assert!(names.insert(entry.name), "{} occurs twice", entry.name);
            assert!(entry.coded().is_some(), "{} is no operator of TensorFlow Lite", entry.name);
        }
    }
}

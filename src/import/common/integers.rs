//! Checks for integers that floats may not hold exactly.

use std::collections::BTreeSet;

use crate::{graph::Graph, import::error::Problem, ops};

/// Upper end of the range in which 32-bit floats hold all whole numbers.
const MOST: u32 = 1 << f32::MANTISSA_DIGITS;

/// Returns the file's nodes whose integers may be rounded whatever the inputs are, by index, with the problem to
/// report.
pub(in crate::import) fn inexact(graph: &Graph) -> Option<(BTreeSet<usize>, Problem)> {
    let nodes = ops::input_ranges(graph, MOST).err()?;
    let problem = Problem::new(
        format!(
            "its integers may not be exact: they are computed in 32-bit floats, which hold every one only up to {MOST}"
        ),
        "bound the floats that they are cast from by Clip, or compute in floats and cast the result",
    );
    Some((nodes.into_iter().map(|node| node.op_index).collect(), problem))
}

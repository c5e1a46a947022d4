//! Integers that floats cannot be sure to hold.

use std::collections::BTreeSet;

use crate::{graph::Graph, import::error::Problem, ops};

/// The greatest whole number that 32-bit floats hold together with all smaller ones.
const MOST: u32 = 1 << f32::MANTISSA_DIGITS;

/// The file's nodes whose integers may be rounded whatever the inputs are, by their indices, and what is said of them.
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

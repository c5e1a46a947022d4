//! Operators that may be refused, and whose first result has the type and the extents of their first operand: all that is
//! known of what they give where a file does not state it.

use super::model::Node;

const OPERATORS: [&str; 14] = [
    "BatchNormalization",
    "BitwiseNot",
    "Clip",
    "CumProd",
    "CumSum",
    "Dropout",
    "LpNormalization",
    "ReverseSequence",
    "RotaryEmbedding",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "TensorScatter",
    "Trilu",
];

/// The operand that a node's first result is like.
pub(super) fn operand(node: &Node) -> Option<&str> {
    let alike = node.domain.is_empty() && OPERATORS.contains(&node.op.as_str());
    node.inputs.first().filter(|_| alike).map(String::as_str)
}

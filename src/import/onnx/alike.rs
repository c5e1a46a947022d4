//! Operators that may be unsupported, but whose first result is known to have the type and extents of the first
//! operand. Used if the file does not state them.

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

/// Returns the operand that has the same type and extents as the node's first result.
pub(super) fn operand(node: &Node) -> Option<&str> {
    let alike = node.domain.is_empty() && OPERATORS.contains(&node.op.as_str());
    node.inputs.first().filter(|_| alike).map(String::as_str)
}

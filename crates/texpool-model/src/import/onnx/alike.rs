//! Operators that may be unsupported, but whose results have a known type and extents. Used if the file does not state
//! them.

use super::model::Node;
use texpool_ops::graph::ElementType;

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

/// Returns the element type of a result that is a single value, whatever the operands are: the scale and the zero point
/// that are found for an operand.
pub(super) fn scalar(node: &Node, result: usize) -> Option<ElementType> {
    match (node.domain.as_str(), node.op.as_str(), result) {
        ("", "DynamicQuantizeLinear", 1) => Some(ElementType::F32),
        ("", "DynamicQuantizeLinear", 2) => Some(ElementType::U8),
        _ => None,
    }
}

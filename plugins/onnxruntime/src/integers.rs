//! Detects nodes for which 32-bit floats cannot replace integers. texpool stores integers in 32-bit floats, which
//! represent all whole numbers exactly only up to 2^24. A run rejects inputs with greater values, but then it is too
//! late for the runtime to compute the nodes itself. So nodes that compute with integers are left to the runtime.

use crate::graph::{Graph, NodeIndex, Value, ValueId};

/// Reason why such nodes are left to the runtime.
pub(crate) const WHY: &str = "it computes with integers, which texpool holds in 32-bit floats, exactly only up to 2^24";

/// Operators whose results may exceed their operands. Products of quantized integers are not in this list: their
/// results are converted to floats next, which rounds just as much.
const GROWING: [&str; 21] = [
    "Abs",
    "Add",
    "CumSum",
    "Div",
    "Einsum",
    "Gemm",
    "MatMul",
    "Mod",
    "Mul",
    "Neg",
    "Pow",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Sub",
    "Sum",
];

/// Operators that take extents, positions and axes as integers, where the largest integer means "to the end".
const OF_PLACES: [&str; 8] = ["Expand", "Pad", "Reshape", "Resize", "Slice", "Squeeze", "Tile", "Unsqueeze"];

/// Returns the number of bits of an integer type, given by ONNX's number, and whether it is signed.
fn integer(kind: i32) -> Option<(u32, bool)> {
    Some(match kind {
        2 => (8, false),
        3 => (8, true),
        4 => (16, false),
        5 => (16, true),
        6 => (32, true),
        7 => (64, true),
        12 => (32, false),
        13 => (64, false),
        _ => return None,
    })
}

/// Returns whether a node computes with integers. This only matters for nodes that are not computed while the model
/// is read, as those that compute extents are.
pub(crate) fn grows(graph: &Graph<'_>, node: NodeIndex) -> bool {
    let node = &graph.nodes[node];
    let whole = |&value: &ValueId| integer(graph.values[value].kind).is_some();
    GROWING.contains(&&*node.operator) && node.outputs.iter().flatten().any(whole)
}

/// Returns why a node must be left because of the integers that it uses, even if it is computed while the model is
/// read.
pub(crate) fn unfit(graph: &Graph<'_>, node: NodeIndex) -> Option<String> {
    let node = &graph.nodes[node];
    let kind = |value: Option<&Option<ValueId>>| integer(graph.values[(*value?)?].kind);
    if matches!(&*node.operator, "Cast" | "CastLike")
        && let (Some((bits, sign)), Some((to, to_sign))) = (kind(node.inputs.first()), kind(node.outputs.first()))
    {
        // No value in texpool has more than 25 significant bits.
        let room = to - u32::from(to_sign);
        let needed = (bits - u32::from(sign)).min(25);
        if needed > room || sign && !to_sign {
            return Some(
                "it makes smaller integers of others, which texpool does not cut off as processors do".to_owned(),
            );
        }
    }
    if OF_PLACES.contains(&&*node.operator) {
        return None;
    }
    let beyond = node.inputs.iter().flatten().map(|&value| &graph.values[value]).find(|value| is_beyond(value))?;
    Some(format!("its operand `{}` has integers beyond 2^24, which texpool does not hold exactly", beyond.name))
}

/// Returns whether a constant contains integers that 32-bit floats cannot represent.
fn is_beyond(value: &Value<'_>) -> bool {
    const MOST: u64 = 1 << 24;
    let Some(bytes) = value.constant else { return false };
    match integer(value.kind) {
        Some((32, true)) => bytes.as_chunks().0.iter().any(|&b| u64::from(i32::from_le_bytes(b).unsigned_abs()) > MOST),
        Some((32, false)) => bytes.as_chunks().0.iter().any(|&b| u64::from(u32::from_le_bytes(b)) > MOST),
        Some((64, true)) => bytes.as_chunks().0.iter().any(|&b| i64::from_le_bytes(b).unsigned_abs() > MOST),
        Some((64, false)) => bytes.as_chunks().0.iter().any(|&b| u64::from_le_bytes(b) > MOST),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{grows, unfit};
    use crate::graph::{Graph, Node, Value};

    /// Returns a graph with a single node that has two operands and a result of the given types. The second operand
    /// may be a constant.
    fn node<'g>(operator: &str, [a, b, y]: [i32; 3], constant: Option<&'g [u8]>) -> Graph<'g> {
        let value = |(i, kind): (usize, i32)| Value {
            name: i.to_string(),
            kind,
            dims: None,
            constant: constant.filter(|_| i == 1),
            overridable: false,
        };
        let node = Node {
            operator: operator.into(),
            inputs: vec![Some(0), Some(1)],
            outputs: vec![Some(2)],
            ..Node::default()
        };
        Graph { values: [a, b, y].into_iter().enumerate().map(value).collect(), nodes: vec![node], ..Graph::default() }
    }

    #[test]
    fn arithmetic_grows_and_the_rest_does_not() {
        let [float, uint8, int64] = [1, 2, 7];
        assert!(grows(&node("Add", [int64, int64, int64], None), 0));
        assert!(grows(&node("Mul", [uint8, uint8, uint8], None), 0));
        assert!(!grows(&node("Add", [float, float, float], None), 0));
        assert!(!grows(&node("Gather", [int64, int64, int64], None), 0));
        assert!(!grows(&node("ArgMax", [float, float, int64], None), 0));
    }

    #[test]
    fn smaller_integers_are_made_where_they_are_cut_off() {
        let [float, uint8, int8, int32, int64, uint32] = [1, 2, 3, 6, 7, 12];
        let left = |from, to| unfit(&node("Cast", [from, from, to], None), 0).is_some();
        assert!(
            left(int32, uint8) && left(int32, int8) && left(int8, uint8) && left(uint8, int8) && left(int32, uint32)
        );
        assert!(!left(int64, int32) && !left(uint8, int32) && !left(uint32, int32) && !left(int32, int64));
        assert!(!left(float, uint8) && !left(int64, float));
    }

    #[test]
    fn constants_beyond_what_floats_hold_are_left_where_they_are_values() {
        let (end, fits) = (i64::MAX.to_le_bytes(), (1i64 << 24).to_le_bytes());
        assert!(unfit(&node("Max", [7, 7, 7], Some(&end)), 0).is_some());
        assert!(unfit(&node("Max", [7, 7, 7], Some(&fits)), 0).is_none());
        assert!(unfit(&node("Slice", [7, 7, 7], Some(&end)), 0).is_none());
        let beyond = ((1i32 << 24) + 1).to_le_bytes();
        assert!(unfit(&node("Equal", [6, 6, 9], Some(&beyond)), 0).is_some());
    }
}

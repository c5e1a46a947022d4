//! Finds nodes of ONNX graphs for which 32-bit floats cannot replace integers. texpool stores integers in 32-bit floats,
//! which represent all whole numbers exactly only up to 2^24. A run rejects inputs with greater values, but then it is
//! too late for the runtime to compute the nodes itself. So nodes that compute with integers are left to the runtime.

use crate::import::{GraphOutline, NodeOutline, Refusal, Verdict};
use texpool_ops::graph::ElementType;

/// Operators whose results may exceed their operands. Products of quantized integers are not in this list: their
/// results are converted to floats next, which rounds just as much.
const GROWING: [&str; 26] = [
    "Abs",
    "Add",
    "CumProd",
    "CumSum",
    "Div",
    "Einsum",
    "Gemm",
    "MatMul",
    "Mod",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Shrink",
    "Sub",
];

/// Returns why a node must be left because of the integers that it uses.
pub(super) fn unfit(graph: &GraphOutline, node: &NodeOutline) -> Option<Refusal> {
    let integer =
        |tensor: Option<&usize>| graph.tensors[*tensor?].element_type.filter(|element_type| element_type.is_integer());
    let operator = node.operator.as_str();
    // Results that are known before a run are computed in integers.
    if node.verdict == Verdict::Computed
        && GROWING.contains(&operator)
        && node.outputs.iter().any(|tensor| integer(Some(tensor)).is_some())
    {
        return Some(Refusal {
            reason: "it computes with integers, which texpool holds in 32-bit floats, exactly only up to 2^24"
                .to_owned(),
            hint: "the runtime computes them exactly".to_owned(),
        });
    }
    if matches!(operator, "Cast" | "CastLike")
        && let (Some(from), Some(to)) = (integer(node.inputs.first()), integer(node.outputs.first()))
    {
        // No value in texpool has more than 25 significant bits.
        let needed = bits(from).min(25);
        if needed > bits(to) || is_signed(from) && !is_signed(to) {
            return Some(Refusal {
                reason: "it makes smaller integers of others, which texpool does not cut off as processors do"
                    .to_owned(),
                hint: "the runtime cuts them off".to_owned(),
            });
        }
    }
    None
}

/// Returns the number of bits of an integer without its sign.
const fn bits(integer: ElementType) -> usize {
    integer.size() * 8 - is_signed(integer) as usize
}

const fn is_signed(integer: ElementType) -> bool {
    matches!(integer, ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{TensorOutline, supported};
    use std::collections::BTreeSet;
    use texpool_ops::graph::ElementType::{F32, I8, I32, I64, U8, U32};

    /// Returns whether a node with two operands and a result of these types is left.
    fn is_left(operator: &str, types: [ElementType; 3], verdict: Verdict) -> bool {
        let tensor = |element_type| TensorOutline { element_type: Some(element_type), ..TensorOutline::default() };
        let node = NodeOutline {
            operator: operator.to_owned(),
            inputs: vec![0, 1],
            outputs: vec![2],
            verdict,
            ..NodeOutline::default()
        };
        let graph = GraphOutline { tensors: types.map(tensor).to_vec(), ..GraphOutline::default() };
        unfit(&graph, &node).is_some()
    }

    #[test]
    fn arithmetic_grows_and_the_rest_does_not() {
        let grows = |operator, types| is_left(operator, types, Verdict::Computed);
        assert!(grows("Add", [I64; 3]) && grows("Mul", [U8; 3]));
        assert!(!grows("Add", [F32; 3]) && !grows("Gather", [I64; 3]) && !grows("ArgMax", [F32, F32, I64]));
        assert!(!is_left("Add", [I64; 3], Verdict::Known), "extents are computed in integers");
    }

    /// Operators on integers whose results lie between their operands, are positions or counts, or are converted to
    /// floats next.
    const NOT_GROWING: [&str; 71] = [
        "ArgMax",
        "ArgMin",
        "BitCast",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "BlackmanWindow",
        "Cast",
        "CastLike",
        "CenterCropPad",
        "Clip",
        "Compress",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "ConvInteger",
        "DepthToSpace",
        "Dropout",
        "Equal",
        "Expand",
        "EyeLike",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Greater",
        "GreaterOrEqual",
        "HammingWindow",
        "HannWindow",
        "Identity",
        "If",
        "Less",
        "LessOrEqual",
        "Loop",
        "MatMulInteger",
        "Max",
        "MelWeightMatrix",
        "Min",
        "NonZero",
        "OneHot",
        "OptionalGetElement",
        "OptionalHasElement",
        "Pad",
        "Range",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Reshape",
        "Resize",
        "ReverseSequence",
        "Scan",
        "Shape",
        "Sign",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "TensorScatter",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Upsample",
        "Where",
        "ai.onnx.ml.ArrayFeatureExtractor",
        "ai.onnx.ml.Binarizer",
        "ai.onnx.ml.Scaler",
    ];

    /// Every operator on integers is in one of the two lists, so that a new one is not taken for harmless by mistake.
    #[test]
    fn every_operator_on_integers_is_known_to_grow_or_not() {
        let on_integers = supported().into_iter().filter(|operator| operator.types.contains("int"));
        let names: BTreeSet<String> = on_integers.filter_map(|operator| operator.onnx).collect();
        let listed: BTreeSet<String> = GROWING.iter().chain(&NOT_GROWING).map(|&name| name.to_owned()).collect();
        assert_eq!(names.symmetric_difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new());
        assert_eq!(listed.len(), GROWING.len() + NOT_GROWING.len(), "an operator is in both lists");
    }

    #[test]
    fn smaller_integers_are_made_where_they_are_cut_off() {
        let cast = |from, to| is_left("Cast", [from, from, to], Verdict::Computed);
        assert!(cast(I32, U8) && cast(I32, I8) && cast(I8, U8) && cast(U8, I8) && cast(I32, U32));
        assert!(!cast(I64, I32) && !cast(U8, I32) && !cast(U32, I32) && !cast(I32, I64));
        assert!(!cast(F32, U8) && !cast(I64, F32));
    }
}

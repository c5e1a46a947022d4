//! Finds operators whose results have extents that the runtime only learns while it runs.

use crate::{
    abi::code,
    graph::{Node, Tensors},
};

/// WHERE, UNIQUE, IF, WHILE: extents always depend on the values of their operands.
const ALWAYS: [i32; 4] = [109, 103, 118, 119];

/// Operators that read extents, axes, paddings and the like from operands other than the first: RESHAPE,
/// RESIZE_BILINEAR, PAD, BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND, MEAN, STRIDED_SLICE, TOPK_V2, PADV2, SLICE, TILE,
/// EXPAND_DIMS, SUM, REDUCE_PROD, REDUCE_MAX, ONE_HOT, REDUCE_MIN, REDUCE_ANY, RESIZE_NEAREST_NEIGHBOR, MIRROR_PAD,
/// SPLIT_V, BROADCAST_TO, REDUCE_ALL.
const FROM_LATER_OPERANDS: [i32; 23] =
    [22, 23, 34, 37, 38, 40, 45, 48, 60, 65, 69, 70, 74, 81, 82, 85, 89, 91, 97, 100, 102, 130, 140];

/// Operators that read these from any operand: TRANSPOSE_CONV, SPARSE_TO_DENSE, FILL, RANGE, SCATTER_ND, SEGMENT_SUM,
/// RANDOM_STANDARD_NORMAL, RANDOM_UNIFORM, MULTINOMIAL.
const FROM_ANY_OPERAND: [i32; 9] = [67, 68, 94, 96, 122, 125, 146, 148, 149];

/// Returns whether a node that is left to the runtime may have results of unknown extents. Missing one here does not
/// lead to wrong results: if a kernel's inputs have other extents than when it was read, it is planned again, or
/// fails with an error.
pub(crate) fn known_only_while_running(node: &Node, tensors: &Tensors<'_>) -> bool {
    let computed = |index: &i32| *index >= 0 && !tensors.is_constant(*index);
    match node.code {
        code::CUSTOM => true,
        code if ALWAYS.contains(&code) => true,
        code if FROM_LATER_OPERANDS.contains(&code) => node.inputs.iter().skip(1).any(computed),
        code if FROM_ANY_OPERAND.contains(&code) => node.inputs.iter().any(computed),
        _ => false,
    }
}

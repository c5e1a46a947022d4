//! In which layout an input is wanted first: the host turns inputs for nothing, so the first reader may choose.

use std::collections::HashMap;

use super::{layout::Layout, model::Node};

/// Nodes looked at for one input.
const MOST: usize = 10_000;

/// Operators that want channels, the second axis, on C.
const CHANNELS_SECOND: [&str; 22] = [
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "LpPool",
    "GlobalMaxPool",
    "GlobalAveragePool",
    "GlobalLpPool",
    "BatchNormalization",
    "InstanceNormalization",
    "GroupNormalization",
    "LRN",
    "Resize",
    "Upsample",
    "DepthToSpace",
    "SpaceToDepth",
    "ConvInteger",
    "QLinearConv",
    "MaxUnpool",
    "MaxRoiPool",
    "RoiAlign",
    "GridSample",
];

/// Operators whose result has the layout of an operand, axis by axis.
const PASSES: [&str; 32] = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Max",
    "Min",
    "Relu",
    "LeakyRelu",
    "PRelu",
    "Sigmoid",
    "Tanh",
    "Clip",
    "Cast",
    "Identity",
    "Dropout",
    "Neg",
    "Abs",
    "Sqrt",
    "Exp",
    "Log",
    "Floor",
    "Round",
    "Where",
    "Concat",
    "Slice",
    "Pad",
    "Split",
    "HardSwish",
    "HardSigmoid",
    "QuantizeLinear",
    "DequantizeLinear",
];

/// The layout that the readers of input `name` want: the first that cares decides.
pub(super) fn wish(nodes: &[Node], name: &str, dims: &[usize]) -> Layout {
    // For each name that carries the input's elements, which axis of the input each of its axes is.
    let mut carried: HashMap<&str, Vec<usize>> = HashMap::from([(name, (0..dims.len()).collect())]);
    for node in nodes.iter().take(MOST) {
        let Some(axes) = node.inputs.iter().find_map(|input| carried.get(input.as_str())) else { continue };
        let op = node.op.as_str();
        if CHANNELS_SECOND.contains(&op) && axes.len() >= 3 {
            return turned(dims, axes);
        }
        let passed = match op {
            "Transpose" => {
                let perm = node.attributes.iter().find(|a| a.name == "perm").map(|a| &a.ints);
                let reversed: Vec<i64> = (0..axes.len() as i64).rev().collect();
                let source = perm.unwrap_or(&reversed).iter();
                source.map(|&i| usize::try_from(i).ok().and_then(|i| axes.get(i)).copied()).collect()
            }
            op if PASSES.contains(&op) => Some(axes.clone()),
            _ => None,
        };
        if let Some(passed) = passed {
            node.outputs.iter().for_each(|output| drop(carried.insert(output, passed.clone())));
        }
    }
    Layout::natural(dims)
}

/// The layout of `dims` that has the channels second once its axes stand in the order `axes`.
fn turned(dims: &[usize], axes: &[usize]) -> Layout {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len()) {
        return Layout::natural(dims);
    }
    let seen: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
    let back: Vec<usize> = (0..axes.len()).filter_map(|axis| axes.iter().position(|&a| a == axis)).collect();
    Layout::channels_second(&seen).transposed(&seen, &back)
}

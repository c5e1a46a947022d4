//! Kernels: for a step and its placements, the shader to run, its constants, its params and its size.
//!
//! One file a family, beside one WGSL file in `shaders/`. A family offers `weights` (what it wants packed into texels,
//! known before any placement; nothing where it has none), `dispatches`, and a CPU reference. Knows no wgpu handle.

mod binary;
mod block;
mod bounds;
mod concat;
mod context;
mod conv;
mod depthwise;
mod dispatch;
mod epilogue;
mod family;
mod fill;
mod fully_connected;
mod gather;
mod line;
mod lookup;
mod matmul;
mod pack;
mod params;
mod pool;
mod reduce;
pub mod reference;
mod resample;
mod resize;
mod softmax;
mod transpose_conv;
mod unary;

pub use bounds::check;
pub(crate) use dispatch::Reach;
pub use dispatch::{Constants, Dispatch, FOLD, KernelError, Operand, Shader, StepContext, WeightPlace};
pub use epilogue::EpilogueParams;
pub(crate) use fill::{fill, pad_border};
pub use params::KernelParams;

use crate::graph::{Graph, Node, Op, Reduce, follows_tensorflow};

/// Every shader family there is, by name.
pub const SHADERS: [Shader; 23] = [
    binary::SHADER,
    concat::SHADER,
    conv::CONV,
    line::CUM_SUM,
    fully_connected::SHADER,
    depthwise::SHADER,
    fill::SHADER,
    reduce::FOLD,
    gather::SHADER,
    lookup::SHADER,
    line::LRN,
    matmul::SHADER,
    line::NORMALIZE,
    conv::POINTWISE,
    pool::SHADER,
    reduce::MEAN,
    resample::SHADER,
    resize::SHADER,
    softmax::NARROW,
    softmax::WIDE,
    line::TOP_K,
    transpose_conv::SHADER,
    unary::SHADER,
];

/// The texels that a node's kernel reads beside its tensors: weights, biases, PReLU alphas.
pub fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    let mut texels = match &node.op {
        Op::Conv2d(op) => conv::weights(graph, node, op, conv::Kind::Full),
        Op::DepthwiseConv2d(op) => depthwise::weights(graph, node, op),
        Op::FullyConnected => fully_connected::weights(graph, node),
        Op::TransposeConv(op) => transpose_conv::weights(graph, node, op),
        Op::Binary(_) | Op::Prelu | Op::MatMul { .. } => binary::weights(graph, node),
        Op::Gather { .. } | Op::GatherElements { .. } => lookup::weights(graph, node),
        Op::Concat { axis } => concat::weights(graph, node, *axis),
        _ => Vec::new(),
    };
    EpilogueParams::new(graph, node, texels.len()).pack(&mut texels);
    texels
}

/// The dispatches of a step, in order.
///
/// # Errors
/// [`KernelError::Unsupported`] where no kernel runs this form of the operator; [`KernelError::Graph`],
/// [`KernelError::TooLarge`] and [`KernelError::Misfit`] where the graph is not whole, or the step is put together of
/// parts that do not fit.
pub fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    context::check_all(step)?;
    lower(step)
}

/// The same for a step of a graph that has been [checked](check), with weights that lie where they were uploaded to.
pub(crate) fn lower(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    context::check(step)?;
    epilogue::check(step)?;
    match &step.node.op {
        Op::Conv2d(op) => conv::dispatches(step, op, conv::Kind::Full),
        Op::DepthwiseConv2d(op) => depthwise::dispatches(step, op),
        Op::FullyConnected => fully_connected::dispatches(step),
        Op::Unary(unary) => unary::dispatches(step, *unary),
        Op::TransposeConv(op) => transpose_conv::dispatches(step, op),
        Op::Pool2d(pool) if step.node.inputs.first().is_some_and(|&x| pool.is_mean_of(step.graph.shape(x))) => {
            reduce::dispatches(step, Reduce::Mean, [false, true, true, false])
        }
        Op::Pool2d(pool) => pool::dispatches(step, pool),
        Op::Reduce { kind, axes } => reduce::dispatches(step, *kind, *axes),
        Op::Binary(binary) => binary::dispatches(step, binary::code(*binary)),
        Op::Prelu => binary::dispatches(step, binary::PRELU),
        Op::Pad { before, after, mode } => gather::dispatches(step, gather::pad(*before, *after, *mode)),
        Op::Tile => gather::dispatches(step, gather::tile()),
        Op::Gather { axis } => lookup::dispatches(step, *axis, false),
        Op::GatherElements { axis } => lookup::dispatches(step, *axis, true),
        Op::StridedSlice { begin, stride } => gather::dispatches(step, gather::slice(*begin, *stride)),
        Op::Transpose { perm } => gather::dispatches(step, gather::transpose(*perm)),
        Op::Reshape => gather::dispatches(step, gather::Map::Reshape),
        Op::DepthToSpace { block, order } => gather::dispatches(step, gather::Map::DepthToSpace(*block, *order)),
        Op::SpaceToDepth { block } => gather::dispatches(step, gather::Map::SpaceToDepth(*block)),
        Op::Concat { axis } => concat::dispatches(step, *axis),
        Op::Resize { mode, coords, scale } if follows_tensorflow(*mode, *coords, *scale) => {
            resize::dispatches(step, *mode, *coords)
        }
        Op::Resize { .. } => resample::dispatches(step),
        Op::Softmax { beta, log } => softmax::dispatches(step, *beta, *log),
        Op::MatMul { transpose_b } => matmul::dispatches(step, *transpose_b),
        Op::TopK { largest, indices, .. } => line::top_k(step, *largest, *indices),
        Op::Lrn { size, alpha, beta, bias } => line::lrn(step, *size, [*alpha, *beta, *bias]),
        Op::Normalize { axes, epsilon } => line::normalize(step, *axes, *epsilon),
        Op::CumSum { axis, exclusive, reverse } => line::cum_sum(step, *axis, *exclusive, *reverse),
    }
}

//! From the file's operators to the graph's: one function an operator, one file a family.

mod activation;
mod axes;
mod conv;
mod layout;
mod line;
mod lookup;
mod padding;
mod pointwise;
mod slice;
mod space;

use super::{context::Context, error::Problem, schema::*};
use crate::graph::{Binary, PoolKind, Reduce, Unary};

/// MediaPipe's transposed convolution with a bias.
const TRANSPOSE_BIAS: &str = "Convolution2DTransposeBias";

/// Operators of several results.
const MANY: [&str; 4] = ["SPLIT", "SPLIT_V", "UNPACK", "TOPK_V2"];

/// Adds the nodes that compute the operator's result, or makes the result a constant.
pub(super) fn lower(ctx: &mut Context<'_, '_>, operator: &str, custom: Option<&str>) -> Result<(), Problem> {
    if !MANY.contains(&operator) {
        ctx.results(1)?;
    }
    match operator {
        // Computed tensors hold real values from the start.
        "QUANTIZE" | "DEQUANTIZE" => ctx.operands(1, 1).and_then(|()| ctx.pass_on()),
        "DENSIFY" => {
            ctx.operands(1, 1)?;
            ctx.constant(0, "sparse values").and_then(|_| ctx.pass_on())
        }
        "CAST" => pointwise::cast(ctx),

        "CONV_2D" => conv::conv2d(ctx),
        "DEPTHWISE_CONV_2D" => conv::depthwise(ctx),
        "TRANSPOSE_CONV" => conv::transpose_conv(ctx),
        "CUSTOM" if custom == Some(TRANSPOSE_BIAS) => conv::transpose_conv_bias(ctx),
        "FULLY_CONNECTED" => conv::fully_connected(ctx),
        "MAX_POOL_2D" => conv::pool(ctx, PoolKind::Max),
        "AVERAGE_POOL_2D" => conv::pool(ctx, PoolKind::Average),

        "ADD" => {
            let options = ctx.options::<AddOptions<'static>>()?;
            pointwise::binary(ctx, Binary::Add, options.activation())
        }
        "SUB" => {
            let options = ctx.options::<SubOptions<'static>>()?;
            pointwise::binary(ctx, Binary::Sub, options.activation())
        }
        "MUL" => {
            let options = ctx.options::<MulOptions<'static>>()?;
            pointwise::binary(ctx, Binary::Mul, options.activation())
        }
        "DIV" => {
            let options = ctx.options::<DivOptions<'static>>()?;
            pointwise::divide(ctx, options.activation())
        }
        "MAXIMUM" => pointwise::binary(ctx, Binary::Maximum, 0),
        "MINIMUM" => pointwise::binary(ctx, Binary::Minimum, 0),
        "POW" => pointwise::binary(ctx, Binary::Pow, 0),
        "SQUARED_DIFFERENCE" => pointwise::binary(ctx, Binary::SquaredDifference, 0),
        "FLOOR_DIV" => pointwise::binary(ctx, Binary::FloorDiv, 0),
        "FLOOR_MOD" => pointwise::binary(ctx, Binary::Mod, 0),
        "EQUAL" => pointwise::binary(ctx, Binary::Equal, 0),
        "NOT_EQUAL" => pointwise::binary(ctx, Binary::NotEqual, 0),
        "LESS" => pointwise::binary(ctx, Binary::Less, 0),
        "LESS_EQUAL" => pointwise::binary(ctx, Binary::LessEqual, 0),
        "GREATER" => pointwise::binary(ctx, Binary::Greater, 0),
        "GREATER_EQUAL" => pointwise::binary(ctx, Binary::GreaterEqual, 0),
        "LOGICAL_AND" => pointwise::binary(ctx, Binary::And, 0),
        "LOGICAL_OR" => pointwise::binary(ctx, Binary::Or, 0),
        "SELECT" => pointwise::select(ctx, true),
        "SELECT_V2" => pointwise::select(ctx, false),

        "MEAN" => pointwise::reduce(ctx, Reduce::Mean),
        "SUM" => pointwise::reduce(ctx, Reduce::Sum),
        "REDUCE_PROD" => pointwise::reduce(ctx, Reduce::Prod),
        // One of several truth values is true where their greatest is, all where their least is.
        "REDUCE_MAX" | "REDUCE_ANY" => pointwise::reduce(ctx, Reduce::Max),
        "REDUCE_MIN" | "REDUCE_ALL" => pointwise::reduce(ctx, Reduce::Min),
        "ARG_MAX" => pointwise::index_of(ctx, Reduce::ArgMax { last: false }),
        "ARG_MIN" => pointwise::index_of(ctx, Reduce::ArgMin { last: false }),
        "BATCH_MATMUL" => line::matmul(ctx),
        "CUMSUM" => line::cum_sum(ctx),
        "TOPK_V2" => line::top_k(ctx),
        "L2_NORMALIZATION" => line::l2_normalization(ctx),
        "LOCAL_RESPONSE_NORMALIZATION" => line::lrn(ctx),
        "SOFTMAX" => pointwise::softmax(ctx, false),
        "LOG_SOFTMAX" => pointwise::softmax(ctx, true),
        "PRELU" => pointwise::prelu(ctx),
        "LEAKY_RELU" => {
            let alpha = ctx.options::<LeakyReluOptions<'static>>()?.alpha();
            pointwise::unary(ctx, Unary::LeakyRelu { alpha })
        }
        "RELU" => pointwise::unary(ctx, Unary::Relu),
        "RELU6" => pointwise::unary(ctx, Unary::Relu6),
        "RELU_N1_TO_1" => pointwise::unary(ctx, Unary::ReluN1To1),
        "ELU" => pointwise::unary(ctx, Unary::Elu { alpha: 1.0 }),
        "HARD_SWISH" => pointwise::unary(ctx, Unary::HardSwish),
        "LOGISTIC" => pointwise::unary(ctx, Unary::Logistic),
        "TANH" => pointwise::unary(ctx, Unary::Tanh),
        "EXP" => pointwise::unary(ctx, Unary::Exp),
        "SQRT" => pointwise::unary(ctx, Unary::Sqrt),
        "RSQRT" => pointwise::unary(ctx, Unary::Rsqrt),
        "SQUARE" => pointwise::unary(ctx, Unary::Square),
        "ABS" => pointwise::unary(ctx, Unary::Abs),
        "NEG" => pointwise::unary(ctx, Unary::Neg),
        "FLOOR" => pointwise::unary(ctx, Unary::Floor),
        "CEIL" => pointwise::unary(ctx, Unary::Ceil),
        "ROUND" => pointwise::unary(ctx, Unary::Round),
        "LOG" => pointwise::unary(ctx, Unary::Log),
        "SIN" => pointwise::unary(ctx, Unary::Sin),
        "COS" => pointwise::unary(ctx, Unary::Cos),
        "SIGN" => pointwise::unary(ctx, Unary::Sign),
        "RELU_0_TO_1" => pointwise::unary(ctx, Unary::Clip { min: 0.0, max: 1.0 }),
        "LOGICAL_NOT" => pointwise::unary(ctx, Unary::Not),
        "GELU" => {
            let approximate = ctx.options::<GeluOptions<'static>>()?.approximate();
            pointwise::unary(ctx, if approximate { Unary::GeluTanh } else { Unary::Gelu })
        }

        "PAD" => layout::pad(ctx, false),
        "PADV2" => layout::pad(ctx, true),
        "MIRROR_PAD" => layout::mirror_pad(ctx),
        "TILE" => layout::tile(ctx),
        "BROADCAST_TO" => layout::broadcast_to(ctx),
        "EXPAND_DIMS" => layout::expand_dims(ctx),
        "PACK" => layout::pack(ctx),
        "UNPACK" => slice::unpack(ctx),
        "SPLIT" => slice::split(ctx),
        "SPLIT_V" => slice::split_v(ctx),
        "SLICE" => slice::slice(ctx),
        "GATHER" => lookup::gather(ctx),
        "EMBEDDING_LOOKUP" => lookup::embedding(ctx),
        "SPACE_TO_BATCH_ND" => space::to_batch(ctx),
        "BATCH_TO_SPACE_ND" => space::to_space(ctx),
        "CONCATENATION" => layout::concat(ctx),
        "RESHAPE" => layout::reshape(ctx),
        "SQUEEZE" => layout::squeeze(ctx),
        "TRANSPOSE" => layout::transpose(ctx),
        "STRIDED_SLICE" => slice::strided_slice(ctx),
        "DEPTH_TO_SPACE" => {
            let block = ctx.options::<DepthToSpaceOptions<'static>>()?.block_size();
            layout::depth_to_space(ctx, block)
        }
        "SPACE_TO_DEPTH" => {
            let block = ctx.options::<SpaceToDepthOptions<'static>>()?.block_size();
            layout::space_to_depth(ctx, block)
        }
        "RESIZE_BILINEAR" => {
            let options = ctx.options::<ResizeBilinearOptions<'static>>()?;
            layout::resize(ctx, true, options.align_corners(), options.half_pixel_centers())
        }
        "RESIZE_NEAREST_NEIGHBOR" => {
            let options = ctx.options::<ResizeNearestOptions<'static>>()?;
            layout::resize(ctx, false, options.align_corners(), options.half_pixel_centers())
        }
        _ => Err(Problem::unsupported("the operator is not supported")),
    }
}

/// A number of the options that must be above zero.
fn positive(what: &str, value: i32) -> Result<usize, Problem> {
    match usize::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(Problem::malformed(format!("its {what} is {value}"))),
    }
}

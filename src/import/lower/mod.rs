//! From the file's operators to the graph's: one function an operator, one file a family.

mod activation;
mod axes;
mod conv;
mod layout;
mod padding;
mod pointwise;
mod slice;

use super::{context::Context, error::Problem, schema::*};
use crate::graph::{Binary, PoolKind, Unary};

/// MediaPipe's transposed convolution with a bias.
const TRANSPOSE_BIAS: &str = "Convolution2DTransposeBias";

/// Adds the nodes that compute the operator's result, or makes the result a constant.
pub(super) fn lower(ctx: &mut Context<'_, '_>, operator: &str, custom: Option<&str>) -> Result<(), Problem> {
    match operator {
        "DENSIFY" => ctx.operands(1, 1).and_then(|()| ctx.fold()),
        "DEQUANTIZE" | "QUANTIZE" => pointwise::requantise(ctx),

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
            pointwise::binary(ctx, Binary::Div, options.activation())
        }
        "MAXIMUM" => pointwise::binary(ctx, Binary::Maximum, 0),
        "MINIMUM" => pointwise::binary(ctx, Binary::Minimum, 0),
        "MEAN" => pointwise::mean(ctx),
        "SOFTMAX" => pointwise::softmax(ctx),
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

        "PAD" => layout::pad(ctx, false),
        "PADV2" => layout::pad(ctx, true),
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

//! Lowers operators with a window or weights.

use super::{
    activation::activation,
    padding::{Scheme, positive},
};
use crate::import::{
    common::window::transposed_extent,
    error::Problem,
    tflite::{
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::{Conv2dOptions, DepthwiseOptions, FullyConnectedOptions, PoolOptions, TransposeConvOptions},
    },
};
use texpool_ops::graph::{
    Act, Binary, Conv2d, DepthwiseConv2d, MatMul, Op, Padding, Pool2d, PoolKind, Shape, TensorId, TransposeConv,
};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("CONV_2D", LikeOnnx("Conv"), conv2d),
    TfLiteOpEntry::new("DEPTHWISE_CONV_2D", LikeOnnx("Conv"), depthwise),
    TfLiteOpEntry::new("TRANSPOSE_CONV", LikeOnnx("ConvTranspose"), transpose_conv),
    TfLiteOpEntry::new("CUSTOM Convolution2DTransposeBias", LikeOnnx("ConvTranspose"), transpose_conv_bias),
    TfLiteOpEntry::new("FULLY_CONNECTED", LikeOnnx("Gemm"), fully_connected),
    TfLiteOpEntry::new("MAX_POOL_2D", LikeOnnx("MaxPool"), |c| pool(c, PoolKind::Max)),
    TfLiteOpEntry::new("AVERAGE_POOL_2D", LikeOnnx("AveragePool"), |c| pool(c, PoolKind::Average)),
];

/// Returns input, weights, and bias, if any.
fn weighted(ctx: &mut OperatorLowering<'_, '_>, [x, weights, bias]: [usize; 3]) -> Result<Vec<TensorId>, Problem> {
    let mut inputs = vec![ctx.operand(x)?, ctx.constant(weights, "weights")?];
    if ctx.has(bias) {
        inputs.push(ctx.constant(bias, "biases")?);
    }
    Ok(inputs)
}

/// Returns the parameters of a convolution with a single group.
fn slide(
    x: Shape,
    weights: Shape,
    padding: i8,
    [stride_h, stride_w]: [i32; 2],
    [dilation_h, dilation_w]: [i32; 2],
) -> Result<Conv2d, Problem> {
    let stride = [positive("stride", stride_h)?, positive("stride", stride_w)?];
    let dilation = [positive("dilation", dilation_h)?, positive("dilation", dilation_w)?];
    let padding = Scheme::of(padding)?.around([x.h, x.w], [weights.h, weights.w], stride, dilation)?;
    Ok(Conv2d { stride, dilation, padding, groups: 1 })
}

fn conv2d(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 3)?;
    let options = ctx.options::<Conv2dOptions<'static>>()?;
    let inputs = weighted(ctx, [0, 1, 2])?;
    let (x, weights) = (ctx.image(inputs[0], "the input")?, ctx.image(inputs[1], "the weights")?);
    // The file does not state the number of groups. It follows from the number of channels per weight.
    if !x.c.is_multiple_of(weights.c) {
        let reason = format!("its input has {} channels, its weights {}", x.c, weights.c);
        return Err(Problem::malformed(reason));
    }
    let (stride, dilation) = ([options.stride_h(), options.stride_w()], [options.dilation_h(), options.dilation_w()]);
    let conv = slide(x, weights, options.padding(), stride, dilation)?;
    let conv = Op::Conv2d(Conv2d { groups: x.c / weights.c, ..conv });
    ctx.emit_layer(conv, &inputs, activation(options.activation())?)
}

fn depthwise(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 3)?;
    let options = ctx.options::<DepthwiseOptions<'static>>()?;
    let inputs = weighted(ctx, [0, 1, 2])?;
    let (x, weights) = (ctx.image(inputs[0], "the input")?, ctx.image(inputs[1], "the weights")?);
    let (stride, dilation) = ([options.stride_h(), options.stride_w()], [options.dilation_h(), options.dilation_w()]);
    let conv = slide(x, weights, options.padding(), stride, dilation)?;
    ctx.emit_layer(Op::DepthwiseConv2d(DepthwiseConv2d(conv)), &inputs, activation(options.activation())?)
}

fn pool(ctx: &mut OperatorLowering<'_, '_>, kind: PoolKind) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let options = ctx.options::<PoolOptions<'static>>()?;
    let x = ctx.operand(0)?;
    let image = ctx.image(x, "the input")?;
    let stride = [positive("stride", options.stride_h())?, positive("stride", options.stride_w())?];
    let window = [positive("window", options.filter_h())?, positive("window", options.filter_w())?];
    let padding = Scheme::of(options.padding())?.around([image.h, image.w], window, stride, [1, 1])?;
    let pool = Op::Pool2d(Pool2d::plain(kind, window, stride, padding));
    match kind {
        PoolKind::Average => ctx.emit_mean(pool, x, activation(options.activation())?),
        _ => ctx.emit(pool, &[x], activation(options.activation())?),
    }
}

/// The operands are the extents of the result, weights, input, and an optional bias.
fn transpose_conv(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 4)?;
    let options = ctx.options::<TransposeConvOptions<'static>>()?;
    // A negative number becomes 0, which never equals a stated extent.
    let output_extents: Vec<usize> =
        ctx.integers(0, "output extents")?.iter().map(|&e| usize::try_from(e).unwrap_or(0)).collect();
    let inputs = weighted(ctx, [2, 1, 3])?;
    let (x, weights) = (ctx.image(inputs[0], "the input")?, ctx.image(inputs[1], "the weights")?);
    ctx.gives(&output_extents)?;
    let result = ctx.image(ctx.output()?, "the result")?;
    let stride = [positive("stride", options.stride_h())?, positive("stride", options.stride_w())?];
    // The border is that of the inverse convolution, so it is computed from the result's image.
    let border = Scheme::of(options.padding())?.around([result.h, result.w], [weights.h, weights.w], stride, [1, 1])?;
    let padding = cut(x, weights, result, stride, [border.top, border.left])?;
    ctx.emit_layer(TransposeConv::plain(stride, padding).into(), &inputs, activation(options.activation())?)
}

/// The options are at least three 32-bit numbers: padding (1 SAME, 2 VALID), stride along the width, stride along the
/// height.
fn transpose_conv_bias(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 3)?;
    let numbers: Vec<i32> =
        ctx.custom_options()?.as_chunks::<4>().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect();
    let &[scheme, stride_w, stride_h, ..] = numbers.as_slice() else {
        return Err(Problem::malformed("its options are cut short"));
    };
    let inputs = weighted(ctx, [0, 1, 2])?;
    let (x, weights) = (ctx.image(inputs[0], "the input")?, ctx.image(inputs[1], "the weights")?);
    let stride = [positive("stride", stride_h)?, positive("stride", stride_w)?];
    let full = full_extents(x, weights, stride)?;
    let border = |extent: usize, window: usize, stride: usize| window.saturating_sub((extent - 1) % stride + 1);
    let [tall, wide] = match scheme {
        1 => [border(x.h, weights.h, stride[0]), border(x.w, weights.w, stride[1])],
        2 => [0, 0],
        other => return Err(Problem::malformed(format!("its padding {other} is unknown"))),
    };
    let result = Shape::new(x.b, full[0] - tall, full[1] - wide, weights.b);
    ctx.gives(&result.dims())?;
    let padding = cut(x, weights, result, stride, [tall / 2, wide / 2])?;
    ctx.emit_layer(TransposeConv::plain(stride, padding).into(), &inputs, Act::None)
}

/// Returns the extents of the full result of a transposed convolution.
fn full_extents(x: Shape, weights: Shape, stride: [usize; 2]) -> Result<[usize; 2], Problem> {
    Ok([transposed_extent(x.h, weights.h, stride[0])?, transposed_extent(x.w, weights.w, stride[1])?])
}

/// Returns the numbers of pixels to cut off each side of the full result, so that `result` remains.
fn cut(
    x: Shape,
    weights: Shape,
    result: Shape,
    stride: [usize; 2],
    [top, left]: [usize; 2],
) -> Result<Padding, Problem> {
    let [h, w] = full_extents(x, weights, stride)?;
    // With SAME and strides that exceed the window, the result is larger than the full one. Nothing is cut off at the
    // end then.
    let (bottom, right) = (h.saturating_sub(top + result.h), w.saturating_sub(left + result.w));
    Ok(Padding { top, bottom, left, right })
}

fn fully_connected(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 3)?;
    let options = ctx.options::<FullyConnectedOptions<'static>>()?;
    if options.weights_format() != 0 {
        return Err(Problem::new(
            "its weights are shuffled for 8-bit arithmetic",
            "convert the model without quantisation",
        ));
    }
    let mut inputs = vec![ctx.operand(0)?, ctx.operand(1)?];
    if ctx.has(2) {
        inputs.push(ctx.operand(2)?);
    }
    let is_known = inputs[1..].iter().all(|&operand| ctx.is_constant(operand));
    let &[outputs, depth] = ctx.dims(inputs[1]) else {
        return Err(Problem::malformed(format!("the weights must have two extents, have {:?}", ctx.dims(inputs[1]))));
    };
    let x = ctx.dims(inputs[0]);
    let dims = if options.keep_num_dims() {
        match x.split_last() {
            Some((&last, outer)) if last == depth => outer.iter().copied().chain([outputs]).collect(),
            _ => return Err(Problem::malformed(format!("its input {x:?} does not end in {depth}"))),
        }
    } else {
        let elements = ctx.shape(inputs[0]).len();
        if !elements.is_multiple_of(depth) {
            return Err(Problem::malformed(format!("the elements of its input {x:?} are no multiple of {depth}")));
        }
        vec![elements / depth, outputs]
    };
    ctx.gives(&dims)?;
    let act = activation(options.activation())?;
    if is_known {
        return ctx.emit_layer(Op::FullyConnected, &inputs, act);
    }
    by_product(ctx, &inputs, [outputs, depth], act)
}

/// Multiplies rows by weights, and adds biases if there are any, of which a run computes some.
fn by_product(
    ctx: &mut OperatorLowering<'_, '_>,
    inputs: &[TensorId],
    [outputs, depth]: [usize; 2],
    act: Act,
) -> Result<(), Problem> {
    let rows = ctx.shape(inputs[0]).len() / depth.max(1);
    let shape = Shape::new(1, 1, rows, outputs);
    let x = ctx.view(inputs[0], Shape::new(1, 1, rows, depth))?;
    let weights = ctx.view(inputs[1], Shape::new(1, 1, outputs, depth))?;
    let product = Op::MatMul(MatMul { transpose_b: true });
    let Some(&bias) = inputs.get(2) else { return ctx.emit_as(product, &[x, weights], act, shape) };
    let product = ctx.between(product, &[x, weights], shape)?;
    let bias = ctx.view(bias, Shape::new(1, 1, 1, outputs))?;
    ctx.emit_as(Op::Binary(Binary::Add), &[product, bias], act, shape)
}

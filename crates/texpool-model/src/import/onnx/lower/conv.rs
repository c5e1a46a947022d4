//! Lowers convolutions and transposed convolutions.

use super::{
    align::placed_as,
    basic::two,
    conv_product::{Pixels, by_product},
    conv3d::{self, Kept},
    shapes::reshaped,
    windows::{Along, Auto, Window, sizes, slid, stated},
};
use crate::import::{
    common::window,
    error::Problem,
    onnx::{
        array::Array,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, Conv2d, DepthwiseConv2d, Op, Shape, TensorId, TransposeConv};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Conv", 1, Floats, "binary, conv, depthwise, matmul, rearrange, reduce", ChannelsSecond, conv)
        .limits("one to three dimensions; of three, weights and biases must be known"),
    OnnxOpEntry::new("ConvTranspose", 1, Floats, "transpose_conv", ChannelsSecond, transpose)
        .limits("one to three dimensions; weights and biases must be known"),
];

/// An image with its channels on C.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) x: Computed,
    pub(super) shape: Shape,
}

/// Returns the operand with its second axis on C and the spatial axes on H and W.
pub(super) fn image(ctx: &mut NodeLowering<'_>, x: &Computed) -> Result<Image, Problem> {
    if !(3..=4).contains(&x.dims.len()) {
        let reason = format!("its input has the extents {:?}: no image of one or two dimensions", x.dims);
        return Err(Problem::unsupported(reason));
    }
    let layout = AtomLayout::channels_second(&x.dims);
    let shape = layout.shape();
    let tensor = placed_as(ctx.lowering, &Value::Computed(x.clone()), &layout)?;
    Ok(Image { x: Computed { tensor, layout, ..x.clone() }, shape })
}

/// Biases of a layer with that many channels, if the node has any at that operand.
fn bias(ctx: &mut NodeLowering<'_>, position: usize, channels: usize) -> Result<Option<TensorId>, Problem> {
    if ctx.optional(position).is_none() {
        return Ok(None);
    }
    let bias = ctx.known(position, "biases")?;
    if bias.dims() != [channels] {
        return Err(Problem::malformed(format!("its biases have the extents {:?}", bias.dims())));
    }
    ctx.lowering.constant(&bias, Shape::new(1, 1, 1, channels)).map(Some)
}

/// Sets the result of an image operator, with the extents in the file's order.
pub(super) fn answer_image(ctx: &mut NodeLowering<'_>, tensor: TensorId, of: &Image, shape: Shape) {
    ctx.give(0, Value::Computed(imaged(tensor, of, shape)));
}

/// Describes a tensor of that shape as an image in the file's order.
pub(super) fn imaged(tensor: TensorId, of: &Image, shape: Shape) -> Computed {
    let dims = match of.x.dims.len() {
        3 => vec![shape.b, shape.c, shape.w],
        _ => vec![shape.b, shape.c, shape.h, shape.w],
    };
    let layout = AtomLayout::channels_second(&dims).tidy(&dims);
    Computed { tensor, dims, layout, elem: of.x.elem }
}

/// Reads the windows along each spatial axis. Weights of `[_, _, window]` state their extents.
fn windows(ctx: &NodeLowering<'_>, x: &Computed, weights: &[usize]) -> Result<Vec<Along>, Problem> {
    if !(3..=5).contains(&x.dims.len()) {
        let reason = format!("its input has the extents {:?}: only one to three dimensions are supported", x.dims);
        return Err(Problem::unsupported(reason));
    }
    let extent = match *weights {
        [_, _, ref window @ ..] if !weights.contains(&0) && weights.len() == x.dims.len() => window,
        _ => return Err(Problem::malformed(format!("its weights have the extents {weights:?}"))),
    };
    if ctx.has("kernel_shape") {
        let stated = sizes(ctx, "kernel_shape", extent.len(), 1)?;
        if stated != extent {
            let reason = format!("its window is stated as {stated:?}, its weights have {extent:?}");
            return Err(Problem::malformed(reason));
        }
    }
    stated(ctx, extent)
}

pub(super) fn conv(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.operand(1)?);
    let is_image = x.dims.len() < 5;
    let bias = ctx.optional(2).filter(|bias| is_image && matches!(bias, Value::Computed(_)));
    let result = match weights {
        Value::Computed(weights) if is_image => {
            let (windows, groups) = (windows(ctx, &x, &weights.dims)?, ctx.size("group", 1)?);
            fit(&weights.dims, groups, &x)?;
            let image = image(ctx, &x)?;
            let pixels = Pixels { tensor: image.x.tensor, shape: image.shape };
            let channels = weights.dims[0];
            let result = by_product(ctx, &pixels, weights, &Window::of(&windows)?, groups)?;
            let dims = match *result.dims() {
                [batch, _, 1, w] if x.dims.len() == 3 => vec![batch, channels, w],
                ref dims => dims.to_vec(),
            };
            let result = reshaped(ctx.lowering, &result, &dims)?;
            ctx.compute(&result)?
        }
        _ => {
            let weights = ctx.known(1, "weights")?;
            let result = convolved(ctx, &x, weights, bias.is_none())?;
            return answer_biased(ctx, result, bias);
        }
    };
    let bias = ctx.optional(2);
    answer_biased(ctx, result, bias)
}

/// Sets a convolution as the result, with biases added if there are any.
fn answer_biased(ctx: &mut NodeLowering<'_>, result: Computed, bias: Option<Value>) -> Result<(), Problem> {
    let Some(bias) = bias else {
        ctx.give(0, Value::Computed(result));
        return Ok(());
    };
    let channels = result.dims[1];
    if bias.dims() != [channels] {
        return Err(Problem::malformed(format!("its biases have the extents {:?}", bias.dims())));
    }
    let mut along = vec![1; result.dims.len()];
    along[1] = channels;
    let bias = reshaped(ctx.lowering, &bias, &along)?;
    let elem = result.elem;
    let sum = two(ctx, Binary::Add, &Value::Computed(result), &bias, elem)?;
    ctx.give(0, Value::Computed(sum));
    Ok(())
}

/// Convolves `x` with weights in the file's order, as the node's attributes say. With `biased`, the biases are
/// operand 2, if the node has one.
pub(super) fn convolved(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    weights: Array,
    biased: bool,
) -> Result<Computed, Problem> {
    let (windows, groups) = (windows(ctx, x, weights.dims())?, ctx.size("group", 1)?);
    fit(weights.dims(), groups, x)?;
    if let &[depth, ref plane @ ..] = windows.as_slice()
        && plane.len() == 2
    {
        let bias = if biased { bias(ctx, 2, weights.dims()[0])? } else { None };
        let layer = conv3d::Layer { weights, depth, window: Window::of(plane)?, groups, bias };
        return conv3d::convolved(ctx, x, &layer);
    }
    layer(ctx, x, &weights, &Window::of(&windows)?, groups, biased.then_some(2))
}

/// Convolves an image with weights in the file's order, whose channels fit those of the image. `biases` is the position
/// of the operand that has them, if the node has one.
pub(super) fn layer(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    weights: &Array,
    slide: &Window,
    groups: usize,
    biases: Option<usize>,
) -> Result<Computed, Problem> {
    let image = image(ctx, x)?;
    let (outputs, inputs) = (weights.dims()[0], weights.dims()[1]);
    let [height, width] = slide.extent;
    let weights = weights.reshaped(&[outputs, inputs, height, width])?;
    let padding = slide.around([image.shape.h, image.shape.w]);
    let conv = Conv2d { stride: slide.stride, dilation: slide.dilation, padding, groups };
    let depthwise = groups == image.shape.c && groups > 1;
    let (turned, shape) = match depthwise {
        // One input channel per group: `[O, 1, y, x]` to `[1, y, x, O]`.
        true => (weights.transposed(&[1, 2, 3, 0], ctx.meter())?, Shape::new(1, height, width, outputs)),
        false => (weights.transposed(&[0, 2, 3, 1], ctx.meter())?, Shape::new(outputs, height, width, inputs)),
    };
    let mut operands = vec![image.x.tensor, ctx.lowering.constant(&turned, shape)?];
    if let Some(position) = biases {
        operands.extend(bias(ctx, position, outputs)?);
    }
    let [h, w] = slid(slide, padding, [image.shape.h, image.shape.w])?;
    let shape = Shape::new(image.shape.b, h, w, outputs);
    let op =
        if depthwise { Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { groups: 1, ..conv })) } else { Op::Conv2d(conv) };
    let tensor = ctx.emit(op, &operands, shape)?;
    Ok(imaged(tensor, &image, shape))
}

/// Refuses weights `[O, I / groups, ..]` that do not fit the channels of an input.
pub(super) fn fit(weights: &[usize], groups: usize, x: &Computed) -> Result<(), Problem> {
    let (outputs, inputs) = (weights[0], weights[1]);
    let fits = groups > 0 && inputs.checked_mul(groups) == Some(x.dims[1]) && outputs.is_multiple_of(groups);
    if fits { Ok(()) } else { Err(channels(weights, groups, x)) }
}

/// Weights that do not fit the channels and groups.
fn channels(weights: &[usize], groups: usize, x: &Computed) -> Problem {
    let channels = x.dims[1];
    Problem::malformed(format!(
        "its weights of {weights:?}, in {groups} groups, do not fit an input of {channels} channels"
    ))
}

fn transpose(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.known(1, "weights")?);
    let (windows, groups) = (windows(ctx, &x, weights.dims())?, ctx.size("group", 1)?);
    let (inputs, each) = (weights.dims()[0], weights.dims()[1]);
    if groups == 0 || inputs != x.dims[1] || !inputs.is_multiple_of(groups) {
        return Err(channels(weights.dims(), groups, &x));
    }
    let outputs = each.checked_mul(groups).ok_or_else(|| Problem::limit("its channels overflow"))?;
    let parts = kept(ctx, &x.dims[2..], &windows)?;
    if let (&[depth, ref plane @ ..], &[deep, tall, wide]) = (windows.as_slice(), parts.as_slice()) {
        let bias = bias(ctx, 2, outputs)?;
        let layer = conv3d::Layer { weights, depth, window: Window::of(plane)?, groups, bias };
        let result = conv3d::transposed(ctx, &x, &layer, [deep, tall, wide])?;
        ctx.give(0, Value::Computed(result));
        return Ok(());
    }
    let image = image(ctx, &x)?;
    let slide = Window::of(&windows)?;
    let [height, width] = slide.extent;
    // `[I, O / groups, y, x]` to `[O, y, x, I / groups]`.
    let grouped = weights.reshaped(&[groups, inputs / groups, each, height, width])?;
    let transposed = grouped.transposed(&[0, 2, 3, 4, 1], ctx.meter())?;
    let shape = Shape::new(outputs, height, width, inputs / groups);
    let mut operands = vec![image.x.tensor, ctx.lowering.constant(&transposed, shape)?];
    operands.extend(bias(ctx, 2, outputs)?);
    let [y, x] = match *parts {
        [y, x] => [y, x],
        [x] => [Kept { cut: [0; 2], extent: 1 }, x],
        _ => return Err(Problem::malformed("its input has no image")),
    };
    let padding = Kept::padding([y, x]);
    let conv = TransposeConv { stride: slide.stride, dilation: slide.dilation, padding, groups };
    let shape = Shape::new(image.shape.b, y.extent, x.extent, outputs);
    let tensor = ctx.emit(Op::TransposeConv(conv), &operands, shape)?;
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}

/// Returns the part of the full result of a transposed convolution that is kept, along each axis.
fn kept(ctx: &NodeLowering<'_>, extents: &[usize], windows: &[Along]) -> Result<Vec<Kept>, Problem> {
    let list = |name: &str| ctx.ints(name).unwrap_or_default();
    let stated = list("output_padding");
    let more: Result<Vec<usize>, _> = stated.iter().map(|&n| usize::try_from(n)).collect();
    let more = more.map_err(|_| Problem::malformed(format!("its output_padding are {stated:?}")))?;
    // A negative number becomes 0, which is refused where it is used.
    let output_shape: Vec<usize> = list("output_shape").iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    // Some files include batch and channels.
    let pick = |list: &[usize], axis: usize| {
        list.len().checked_sub(extents.len()).and_then(|front| list.get(front + axis)).copied()
    };
    let mut parts = Vec::with_capacity(extents.len());
    for (axis, (&extent, along)) in extents.iter().zip(windows).enumerate() {
        let full = window::transposed_extent(extent, along.reach()?, along.stride)?;
        let more = pick(&more, axis).unwrap_or(0);
        let target = match (pick(&output_shape, axis), along.auto) {
            (Some(target), _) => Some(target),
            (None, Auto::Same { .. }) => extent.checked_mul(along.stride),
            _ => None,
        };
        let of = |n: Option<usize>| {
            let cut = || format!("nothing is left of the {} pixels of its result", full + more);
            n.filter(|&n| n > 0).ok_or_else(|| Problem::empty(cut()))
        };
        parts.push(if let Some(target) = target {
            let total = (full + more).saturating_sub(target);
            let small = total / 2;
            // ONNX cuts the odd pixel off in front, even if only extents are stated. For SAME_UPPER it cuts off at
            // the end.
            let front = if matches!(along.auto, Auto::Same { in_front: false }) { small } else { total - small };
            let cut = if target == 0 { [0, 0] } else { [front, total - front] };
            // Only a stated extent can make the result larger than the full extent. If strides exceed the window,
            // SAME yields fewer pixels than requested. ONNX Runtime does the same.
            let is_stated = pick(&output_shape, axis).is_some();
            Kept { cut, extent: of(Some(if is_stated { target } else { full + more - total }))? }
        } else {
            let cut = along.border;
            Kept { cut, extent: of((full + more).checked_sub(cut[0] + cut[1]))? }
        });
    }
    Ok(parts)
}

//! Lowers convolutions and transposed convolutions with one or two dimensions.

use super::align::placed_as;
use crate::import::{
    common::window::{self, MAX_REACH},
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
use texpool_ops::graph::{Conv2d, DepthwiseConv2d, Op, Padding, Shape, TensorId, TransposeConv};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Conv", 1, Floats, "conv, depthwise", ChannelsSecond, conv)
        .limits("one or two dimensions; weights and biases must be known"),
    OnnxOpEntry::new("ConvTranspose", 1, Floats, "transpose_conv", ChannelsSecond, transpose)
        .limits("one or two dimensions; weights and biases must be known"),
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
        let reason = format!("its input has the extents {:?}: only one and two dimensions are supported", x.dims);
        return Err(Problem::unsupported(reason));
    }
    let layout = AtomLayout::channels_second(&x.dims);
    let shape = layout.shape();
    let tensor = placed_as(ctx.lowering, &Value::Computed(x.clone()), &layout)?;
    Ok(Image { x: Computed { tensor, layout, ..x.clone() }, shape })
}

/// Window, stride, dilation and border, each as `[y, x]`.
#[derive(Clone, Copy, Debug)]
pub(in crate::import::onnx) struct Window {
    pub(in crate::import::onnx) extent: [usize; 2],
    pub(in crate::import::onnx) stride: [usize; 2],
    pub(in crate::import::onnx) dilation: [usize; 2],
    /// Extents spanned by the dilated window.
    pub(in crate::import::onnx) reach: [usize; 2],
    pub(in crate::import::onnx) padding: Padding,
    pub(in crate::import::onnx) auto: Auto,
}

/// Rule for the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import::onnx) enum Auto {
    Stated,
    /// Border for `extent / stride` results. An odd pixel goes to the end, or to the front if `in_front` is set.
    Same {
        in_front: bool,
    },
    None,
}

/// Reads a list with one number per dimension, as `[y, x]`.
pub(in crate::import::onnx) fn spatial(
    ctx: &NodeLowering<'_>,
    name: &str,
    dimensions: usize,
    default: usize,
) -> Result<[usize; 2], Problem> {
    let Some(list) = ctx.ints(name) else { return Ok([default; 2]) };
    // Negative numbers become 0, which is refused.
    let sizes: Vec<usize> = list.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    match (sizes.as_slice(), dimensions) {
        (&[x], 1) if x > 0 && x <= MAX_REACH => Ok([1, x]),
        (&[y, x], 2) if y > 0 && x > 0 && y.max(x) <= MAX_REACH => Ok([y, x]),
        _ => Err(Problem::malformed(format!("its {name} are {list:?} for {dimensions} dimensions"))),
    }
}

/// Reads the window from a node's attributes.
pub(in crate::import::onnx) fn stated_window(
    ctx: &NodeLowering<'_>,
    dimensions: usize,
    extent: [usize; 2],
) -> Result<Window, Problem> {
    let auto = match ctx.text("auto_pad", "NOTSET")?.as_str() {
        "NOTSET" | "" => Auto::Stated,
        "SAME_UPPER" => Auto::Same { in_front: false },
        "SAME_LOWER" => Auto::Same { in_front: true },
        "VALID" => Auto::None,
        other => return Err(Problem::malformed(format!("its auto_pad is {other}"))),
    };
    let pads = ctx.ints("pads").unwrap_or_default();
    let sizes: Vec<usize> = pads.iter().map(|&n| usize::try_from(n).unwrap_or(usize::MAX)).collect();
    if sizes.iter().any(|&n| n > MAX_REACH) {
        return Err(Problem::unsupported(format!("its pads are {pads:?}")));
    }
    let padding = match (sizes.as_slice(), dimensions) {
        // `auto_pad` overrides the padding that the file states.
        _ if auto != Auto::Stated => Padding::default(),
        (&[], _) => Padding::default(),
        (&[left, right], 1) => Padding { left, right, ..Padding::default() },
        (&[top, left, bottom, right], 2) => Padding { top, bottom, left, right },
        _ => return Err(Problem::malformed(format!("its pads are {pads:?} for {dimensions} dimensions"))),
    };
    let mut stride = spatial(ctx, "strides", dimensions, 1)?;
    let mut dilation = spatial(ctx, "dilations", dimensions, 1)?;
    if dimensions == 1 {
        (stride[0], dilation[0]) = (1, 1);
    }
    let reach = window::reach(extent, dilation)?;
    Ok(Window { extent, stride, dilation, reach, padding, auto })
}

impl Window {
    /// Returns the border for an image with extents `[h, w]`.
    pub(in crate::import::onnx) fn around(&self, image: [usize; 2]) -> Padding {
        match self.auto {
            Auto::Same { in_front } => window::same(image, self.reach, self.stride, in_front),
            Auto::Stated | Auto::None => self.padding,
        }
    }
}

/// Returns weights of `[O, I, window]` or `[I, O, window]` as `[_, _, y, x]`.
fn windows(weights: Array, rank: usize) -> Result<Array, Problem> {
    if weights.is_empty() || weights.dims().len() != rank {
        return Err(Problem::malformed(format!("its weights have the extents {:?}", weights.dims())));
    }
    match *weights.dims() {
        [a, b, x] => weights.reshaped(&[a, b, 1, x]),
        _ => Ok(weights),
    }
}

/// Returns the extents of the window, and checks them against the optional attribute.
fn weights_window(ctx: &NodeLowering<'_>, weights: &Array, dimensions: usize) -> Result<[usize; 2], Problem> {
    let extent = [weights.dims()[2], weights.dims()[3]];
    let stated = if ctx.has("kernel_shape") { spatial(ctx, "kernel_shape", dimensions, 1)? } else { extent };
    match stated == extent {
        true => Ok(extent),
        false => {
            let [stated, extent] = [&stated, &extent].map(|pair| &pair[2 - dimensions..]);
            Err(Problem::malformed(format!("its window is stated as {stated:?}, its weights have {extent:?}")))
        }
    }
}

fn bias(ctx: &mut NodeLowering<'_>, channels: usize, inputs: &mut Vec<TensorId>) -> Result<(), Problem> {
    if ctx.optional(2).is_some() {
        let bias = ctx.known(2, "biases")?;
        if bias.dims() != [channels] {
            return Err(Problem::malformed(format!("its biases have the extents {:?}", bias.dims())));
        }
        inputs.push(ctx.lowering.constant(&bias, Shape::new(1, 1, 1, channels))?);
    }
    Ok(())
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

/// Properties that convolutions and transposed convolutions share.
struct Convolution {
    image: Image,
    /// `[_, _, y, x]`
    weights: Array,
    window: Window,
    groups: usize,
}

fn convolution(ctx: &mut NodeLowering<'_>, x: &Computed, weights: Array) -> Result<Convolution, Problem> {
    let rank = x.dims.len();
    let image = image(ctx, x)?;
    let weights = windows(weights, rank)?;
    let extent = weights_window(ctx, &weights, rank - 2)?;
    let window = stated_window(ctx, rank - 2, extent)?;
    Ok(Convolution { image, weights, window, groups: ctx.size("group", 1)? })
}

pub(super) fn conv(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.known(1, "weights")?);
    let result = convolved(ctx, &x, weights, true)?;
    ctx.give(0, Value::Computed(result));
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
    let Convolution { image, weights, window: slide, groups } = convolution(ctx, x, weights)?;
    let [outputs, inputs, ..] = *weights.dims() else {
        return Err(Problem::malformed("its weights have too few extents"));
    };
    if groups == 0 || inputs.checked_mul(groups) != Some(image.shape.c) || !outputs.is_multiple_of(groups) {
        return Err(channels(&weights, groups, &image));
    }
    let padding = slide.around([image.shape.h, image.shape.w]);
    let conv = Conv2d { stride: slide.stride, dilation: slide.dilation, padding, groups };
    let depthwise = groups == image.shape.c && groups > 1;
    let (turned, shape) = match depthwise {
        // One input channel per group: `[O, 1, y, x]` to `[1, y, x, O]`.
        true => {
            (weights.transposed(&[1, 2, 3, 0], ctx.meter())?, Shape::new(1, slide.extent[0], slide.extent[1], outputs))
        }
        false => (
            weights.transposed(&[0, 2, 3, 1], ctx.meter())?,
            Shape::new(outputs, slide.extent[0], slide.extent[1], inputs),
        ),
    };
    let mut operands = vec![image.x.tensor, ctx.lowering.constant(&turned, shape)?];
    if biased {
        bias(ctx, outputs, &mut operands)?;
    }
    let [h, w] = slid(&slide, padding, [image.shape.h, image.shape.w])?;
    let shape = Shape::new(image.shape.b, h, w, outputs);
    let op =
        if depthwise { Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { groups: 1, ..conv })) } else { Op::Conv2d(conv) };
    let tensor = ctx.emit(op, &operands, shape)?;
    Ok(imaged(tensor, &image, shape))
}

/// Weights that do not fit the channels and groups.
fn channels(weights: &Array, groups: usize, image: &Image) -> Problem {
    let (weights, channels) = (weights.dims(), image.shape.c);
    Problem::malformed(format!(
        "its weights of {weights:?}, in {groups} groups, do not fit an input of {channels} channels"
    ))
}

/// Returns the number of window positions. Only complete windows count.
pub(super) fn slid(window: &Window, padding: Padding, image: [usize; 2]) -> Result<[usize; 2], Problem> {
    let Padding { top, bottom, left, right } = padding;
    let count = |axis: usize, border: usize| -> Result<usize, Problem> {
        let (extent, reach) = (image[axis] + border, window.reach[axis]);
        let rest = extent.checked_sub(reach);
        let small =
            || Problem::malformed(format!("a window of {reach} does not fit into {extent} pixels with borders"));
        Ok(rest.ok_or_else(small)? / window.stride[axis] + 1)
    };
    Ok([count(0, top + bottom)?, count(1, left + right)?])
}

fn transpose(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.known(1, "weights")?);
    let Convolution { image, weights, window: slide, groups } = convolution(ctx, &x, weights)?;
    let [inputs, each, ..] = *weights.dims() else {
        return Err(Problem::malformed("its weights have too few extents"));
    };
    if groups == 0 || inputs != image.shape.c || !inputs.is_multiple_of(groups) {
        return Err(channels(&weights, groups, &image));
    }
    let outputs = each.checked_mul(groups).ok_or_else(|| Problem::limit("its channels overflow"))?;
    // `[I, O / groups, y, x]` to `[O, y, x, I / groups]`.
    let grouped = weights.reshaped(&[groups, inputs / groups, each, slide.extent[0], slide.extent[1]])?;
    let transposed = grouped.transposed(&[0, 2, 3, 4, 1], ctx.meter())?;
    let shape = Shape::new(outputs, slide.extent[0], slide.extent[1], inputs / groups);
    let mut operands = vec![image.x.tensor, ctx.lowering.constant(&transposed, shape)?];
    bias(ctx, outputs, &mut operands)?;

    let list = |name: &str| ctx.ints(name).unwrap_or_default();
    let stated = list("output_padding");
    let more: Result<Vec<usize>, _> = stated.iter().map(|&n| usize::try_from(n)).collect();
    let more = more.map_err(|_| Problem::malformed(format!("its output_padding are {stated:?}")))?;
    // A negative number becomes 0, which is refused where it is used.
    let output_shape: Vec<usize> = list("output_shape").iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let pick = |list: &[usize], axis: usize| match (list, image.x.dims.len()) {
        (&[x], 3) => (axis == 1).then_some(x),
        // Some files include batch and channels.
        (list, 4) => list.len().checked_sub(2).and_then(|front| list.get(front + axis)).copied(),
        _ => None,
    };
    let Padding { top, bottom, left, right } = slide.padding;
    let mut result = [0; 2];
    let mut cut = [[top, bottom], [left, right]];
    for axis in 0..2 {
        let extent = [image.shape.h, image.shape.w][axis];
        let full = window::transposed_extent(extent, slide.reach[axis], slide.stride[axis])?;
        let more = pick(&more, axis).unwrap_or(0);
        let target = match (pick(&output_shape, axis), slide.auto) {
            (Some(target), _) => Some(target),
            (None, Auto::Same { .. }) => extent.checked_mul(slide.stride[axis]),
            _ => None,
        };
        let of = |n: Option<usize>| {
            let cut = || format!("nothing is left of the {} pixels of its result", full + more);
            n.filter(|&n| n > 0).ok_or_else(|| Problem::empty(cut()))
        };
        if let Some(target) = target {
            let total = (full + more).saturating_sub(target);
            let small = total / 2;
            // ONNX cuts the odd pixel off in front, even if only extents are stated. For SAME_UPPER it cuts off at
            // the end.
            let front = if matches!(slide.auto, Auto::Same { in_front: false }) { small } else { total - small };
            cut[axis] = if target == 0 { [0, 0] } else { [front, total - front] };
            // Only a stated extent can make the result larger than the full extent. If strides exceed the window,
            // SAME yields fewer pixels than requested. ONNX Runtime does the same.
            result[axis] = of(Some(if pick(&output_shape, axis).is_some() { target } else { full + more - total }))?;
        } else {
            result[axis] = of((full + more).checked_sub(cut[axis][0] + cut[axis][1]))?;
        }
    }
    let padding = Padding { top: cut[0][0], bottom: cut[0][1], left: cut[1][0], right: cut[1][1] };
    let conv = TransposeConv { stride: slide.stride, dilation: slide.dilation, padding, groups };
    let shape = Shape::new(image.shape.b, result[0], result[1], outputs);
    let tensor = ctx.emit(Op::TransposeConv(conv), &operands, shape)?;
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}

//! Lowers convolutions of volumes to those of images. The planes that a window spans are joined along the channels, and
//! so are the weights for them.

use super::{
    activation::activation,
    padding::{Scheme, positive},
};
use crate::import::{
    common::{
        planes::{DepthWindow, Emit, Planes, Tap},
        window::{positions, reach, transposed_extent},
    },
    error::Problem,
    tflite::{
        op_registry::{Described::LikeOnnx, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
        schema::Conv3dOptions,
    },
};
use texpool_ops::graph::{Act, Conv2d, Op, Padding, Shape, TensorId, TransposeConv};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("CONV_3D", LikeOnnx("Conv"), conv3d),
    TfLiteOpEntry::new("CONV_3D_TRANSPOSE", LikeOnnx("ConvTranspose"), transpose),
];

impl Emit for OperatorLowering<'_, '_> {
    fn emit(&mut self, op: Op, inputs: &[TensorId], shape: Shape) -> Result<TensorId, Problem> {
        self.between(op, inputs, shape)
    }
}

/// Windows along depth, height and width.
struct Windows {
    scheme: Scheme,
    extent: [usize; 3],
    stride: [usize; 3],
    dilation: [usize; 3],
    act: Act,
}

impl Windows {
    fn new(ctx: &OperatorLowering<'_, '_>, extent: [usize; 3]) -> Result<Self, Problem> {
        let options = ctx.options::<Conv3dOptions<'static>>()?;
        let strides = [options.stride_d(), options.stride_h(), options.stride_w()];
        let dilations = [options.dilation_d(), options.dilation_h(), options.dilation_w()];
        let [mut stride, mut dilation] = [[1; 3]; 2];
        for axis in 0..3 {
            stride[axis] = positive("stride", strides[axis])?;
            dilation[axis] = positive("dilation", dilations[axis])?;
        }
        let (scheme, act) = (Scheme::of(options.padding())?, activation(options.activation())?);
        Ok(Self { scheme, extent, stride, dilation, act })
    }

    fn depth(&self) -> DepthWindow {
        DepthWindow { extent: self.extent[0], stride: self.stride[0], dilation: self.dilation[0] }
    }

    /// Returns the elements that a dilated window spans along an axis.
    fn reach(&self, axis: usize) -> Result<usize, Problem> {
        reach([1, self.extent[axis]], [1, self.dilation[axis]]).map(|[_, reach]| reach)
    }

    /// Returns the border for volumes of these extents, along each axis.
    fn around(&self, volume: [usize; 3]) -> Result<[[usize; 2]; 3], Problem> {
        let mut borders = [[0; 2]; 3];
        for (axis, border) in borders.iter_mut().enumerate() {
            let along = |list: [usize; 3]| [1, list[axis]];
            let (window, stride, dilation) = (along(self.extent), along(self.stride), along(self.dilation));
            let Padding { left, right, .. } = self.scheme.around(along(volume), window, stride, dilation)?;
            *border = [left, right];
        }
        Ok(borders)
    }
}

fn padding([_, [top, bottom], [left, right]]: [[usize; 2]; 3]) -> Padding {
    Padding { top, bottom, left, right }
}

/// Returns an operand as planes.
fn planes(ctx: &OperatorLowering<'_, '_>, x: TensorId) -> Result<Planes, Problem> {
    let &[items, depth, h, w, c] = ctx.dims(x) else {
        return Err(Problem::malformed(format!("the input must have five extents, has {:?}", ctx.dims(x))));
    };
    Ok(Planes { tensor: x, items, depth, plane: Shape::new(1, h, w, c) })
}

/// Weights `[depth, y, x, _, _]`, the last two being the channels of input and result in either order.
struct Weights {
    values: Vec<f32>,
    window: [usize; 3],
    inputs: usize,
    outputs: usize,
    /// Distances of the channels of input and result.
    steps: [usize; 2],
}

impl Weights {
    fn new(ctx: &mut OperatorLowering<'_, '_>, position: usize, outputs_last: bool) -> Result<Self, Problem> {
        let id = ctx.constant(position, "weights")?;
        let &[depth, y, x, a, b] = ctx.dims(id) else {
            return Err(Problem::malformed(format!("the weights must have five extents, have {:?}", ctx.dims(id))));
        };
        let ([inputs, outputs], steps) = if outputs_last { ([a, b], [b, 1]) } else { ([b, a], [1, b]) };
        Ok(Self { values: ctx.values(id)?, window: [depth, y, x], inputs, outputs, steps })
    }

    /// Fails unless an input has as many channels.
    fn fit(&self, planes: &Planes) -> Result<(), Problem> {
        if planes.plane.c == self.inputs {
            return Ok(());
        }
        let reason = format!("its input has {} channels, its weights {}", planes.plane.c, self.inputs);
        Err(Problem::unsupported(reason))
    }

    /// Adds the constant `[O, y, x, taps * I]` with the weights of some taps.
    fn constant(&self, ctx: &mut OperatorLowering<'_, '_>, taps: &[Tap]) -> Result<TensorId, Problem> {
        let ([_, height, width], [by_input, by_output]) = (self.window, self.steps);
        let area = height * width;
        let shape = Shape::new(self.outputs, height, width, taps.len() * self.inputs);
        let elements = shape.checked_len().ok_or_else(|| Problem::limit("its weights overflow"))?;
        let channels = self.inputs * self.outputs;
        let all = (0..self.outputs).flat_map(|output| (0..area).map(move |place| (output, place))).flat_map(
            |(output, place)| {
                taps.iter().flat_map(move |tap| {
                    let from = (tap.number * area + place) * channels + output * by_output;
                    (0..self.inputs).map(move |input| self.values[from + input * by_input])
                })
            },
        );
        ctx.meter().work(elements)?;
        let turned = ctx.meter().filled(elements, all)?;
        ctx.new_constant(shape, &turned)
    }
}

/// Returns the planes from which the taps of a window read, joined along the channels.
fn gathered(
    ctx: &mut OperatorLowering<'_, '_>,
    planes: Planes,
    taps: &[Tap],
    stride: usize,
    count: usize,
) -> Result<TensorId, Problem> {
    let first: Vec<isize> = taps.iter().map(|tap| tap.first).collect();
    let runs = planes.runs(ctx, &first, stride, count)?;
    let joined = Planes::joined(ctx, &runs)?;
    Ok(joined.ok_or_else(|| Problem::malformed("its window has no taps"))?.tensor)
}

fn bias(ctx: &mut OperatorLowering<'_, '_>, position: usize) -> Result<Option<TensorId>, Problem> {
    ctx.has(position).then(|| ctx.constant(position, "biases")).transpose()
}

fn conv3d(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 3)?;
    let x = ctx.operand(0)?;
    let (planes, weights, bias) = (planes(ctx, x)?, Weights::new(ctx, 1, true)?, bias(ctx, 2)?);
    weights.fit(&planes)?;
    let windows = Windows::new(ctx, weights.window)?;
    let volume = [planes.depth, planes.plane.h, planes.plane.w];
    let borders = windows.around(volume)?;
    let mut extents = [0; 3];
    for (axis, extent) in extents.iter_mut().enumerate() {
        *extent = positions(volume[axis], borders[axis], windows.reach(axis)?, windows.stride[axis])?;
    }
    let [count, h, w] = extents;
    ctx.gives(&[planes.items, count, h, w, weights.outputs])?;
    let taps = windows.depth().taps(planes.depth, borders[0][0], count);
    let gathered = gathered(ctx, planes, &taps, windows.stride[0], count)?;
    let weights = weights.constant(ctx, &taps)?;
    let ([_, stride @ ..], [_, dilation @ ..]) = (windows.stride, windows.dilation);
    let conv = Conv2d { stride, dilation, padding: padding(borders), groups: 1 };
    let operands: Vec<TensorId> = [gathered, weights].into_iter().chain(bias).collect();
    ctx.emit(Op::Conv2d(conv), &operands, windows.act)
}

/// The operands are the extents of the result, weights, input, and an optional bias.
fn transpose(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(3, 4)?;
    // A negative number becomes 0, which never equals a stated extent.
    let stated: Vec<usize> =
        ctx.integers(0, "output extents")?.iter().map(|&e| usize::try_from(e).unwrap_or(0)).collect();
    let x = ctx.operand(2)?;
    let (planes, weights, bias) = (planes(ctx, x)?, Weights::new(ctx, 1, false)?, bias(ctx, 3)?);
    weights.fit(&planes)?;
    ctx.gives(&stated)?;
    let &[items, depth, h, w, outputs] = stated.as_slice() else {
        return Err(Problem::malformed(format!("its result must have five extents, has {stated:?}")));
    };
    if [items, outputs] != [planes.items, weights.outputs] {
        let reason = format!("its result is stated as {stated:?}, its weights have {} channels", weights.outputs);
        return Err(Problem::malformed(reason));
    }
    let windows = Windows::new(ctx, weights.window)?;
    // The border is that of the inverse convolution, so it is computed from the result.
    let mut cut = windows.around([depth, h, w])?;
    for (axis, [front, back]) in cut.iter_mut().enumerate() {
        let extent = [planes.depth, planes.plane.h, planes.plane.w][axis];
        let full = transposed_extent(extent, windows.reach(axis)?, windows.stride[axis])?;
        *back = full.saturating_sub(*front + [depth, h, w][axis]);
    }
    let remainders = windows.stride[0].min(depth);
    let result = Planes { depth: depth.div_ceil(remainders), plane: Shape::new(1, h, w, outputs), ..planes };
    let ([_, stride @ ..], [_, dilation @ ..]) = (windows.stride, windows.dilation);
    let conv = TransposeConv { stride, dilation, padding: padding(cut), groups: 1 };
    let mut parts = Vec::new();
    for remainder in 0..remainders {
        ctx.meter().work(windows.extent[0])?;
        let taps = windows.depth().transposed_taps(planes.depth, cut[0][0], remainder, result.depth);
        let gathered = gathered(ctx, planes, &taps, 1, result.depth)?;
        let constant = weights.constant(ctx, &taps)?;
        let operands: Vec<TensorId> = [gathered, constant].into_iter().chain(bias).collect();
        let tensor = ctx.between(Op::TransposeConv(conv), &operands, result.shape(result.depth))?;
        parts.push(Planes { tensor, ..result });
    }
    let whole = Planes::interleaved(ctx, &parts)?.ok_or_else(|| Problem::malformed("its result has no planes"))?;
    let kept = whole.taken(ctx, 0, 1, depth)?;
    ctx.emit(Op::Reshape, &[kept.tensor], windows.act)
}

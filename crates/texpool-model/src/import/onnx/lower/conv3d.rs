//! Lowers convolutions and transposed convolutions of volumes to those of images. The planes that a window spans are
//! joined along the channels, and so are the weights for them. With groups, a convolution for each plane of the window
//! gives a part of the sum.

use super::{
    volumes::{computed, volume},
    windows::{Along, Window, slid},
};
use crate::import::{
    common::{
        planes::{DepthWindow, Planes, Tap},
        window::MAX_REACH,
    },
    error::Problem,
    onnx::{array::Array, node_lowering::NodeLowering, value::Computed},
};
use texpool_ops::graph::{Binary, Conv2d, DepthwiseConv2d, Op, Padding, Shape, TensorId, TransposeConv};

/// A layer with weights.
pub(super) struct Layer {
    /// `[_, _, depth, y, x]`
    pub(super) weights: Array,
    pub(super) depth: Along,
    pub(super) window: Window,
    pub(super) groups: usize,
    pub(super) bias: Option<TensorId>,
}

/// The part of the full result of a transposed convolution that is kept along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Elements that are cut off in front and at the end.
    pub(super) cut: [usize; 2],
    /// Elements that are kept.
    pub(super) extent: usize,
}

impl Kept {
    /// Returns the elements that are cut off an image, by the parts `[y, x]`.
    pub(super) const fn padding([y, x]: [Self; 2]) -> Padding {
        let ([top, bottom], [left, right]) = (y.cut, x.cut);
        Padding { top, bottom, left, right }
    }
}

/// Planes that a layer of images reads, and the taps along the depth that read them.
struct Piece<'t> {
    taps: &'t [Tap],
    planes: Planes,
}

impl Layer {
    fn along_depth(&self) -> DepthWindow {
        let Along { extent, stride, dilation, .. } = self.depth;
        DepthWindow { extent, stride, dilation }
    }

    /// Returns weights `[_, _, taps, y, x]` of some taps along the depth.
    fn weights_of(&self, ctx: &mut NodeLowering<'_>, taps: &[Tap]) -> Result<Array, Problem> {
        let &[outer, inner, depth, height, width] = self.weights.dims() else {
            return Err(Problem::malformed(format!("its weights have the extents {:?}", self.weights.dims())));
        };
        if taps.len() == depth {
            return Ok(self.weights.clone());
        }
        let window = height * width;
        let planes = (0..outer * inner).flat_map(|pair| taps.iter().map(move |tap| pair * depth + tap.number));
        let elements = planes.flat_map(|plane| plane * window..(plane + 1) * window);
        self.weights.gathered(vec![outer, inner, taps.len(), height, width], elements, ctx.meter())
    }

    /// Returns the planes that some taps read in steps of `stride`.
    fn pieces<'t>(
        &self,
        ctx: &mut NodeLowering<'_>,
        planes: Planes,
        taps: &'t [Tap],
        stride: usize,
        count: usize,
    ) -> Result<Vec<Piece<'t>>, Problem> {
        let first: Vec<isize> = taps.iter().map(|tap| tap.first).collect();
        let runs = planes.runs(ctx, &first, stride, count)?;
        if self.groups == 1 {
            let joined = Planes::joined(ctx, &runs)?;
            return Ok(joined.map(|planes| Piece { taps, planes }).into_iter().collect());
        }
        Ok(taps.chunks(1).zip(runs).map(|(taps, planes)| Piece { taps, planes }).collect())
    }

    /// Adds up the results of `shape` that a layer of images gives for each piece, with the biases.
    fn sum(
        &self,
        ctx: &mut NodeLowering<'_>,
        pieces: &[Piece<'_>],
        shape: Shape,
        layer: impl Fn(&mut NodeLowering<'_>, Array) -> Result<(Op, TensorId), Problem>,
    ) -> Result<TensorId, Problem> {
        let mut sum = None;
        for piece in pieces {
            let weights = self.weights_of(ctx, piece.taps)?;
            let (op, weights) = layer(ctx, weights)?;
            let bias = self.bias.filter(|_| sum.is_none());
            let operands: Vec<TensorId> = [piece.planes.tensor, weights].into_iter().chain(bias).collect();
            let part = ctx.emit(op, &operands, shape)?;
            sum = Some(match sum {
                Some(sum) => ctx.emit(Op::Binary(Binary::Add), &[sum, part], shape)?,
                None => part,
            });
        }
        sum.ok_or_else(|| Problem::malformed("its window has no taps"))
    }
}

/// Convolves a volume.
pub(super) fn convolved(ctx: &mut NodeLowering<'_>, x: &Computed, layer: &Layer) -> Result<Computed, Problem> {
    let planes = volume(ctx, x)?;
    let Layer { depth, window, groups, .. } = *layer;
    let image = [planes.plane.h, planes.plane.w];
    let padding = window.around(image);
    let [h, w] = slid(&window, padding, image)?;
    let border = depth.around(planes.depth)?;
    let count = depth.positions(planes.depth, border)?;
    let result = Planes { depth: count, plane: Shape::new(1, h, w, layer.weights.dims()[0]), ..planes };

    ctx.budget_for(&[depth.extent], size_of::<Tap>(), 1)?;
    let taps = layer.along_depth().taps(planes.depth, border[0], count);
    let pieces = layer.pieces(ctx, planes, &taps, depth.stride, count)?;
    let conv = Conv2d { stride: window.stride, dilation: window.dilation, padding, groups };
    let is_depthwise = groups == planes.plane.c && groups > 1;
    let tensor = layer.sum(ctx, &pieces, result.shape(count), |ctx, weights| {
        let &[outputs, inputs, taps, height, width] = weights.dims() else {
            return Err(Problem::malformed("its weights have no window of three axes"));
        };
        if is_depthwise {
            let turned = weights.transposed(&[1, 2, 3, 4, 0], ctx.meter())?;
            let constant = ctx.lowering.constant(&turned, Shape::new(1, height, width, outputs))?;
            return Ok((Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d { groups: 1, ..conv })), constant));
        }
        let turned = weights.transposed(&[0, 3, 4, 2, 1], ctx.meter())?;
        let constant = ctx.lowering.constant(&turned, Shape::new(outputs, height, width, taps * inputs))?;
        Ok((Op::Conv2d(conv), constant))
    })?;
    Ok(computed(Planes { tensor, ..result }, x.elem))
}

/// Applies a transposed convolution to a volume, of whose result `kept` is kept.
///
/// Planes of the result whose numbers leave the same remainder when divided by the stride have the same taps, so there
/// is a layer of images for each remainder.
pub(super) fn transposed(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    layer: &Layer,
    [deep, y, wide]: [Kept; 3],
) -> Result<Computed, Problem> {
    let planes = volume(ctx, x)?;
    let Layer { depth, window, groups, .. } = *layer;
    if deep.extent > MAX_REACH {
        let reason = format!("a result of {} planes: at most {MAX_REACH} are supported", deep.extent);
        return Err(Problem::limit(reason));
    }
    let remainders = depth.stride.min(deep.extent);
    let count = deep.extent.div_ceil(remainders);
    let outputs = layer.weights.dims()[1] * groups;
    let result = Planes { depth: count, plane: Shape::new(1, y.extent, wide.extent, outputs), ..planes };
    let conv =
        TransposeConv { stride: window.stride, dilation: window.dilation, padding: Kept::padding([y, wide]), groups };
    let mut parts = Vec::new();
    for remainder in 0..remainders {
        ctx.budget_for(&[depth.extent], size_of::<Tap>(), 1)?;
        let taps = layer.along_depth().transposed_taps(planes.depth, deep.cut[0], remainder, count);
        let pieces = layer.pieces(ctx, planes, &taps, 1, count)?;
        let tensor = layer.sum(ctx, &pieces, result.shape(count), |ctx, weights| {
            let &[inputs, each, taps, height, width] = weights.dims() else {
                return Err(Problem::malformed("its weights have no window of three axes"));
            };
            // `[I, O / groups, depth, y, x]` to `[O, y, x, depth, I / groups]`.
            let own = inputs / groups;
            let grouped = weights.reshaped(&[groups, own, each, taps, height, width])?;
            let turned = grouped.transposed(&[0, 2, 4, 5, 3, 1], ctx.meter())?;
            let shape = Shape::new(outputs, height, width, taps * own);
            Ok((Op::TransposeConv(conv), ctx.lowering.constant(&turned, shape)?))
        })?;
        parts.push(Planes { tensor, ..result });
    }
    let whole = Planes::interleaved(ctx, &parts)?.ok_or_else(|| Problem::malformed("its result has no planes"))?;
    let kept = whole.taken(ctx, 0, 1, deep.extent)?;
    Ok(computed(kept, x.elem))
}

//! Lowers operators that move elements, and resizes.

use super::{activation::activation, axes::fold, padding::positive};
use crate::import::{
    common::{
        axes::{axis, permutation},
        extents::{concatenated, repeated, squeezed, with_leading_ones},
    },
    error::Problem,
    op_registry::{All, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
        schema::{
            ConcatOptions, DepthToSpaceOptions, MirrorPadOptions, PackOptions, ReshapeOptions, ResizeBilinearOptions,
            ResizeNearestOptions, SpaceToDepthOptions, SqueezeOptions,
        },
    },
};
use texpool_ops::graph::{
    Act, Concat, CoordMode, DepthOrder, DepthToSpace, Op, Pad, PadMode, Resize, ResizeMode, SpaceToDepth, TensorId,
    Transpose,
};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("DEPTH_TO_SPACE", LikeOnnx("DepthToSpace"), depth_to_space),
    TfLiteOpEntry::new("SPACE_TO_DEPTH", LikeOnnx("SpaceToDepth"), space_to_depth),
    TfLiteOpEntry::new("PAD", LikeOnnx("Pad"), |c| pad(c, false)),
    TfLiteOpEntry::new("PADV2", LikeOnnx("Pad"), |c| pad(c, true)),
    TfLiteOpEntry::new("MIRROR_PAD", LikeOnnx("Pad"), mirror_pad),
    TfLiteOpEntry::new("RESIZE_BILINEAR", LikeOnnx("Resize"), resize_bilinear),
    TfLiteOpEntry::new("RESIZE_NEAREST_NEIGHBOR", LikeOnnx("Resize"), resize_nearest),
    TfLiteOpEntry::new("CONCATENATION", LikeOnnx("Concat"), concat),
    TfLiteOpEntry::new("PACK", LikeOnnx("Concat"), pack),
    TfLiteOpEntry::new("BROADCAST_TO", LikeOnnx("Expand"), broadcast_to),
    TfLiteOpEntry::new("TILE", LikeOnnx("Tile"), tile),
    TfLiteOpEntry::new("DEQUANTIZE", LikeOnnx("DequantizeLinear"), same),
    TfLiteOpEntry::new("QUANTIZE", LikeOnnx("QuantizeLinear"), quantize),
    TfLiteOpEntry::new("RESHAPE", LikeOnnx("Reshape"), reshape),
    TfLiteOpEntry::new("SQUEEZE", LikeOnnx("Squeeze"), squeeze),
    TfLiteOpEntry::new("EXPAND_DIMS", LikeOnnx("Unsqueeze"), expand_dims),
    TfLiteOpEntry::new("TRANSPOSE", LikeOnnx("Transpose"), transpose),
    TfLiteOpEntry::new("DENSIFY", Alone(Support::new(All, "none").limits("the values must be known")), densify),
];

/// Converts reals or integers to integers of another scale.
fn quantize(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    if ctx.operand_count() == 1 && ctx.emit_reference_rescale(x)? {
        return Ok(());
    }
    same(ctx)
}

/// Operands already hold reals, whatever type they have in the file.
fn same(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    ctx.pass_on()
}

/// Sparse constants are expanded when they are read.
fn densify(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    ctx.constant(0, "sparse values")?;
    ctx.pass_on()
}

/// Paddings are pairs of numbers before and after each axis. PADV2 has an operand for the padding value.
fn pad(ctx: &mut OperatorLowering<'_, '_>, valued: bool) -> Result<(), Problem> {
    let count = if valued { 3 } else { 2 };
    ctx.operands(count, count)?;
    let value = if valued { ctx.scalar(2, "value")? } else { 0.0 };
    pad_with(ctx, PadMode::Constant(value))
}

/// Mode 0 mirrors without the border pixels, mode 1 with them.
fn mirror_pad(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    match ctx.options::<MirrorPadOptions<'static>>()?.mode() {
        0 => pad_with(ctx, PadMode::Reflect),
        1 => pad_with(ctx, PadMode::Symmetric),
        other => Err(Problem::malformed(format!("its mode {other} is unknown"))),
    }
}

fn pad_with(ctx: &mut OperatorLowering<'_, '_>, mode: PadMode) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let numbers = ctx.integers(1, "paddings")?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    if pairs.len() != dims.len() || !rest.is_empty() {
        return Err(Problem::malformed(format!("{} paddings for {} axes", numbers.len(), dims.len())));
    }
    let mut padded = Vec::with_capacity(dims.len());
    for (&extent, &[before, after]) in dims.iter().zip(pairs) {
        // Paddings beyond the size of any tensor would only cause overflows later.
        let amount = |n: i64| usize::try_from(n).ok().filter(|&n| n <= texpool_ops::graph::MAX_ELEMENTS);
        match (amount(before), amount(after)) {
            (Some(before), Some(after)) => {
                padded.push((extent.saturating_add(before).saturating_add(after), [before, after]))
            }
            _ if before.min(after) >= 0 => {
                let most = texpool_ops::graph::MAX_ELEMENTS;
                return Err(Problem::limit(format!("a padding of {before} and {after}: at most {most} are supported")));
            }
            _ => {
                return Err(Problem::malformed(format!(
                    "a padding of {before} and {after}, which must not be negative"
                )));
            }
        }
    }
    ctx.gives(&padded.iter().map(|(extent, _)| *extent).collect::<Vec<_>>())?;
    let touched = |axis: usize| padded[axis].1 != [0, 0];
    let folded = fold(&dims, |axis| touched(axis).then_some(axis), |axis| !touched(axis))?;
    let (mut before, mut after, mut shape) = ([0; 4], [0; 4], folded.extents);
    for (axis, &slot) in folded.of.iter().enumerate().filter(|&(axis, _)| touched(axis)) {
        [before[slot], after[slot]] = padded[axis].1.map(|n| n as isize);
        shape[slot] = padded[axis].0;
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::Pad(Pad { before, after, mode }), &[x], Act::None, shape.into())
}

fn concat(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, usize::MAX)?;
    let options = ctx.options::<ConcatOptions<'static>>()?;
    let mut extents = Vec::with_capacity(ctx.operand_count());
    let mut inputs = Vec::with_capacity(ctx.operand_count());
    for position in 0..ctx.operand_count() {
        if let Some(dims) = ctx.without_elements(position)? {
            extents.push(dims);
        } else {
            let id = ctx.operand(position)?;
            extents.push(ctx.dims(id).to_vec());
            inputs.push(id);
        }
    }
    let along = axis(i64::from(options.axis()), extents[0].len())?;
    let dims = concatenated(&extents.iter().map(Vec::as_slice).collect::<Vec<_>>(), along)?;
    if dims.contains(&0) {
        return ctx.gives_empty(&dims);
    }
    let folded = |dims: &[usize]| fold(dims, |axis| axis.cmp(&along), |axis| axis != along);
    let mut views = Vec::with_capacity(inputs.len());
    for id in inputs {
        let part = folded(ctx.dims(id))?;
        views.push(ctx.view(id, part.extents.into())?);
    }
    let folded = folded(&dims)?;
    ctx.gives(&dims)?;
    let op = Op::Concat(Concat { axis: folded.of[along] });
    ctx.emit_as(op, &views, activation(options.activation())?, folded.extents.into())
}

/// Stacks operands of equal extents along a new axis.
fn pack(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, usize::MAX)?;
    let options = ctx.options::<PackOptions<'static>>()?;
    let inputs = (0..ctx.operand_count()).map(|i| ctx.operand(i)).collect::<Result<Vec<_>, _>>()?;
    let mut dims = ctx.dims(inputs[0]).to_vec();
    if let Some(&other) = inputs.iter().find(|&&id| ctx.dims(id) != dims) {
        return Err(Problem::malformed(format!("{dims:?} and {:?} do not pack", ctx.dims(other))));
    }
    let along = axis(i64::from(options.axis()), dims.len() + 1)?;
    dims.insert(along, 1);
    let part = fold(&dims, |axis| axis.cmp(&along), |axis| axis != along)?;
    dims[along] = inputs.len();
    let all = fold(&dims, |axis| axis.cmp(&along), |axis| axis != along)?;
    ctx.gives(&dims)?;
    let views = inputs.into_iter().map(|id| ctx.view(id, part.extents.into())).collect::<Result<Vec<_>, _>>()?;
    ctx.emit_as(Op::Concat(Concat { axis: all.of[along] }), &views, Act::None, all.extents.into())
}

/// Repeats the operand along each axis.
fn tile(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let stated = ctx.integers(1, "numbers of times")?;
    let times: Vec<usize> = stated.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    if stated.contains(&0) && times.len() == dims.len() {
        return Err(Problem::empty_result(&repeated(&dims, &times)));
    }
    if times.len() != dims.len() || times.contains(&0) {
        return Err(Problem::malformed(format!("{stated:?} times {dims:?}")));
    }
    repeat(ctx, x, &dims, &times)
}

/// Repeats axes of one element up to the stated extents.
fn broadcast_to(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand(0)?;
    let stated = ctx.integers(1, "extents")?;
    let target: Vec<usize> = stated.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    if stated.contains(&0) {
        return Err(Problem::empty_result(&target));
    }
    let dims = with_leading_ones(ctx.dims(x), target.len());
    let fits = dims.len() == target.len()
        && dims.iter().zip(&target).all(|(&extent, &w)| w > 0 && (extent == w || extent == 1));
    if !fits {
        return Err(Problem::malformed(format!("{dims:?} does not broadcast to {stated:?}")));
    }
    let times: Vec<usize> = dims.iter().zip(&target).map(|(&extent, &target)| target / extent).collect();
    repeat(ctx, x, &dims, &times)
}

pub(super) fn repeat(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    dims: &[usize],
    times: &[usize],
) -> Result<(), Problem> {
    ctx.gives(&repeated(dims, times))?;
    let folded = fold(dims, |axis| (times[axis] > 1).then_some(axis), |axis| times[axis] == 1)?;
    let mut shape = folded.extents;
    for (axis, &slot) in folded.of.iter().enumerate() {
        shape[slot] *= times[axis];
    }
    let x = ctx.view(x, folded.extents.into())?;
    ctx.emit_as(Op::Tile, &[x], Act::None, shape.into())
}

/// Inserts an axis of one element.
fn expand_dims(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand_of_any_type(0)?;
    let mut dims = ctx.dims(x).to_vec();
    let at = axis(ctx.integer(1, "axis")?, dims.len() + 1)?;
    dims.insert(at, 1);
    ctx.gives(&dims)?;
    ctx.emit(Op::Reshape, &[x], Act::None)
}

/// The new shape is an operand or else an option. One extent may be -1.
fn reshape(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 2)?;
    let x = ctx.operand_of_any_type(0)?;
    let new_extents: Option<Vec<i64>> = if ctx.has(1) {
        Some(ctx.integers(1, "new extents")?)
    } else {
        let options = ctx.options::<ReshapeOptions<'static>>()?;
        options.new_shape().map(|shape| shape.into_iter().map(i64::from).collect())
    };
    if let Some(extents) = new_extents.as_ref().filter(|_| ctx.may_differ()) {
        let dims = resolved(extents, ctx.shape(x).len());
        ctx.gives(&dims.ok_or_else(|| {
            Problem::malformed(format!("{:?} and {extents:?} are not the same elements", ctx.dims(x)))
        })?)?;
    }
    let stated = ctx.dims(ctx.output()?);
    // Early converters wrote a scalar as a single 0.
    let new_extents = new_extents.filter(|a| !(a == &[0] && stated.is_empty()));
    // The extents stated for the result are used; these must only agree with them.
    if let Some(new_extents) = new_extents {
        let same = new_extents.len() == stated.len()
            && new_extents.iter().zip(stated).all(|(&a, &s)| a == -1 || usize::try_from(a) == Ok(s));
        if !same {
            let reason = format!("its result is stated as {stated:?}, its new extents are {new_extents:?}");
            return Err(Problem::malformed(reason));
        }
    }
    if ctx.shape(x).len() != ctx.shape(ctx.output()?).len() {
        return Err(Problem::malformed(format!("{:?} and {stated:?} are not the same elements", ctx.dims(x))));
    }
    ctx.emit(Op::Reshape, &[x], Act::None)
}

/// Returns new extents of which one may be -1, for the rest of the elements. `None` if they are other elements.
fn resolved(extents: &[i64], elements: usize) -> Option<Vec<usize>> {
    let known: Vec<usize> = extents.iter().filter_map(|&extent| usize::try_from(extent).ok()).collect();
    let product = known.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent)).filter(|&n| n > 0)?;
    let rest = elements.is_multiple_of(product).then_some(elements / product)?;
    let is_open = known.len() + 1 == extents.len() && extents.contains(&-1);
    let fits = is_open || known.len() == extents.len() && rest == 1;
    fits.then(|| extents.iter().map(|&extent| usize::try_from(extent).unwrap_or(rest)).collect())
}

fn squeeze(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let options = ctx.options::<SqueezeOptions<'static>>()?;
    let x = ctx.operand_of_any_type(0)?;
    let dims = ctx.dims(x);
    let named = options.squeeze_dims().unwrap_or_default();
    let named = named.into_iter().map(|index| axis(i64::from(index), dims.len())).collect::<Result<Vec<_>, _>>()?;
    ctx.gives(&squeezed(dims, (!named.is_empty()).then_some(named.as_slice()))?)?;
    ctx.emit(Op::Reshape, &[x], Act::None)
}

fn transpose(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let source = permutation(&ctx.integers(1, "permutation")?, dims.len())?;
    let result: Vec<usize> = source.iter().map(|&axis| dims[axis]).collect();
    ctx.gives(&result)?;
    // With more than four axes, those of extent one are dropped first, because they prevent merging.
    let (dims, source) = if dims.len() > 4 { without_ones(&dims, &source) } else { (dims, source) };
    // Distance that an axis moves. Neighbours that stay neighbours move by the same distance.
    let moved = |axis: usize| source.iter().position(|&s| s == axis).map(|to| to as i64 - axis as i64);
    let axes = fold(&dims, moved, |_| false)?;
    let mut perm = [0, 1, 2, 3];
    let mut order: Vec<usize> = source.iter().map(|&axis| axes.of[axis]).collect();
    order.dedup();
    // Leading axes that the tensor does not have are ones and stay in place.
    let front = 4 - order.len();
    perm[front..].copy_from_slice(&order);
    let x = ctx.view(x, axes.extents.into())?;
    ctx.emit_as(Op::Transpose(Transpose { perm }), &[x], Act::None, perm.map(|axis| axes.extents[axis]).into())
}

/// Removes the axes of extent one from extents and permutation.
fn without_ones(dims: &[usize], source: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let new_axis = |axis: usize| dims[..axis].iter().filter(|&&extent| extent != 1).count();
    let source = source.iter().filter(|&&axis| dims[axis] != 1).map(|&axis| new_axis(axis)).collect();
    (dims.iter().copied().filter(|&extent| extent != 1).collect(), source)
}

fn depth_to_space(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let block = positive("block", ctx.options::<DepthToSpaceOptions<'static>>()?.block_size())?;
    rearrange(ctx, Op::DepthToSpace(DepthToSpace { block: [block; 2], order: DepthOrder::Dcr }))
}

fn space_to_depth(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let block = positive("block", ctx.options::<SpaceToDepthOptions<'static>>()?.block_size())?;
    rearrange(ctx, Op::SpaceToDepth(SpaceToDepth { block: [block; 2] }))
}

fn rearrange(ctx: &mut OperatorLowering<'_, '_>, op: Op) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    ctx.image(x, "the input")?;
    ctx.image(ctx.output()?, "the result")?;
    ctx.emit(op, &[x], Act::None)
}

fn resize_bilinear(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let options = ctx.options::<ResizeBilinearOptions<'static>>()?;
    resize(ctx, true, options.align_corners(), options.half_pixel_centers())
}

fn resize_nearest(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let options = ctx.options::<ResizeNearestOptions<'static>>()?;
    resize(ctx, false, options.align_corners(), options.half_pixel_centers())
}

fn resize(
    ctx: &mut OperatorLowering<'_, '_>,
    linear: bool,
    align_corners: bool,
    half_pixel_centers: bool,
) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let coords = match (align_corners, half_pixel_centers) {
        (false, false) => CoordMode::Asymmetric,
        (false, true) => CoordMode::HalfPixel,
        (true, false) => CoordMode::AlignCorners,
        (true, true) => {
            return Err(Problem::malformed("it asks for aligned corners and half-pixel centres at once"));
        }
    };
    let mode = if linear { ResizeMode::Linear } else { ResizeMode::nearest_in(coords) };
    let x = ctx.operand(0)?;
    let image = ctx.image(x, "the input")?;
    let size = ctx.integers(1, "new extents")?;
    let extents: Vec<usize> = size.iter().map(|&e| usize::try_from(e).unwrap_or(0)).collect();
    let &[h, w] = extents.as_slice() else {
        return Err(Problem::malformed(format!("its new extents are {size:?}, must be two")));
    };
    ctx.gives(&[image.b, h, w, image.c])?;
    ctx.emit(Op::Resize(Resize { mode, coords, scale: None }), &[x], Act::None)
}

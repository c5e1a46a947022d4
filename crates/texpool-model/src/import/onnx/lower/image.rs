//! Lowers operators that move pixels of images: blocks, borders and resizes.

use super::{
    align::{isolate, placed_as},
    antialias::{self, Sized},
    conv::{answer_image, image},
};
use crate::import::{
    common::axes::named_axes,
    error::Problem,
    onnx::{
        array::{Array, strides, walk},
        layout::AtomLayout,
        layout_selection::resized,
        node_lowering::NodeLowering,
        op_registry::{
            InputLayout::{ChannelsSecond, LikeOperand},
            OnnxOpEntry,
        },
        value::{Computed, Value},
    },
    op_registry::All,
};
use texpool_ops::graph::{
    CoordMode, DepthOrder, DepthToSpace, ElementType, MAX_ELEMENTS, Op, Pad, PadMode, Resize, ResizeMode, Rounding,
    Shape, SpaceToDepth,
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("DepthToSpace", 1, All, "rearrange", ChannelsSecond, depth_to_space),
    OnnxOpEntry::new("SpaceToDepth", 1, All, "rearrange", ChannelsSecond, space_to_depth),
    OnnxOpEntry::new("Pad", 1, All, "rearrange", LikeOperand, pad).limits("borders and value must be known").fold(pad),
    OnnxOpEntry::new("Resize", 10, All, "resize, resample, dense", ChannelsSecond, resize).limits(AS_ONNX_RUNTIME),
    OnnxOpEntry::new("Upsample", 7, All, "resize, resample", ChannelsSecond, resize)
        .limits("scales must be known; as ONNX Runtime, as Resize is"),
];

const AS_ONNX_RUNTIME: &str = "sizes must be known; where the specification differs, as ONNX Runtime: extents and \
     positions are products of 32 bits, `align_corners` and `tf_crop_and_resize` go by whole pixels of the result, \
     8-bit integers are interpolated in its arithmetic for channels that lie last, an axis of scale 1 is not cropped, \
     nothing is done where no extent changes, operator set 10 rounds up where pixels become fewer";

fn depth_to_space(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let image = image(ctx, &x)?;
    let block = ctx.size("blocksize", 0)?;
    let order = match ctx.text("mode", "DCR")?.as_str() {
        "CRD" => DepthOrder::Crd,
        "DCR" => DepthOrder::Dcr,
        other => return Err(Problem::malformed(format!("its mode is `{other}`"))),
    };
    let area = block.checked_mul(block).filter(|&area| area > 0 && image.shape.c.is_multiple_of(area));
    let area = area.ok_or_else(|| Problem::malformed(format!("{} channels in blocks of {block}", image.shape.c)))?;
    let Shape { b, h, w, c } = image.shape;
    let shape = Shape::new(b, h.saturating_mul(block), w.saturating_mul(block), c / area);
    let tensor = ctx.emit(Op::DepthToSpace(DepthToSpace { block: [block; 2], order }), &[image.x.tensor], shape)?;
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}

fn space_to_depth(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let image = image(ctx, &x)?;
    let block = ctx.size("blocksize", 0)?;
    let Shape { b, h, w, c } = image.shape;
    if block == 0 || !h.is_multiple_of(block) || !w.is_multiple_of(block) {
        return Err(Problem::malformed(format!("blocks of {block} in an image of {h} by {w}")));
    }
    let shape = Shape::new(b, h / block, w / block, c.saturating_mul(block).saturating_mul(block));
    let tensor = ctx.emit(Op::SpaceToDepth(SpaceToDepth { block: [block; 2] }), &[image.x.tensor], shape)?;
    answer_image(ctx, tensor, &image, shape);
    Ok(())
}

/// Numbers of elements to add before and after an axis; negative numbers crop.
pub(super) struct Border {
    pub(super) axis: usize,
    pub(super) before: i64,
    pub(super) after: i64,
}

fn borders(ctx: &NodeLowering<'_>, dims: &[usize]) -> Result<Vec<Border>, Problem> {
    let pads = ctx.list("pads", 1)?.ok_or_else(|| Problem::malformed("it states no borders"))?;
    let named = match ctx.optional(3) {
        Some(_) => named_axes(&ctx.integers(3, "axes")?, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    if pads.len() != 2 * named.len() {
        return Err(Problem::malformed(format!(
            "it states {} borders, its {} axes have two each",
            pads.len(),
            named.len()
        )));
    }
    let (before, after) = pads.split_at(named.len());
    let mut all = Vec::new();
    for (i, &axis) in named.iter().enumerate() {
        let extent = (dims[axis] as i64).checked_add(before[i]).and_then(|n| n.checked_add(after[i]));
        if extent.is_none_or(|n| n < 0 || n > MAX_ELEMENTS as i64) {
            let (front, back, own) = (before[i], after[i], dims[axis]);
            return Err(match extent {
                Some(..0) => Problem::malformed(format!(
                    "borders of {front} and {back} cut off more than axis {axis} of {dims:?} has"
                )),
                _ => Problem::limit(format!(
                    "borders of {front} and {back} around an axis of {own}: an extent is at most {MAX_ELEMENTS}"
                )),
            });
        }
        if (before[i], after[i]) != (0, 0) {
            all.push(Border { axis, before: before[i], after: after[i] });
        }
    }
    Ok(all)
}

fn pad(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let value = match ctx.scalar(2, "value")? {
        Some(value) => value,
        None => ctx.float("value", 0.0)?,
    };
    let mode = match ctx.text("mode", "constant")?.as_str() {
        "constant" => PadMode::Constant(value),
        "reflect" => PadMode::Reflect,
        "edge" => PadMode::Edge,
        "wrap" => PadMode::Wrap,
        other => return Err(Problem::unsupported(format!("its mode is {other}"))),
    };
    let all = borders(ctx, x.dims())?;
    let result = with_borders(ctx, &x, &all, mode)?;
    ctx.give(0, result);
    Ok(())
}

/// Adds borders to axes, or crops them.
pub(super) fn with_borders(
    ctx: &mut NodeLowering<'_>,
    x: &Value,
    all: &[Border],
    mode: PadMode,
) -> Result<Value, Problem> {
    let dims = bordered(x.dims(), all);
    Ok(match x {
        Value::Known(array) => Value::Known(known_padded(ctx, array, all, mode)?),
        Value::Computed(x) if dims.contains(&0) => Value::Known(Array::nothing(dims, x.elem)),
        Value::Computed(x) => Value::Computed(padded(ctx, x, all, mode)?),
    })
}

/// Returns the extents with the borders.
fn bordered(dims: &[usize], all: &[Border]) -> Vec<usize> {
    let mut dims = dims.to_vec();
    for border in all {
        dims[border.axis] = (dims[border.axis] as i64 + border.before + border.after) as usize;
    }
    dims
}

fn padded(ctx: &mut NodeLowering<'_>, x: &Computed, all: &[Border], mode: PadMode) -> Result<Computed, Problem> {
    Problem::check_result(&bordered(&x.dims, all))?;
    let mut x = x.clone();
    // Handles three axes at a time, since no more can be isolated at once. The mode works on each axis separately, so
    // the order does not matter.
    for group in all.chunks(3) {
        let axes: Vec<usize> = group.iter().map(|border| border.axis).collect();
        let (y, slots) = isolate(ctx, &x, &axes)?;
        let (mut layout, mut dims) = (y.layout.clone(), y.dims.clone());
        let (mut before, mut after) = ([0isize; 4], [0isize; 4]);
        for (border, &slot) in group.iter().zip(&slots) {
            (before[slot], after[slot]) = (border.before as isize, border.after as isize);
            let extent = (dims[border.axis] as i64 + border.before + border.after) as usize;
            layout = resized(&layout, &dims, border.axis, slot, extent);
            dims[border.axis] = extent;
        }
        let tensor = ctx.emit(Op::Pad(Pad { before, after, mode }), &[y.tensor], layout.shape())?;
        x = Computed { tensor, dims, layout, elem: y.elem };
    }
    x.layout = x.layout.tidy(&x.dims);
    Ok(x)
}

fn known_padded(ctx: &mut NodeLowering<'_>, array: &Array, all: &[Border], mode: PadMode) -> Result<Array, Problem> {
    if mode != PadMode::Constant(0.0)
        && !array.is_empty()
        && matches!(mode, PadMode::Constant(_))
        && !array.element_type().is_float()
    {
        return Err(Problem::unsupported("it pads integers that are known with another value than 0"));
    }
    if array.is_empty() && !matches!(mode, PadMode::Constant(_)) {
        return Err(Problem::malformed("it repeats elements of which there are none"));
    }
    let dims = bordered(array.dims(), all);
    let mut front = vec![0i64; dims.len()];
    all.iter().for_each(|border| front[border.axis] = border.before);
    ctx.budget_for(&dims, 4 * size_of::<usize>(), dims.len())?;
    let (to, from) = (strides(&dims), strides(array.dims()));
    let own = array.dims().to_vec();
    let source = |flat: usize| -> Option<usize> {
        (0..own.len()).try_fold(0, |at, a| {
            let index = (flat / to[a] % dims[a]) as i64 - front[a];
            let extent = own[a] as i64;
            let index = match mode {
                _ if (0..extent).contains(&index) => index,
                PadMode::Constant(_) => return None,
                PadMode::Edge => index.clamp(0, extent - 1),
                PadMode::Wrap => index.rem_euclid(extent),
                PadMode::Reflect | PadMode::Symmetric => {
                    // An axis of one element would have period 0; it repeats that element.
                    let period = (2 * extent - 2).max(1);
                    let folded = index.rem_euclid(period);
                    if folded < extent { folded } else { period - folded }
                }
            };
            Some(at + index as usize * from[a])
        })
    };
    let sources = walk(&dims, &to).map(source).collect::<Vec<_>>();
    Ok(match array.to_i64() {
        Some(ints) => {
            Array::of_ints(dims, array.element_type(), sources.iter().map(|s| s.map_or(0, |at| ints[at])).collect())
        }
        None => {
            let PadMode::Constant(outside) = mode else {
                // Only constant padding has elements without a source, so nothing is dropped here.
                return array.gathered(dims, sources.into_iter().flatten(), ctx.meter());
            };
            let floats = array.to_f32();
            let values: Vec<f32> = sources.iter().map(|s| s.map_or(outside, |at| floats[at])).collect();
            Array::of_floats(dims, array.element_type(), &values)
        }
    })
}

/// Returns whether the operator set has no regions, sizes, coordinate modes or rounding modes.
pub(in crate::import::onnx) fn is_old(ctx: &NodeLowering<'_>) -> bool {
    ctx.node.op == "Upsample" || ctx.opset < 11
}

fn sizes(ctx: &NodeLowering<'_>, dims: &[usize]) -> Result<Vec<Sized>, Problem> {
    let old = is_old(ctx);
    let floats = |position: usize, role: &str| -> Result<Option<Vec<f32>>, Problem> {
        if ctx.optional(position).is_none() {
            return Ok(None);
        }
        let array = ctx.known(position, role)?;
        ctx.few(array.len(), role)?;
        Ok((!array.is_empty()).then(|| array.to_f32().into_owned()))
    };
    let named = match ctx.ints("axes") {
        Some(named) => named_axes(&named, dims.len())?,
        None => (0..dims.len()).collect::<Vec<_>>(),
    };
    let (roi, scales, sizes) = match old {
        true if ctx.has("scales") => (None, ctx.floats("scales"), None),
        true => (None, floats(1, "scales")?, None),
        false => {
            let sizes = if ctx.optional(3).is_some() { ctx.integers(3, "sizes")? } else { Vec::new() };
            (floats(1, "region")?, floats(2, "scales")?, (!sizes.is_empty()).then_some(sizes))
        }
    };
    let stated = |length: Option<usize>, expected: usize| length.is_none_or(|length| length == expected);
    let [given_scales, given_roi] = [&scales, &roi].map(|list| list.as_ref().map(Vec::len));
    let fits = stated(given_scales, named.len()) && stated(sizes.as_ref().map(Vec::len), named.len());
    if !fits || !stated(given_roi, 2 * named.len()) {
        return Err(Problem::malformed("its scales, sizes or region are not one an axis"));
    }
    let policy = ctx.text("keep_aspect_ratio_policy", "stretch")?;
    let ratio = |i: usize| sizes.as_ref().map_or(1.0, |sizes| sizes[i] as f32 / dims[named[i]] as f32);
    let ratios = (0..named.len()).map(ratio);
    let common_ratio = match policy.as_str() {
        "not_larger" => ratios.reduce(f32::min),
        "not_smaller" => ratios.reduce(f32::max),
        _ => None,
    };
    let mut all = Vec::new();
    for (i, &axis) in named.iter().enumerate() {
        // Multiplies in 32 bits like ONNX Runtime. For example, 10 pixels times 0.7 are 7, although 0.7 is slightly
        // less in 32 bits.
        let own = dims[axis] as f32;
        let (target, scale) = match (&scales, &sizes, common_ratio) {
            (Some(scales), None, _) => ((own * scales[i]).trunc() as i64, scales[i]),
            (None, Some(_), Some(common_ratio)) => ((own * common_ratio).round() as i64, common_ratio),
            (None, Some(sizes), None) => (sizes[i], ratio(i)),
            _ => return Err(Problem::malformed("it states neither scales nor sizes, or both")),
        };
        let Some(extent) = usize::try_from(target).ok().filter(|extent| (1..=MAX_ELEMENTS).contains(extent)) else {
            let reason = format!(
                "it resizes axis {axis} from {} to {target}: an extent is from 1 to {MAX_ELEMENTS}",
                dims[axis]
            );
            return Err(if target < 1 { Problem::empty(reason) } else { Problem::limit(reason) });
        };
        let crop = roi.as_ref().map_or([0.0, 1.0], |roi| [roi[i], roi[named.len() + i]]);
        all.push(Sized { axis, extent, scale, stated: scales.is_some() || common_ratio.is_some(), crop });
    }
    Ok(all)
}

/// Returns the axes that a node resizes, in the order in which it states them, with their scales.
pub(in crate::import::onnx) fn resized_axes(
    ctx: &NodeLowering<'_>,
    dims: &[usize],
) -> Result<Vec<(usize, f32)>, Problem> {
    Ok(sizes(ctx, dims)?.iter().map(|sized| (sized.axis, sized.scale)).collect())
}

/// Returns the interpolation mode of elements of a type along an axis with this scale.
fn mode(ctx: &NodeLowering<'_>, elem: ElementType, scale: f32) -> Result<ResizeMode, Problem> {
    let nearest = match is_old(ctx) {
        // Old operator sets have no such attribute. ONNX Runtime rounds up when shrinking.
        true if scale < 1.0 => "ceil".to_owned(),
        true => "floor".to_owned(),
        false => ctx.text("nearest_mode", "round_prefer_floor")?,
    };
    let is_byte = matches!(elem, ElementType::U8 | ElementType::I8);
    let is_cropped = ctx.text("coordinate_transformation_mode", "")? == "tf_crop_and_resize";
    Ok(match ctx.text("mode", "nearest")?.as_str() {
        "nearest" => ResizeMode::Nearest(match nearest.as_str() {
            "round_prefer_floor" => Rounding::PreferFloor,
            "round_prefer_ceil" => Rounding::PreferCeil,
            "floor" => Rounding::Floor,
            "ceil" => Rounding::Ceil,
            other => return Err(Problem::malformed(format!("its nearest_mode is {other}"))),
        }),
        "linear" | "bilinear" if is_byte && !is_cropped => ResizeMode::LinearInteger,
        "linear" | "bilinear" => ResizeMode::Linear,
        "cubic" => ResizeMode::Cubic {
            a: ctx.float("cubic_coeff_a", -0.75)?,
            exclude_outside: ctx.flag("exclude_outside", false)?,
        },
        other => return Err(Problem::malformed(format!("its mode is {other}"))),
    })
}

/// Resizes like ONNX Runtime, because exported models are usually tested with it. OPERATORS.md lists the differences
/// from the specification.
fn resize(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let coords = match is_old(ctx) {
        true => "asymmetric".to_owned(),
        false => ctx.text("coordinate_transformation_mode", "half_pixel")?,
    };
    let extrapolation = ctx.float("extrapolation_value", 0.0)?;
    let mut all = sizes(ctx, &x.dims)?;
    all.sort_by_key(|sized| sized.axis);
    // Checked before axes are dropped, so that an unknown mode is always refused.
    let filter = mode(ctx, x.elem, 1.0)?;
    // If no extent changes, all pixels are copied, whatever the scales say.
    if all.iter().all(|sized| sized.extent == x.dims[sized.axis]) {
        ctx.give(0, Value::Computed(x));
        return Ok(());
    }
    if ctx.flag("antialias", false)? && !matches!(filter, ResizeMode::Nearest(_)) {
        all.retain(|sized| sized.extent != x.dims[sized.axis]);
        return antialias::resized(ctx, &x, &all, filter, &coords);
    }
    all.retain(|sized| sized.scale != 1.0);
    // Resizes the last two axes together as height and width, and all other axes one by one.
    let rank = x.dims.len();
    let mut y = x;
    while let Some(last) = all.pop() {
        let wide = mode(ctx, y.elem, last.scale)?;
        let pair = all.last().copied().filter(|before| last.axis + 1 != rank || before.axis + 2 == rank);
        let pair = match pair {
            Some(before) if mode(ctx, y.elem, before.scale)? == wide => all.pop(),
            _ => None,
        };
        let height = match pair {
            Some(pair) => pair.axis,
            // A single axis takes the place of the width. The axis before it takes the place of the height and keeps
            // its extent.
            None if last.axis > 0 => last.axis - 1,
            None => rank,
        };
        let extent = y.dims.get(height).copied().unwrap_or(1);
        let tall = pair.unwrap_or(Sized { axis: height, extent, scale: 1.0, stated: false, crop: [0.0, 1.0] });
        let coords = match coords.as_str() {
            "asymmetric" => CoordMode::Asymmetric,
            "half_pixel" => CoordMode::HalfPixel,
            "pytorch_half_pixel" => CoordMode::PytorchHalfPixel,
            "align_corners" => CoordMode::AlignCorners,
            "half_pixel_symmetric" => CoordMode::HalfPixelSymmetric,
            "tf_crop_and_resize" => CoordMode::TfCropAndResize {
                start: [tall.crop[0], last.crop[0]],
                end: [tall.crop[1], last.crop[1]],
                extrapolation,
            },
            other => return Err(Problem::malformed(format!("its coordinates are {other}"))),
        };
        y = resized_by(ctx, &y, [tall, last], wide, coords)?;
    }
    y.layout = y.layout.tidy(&y.dims);
    ctx.give(0, Value::Computed(y));
    Ok(())
}

/// Resizes two axes as height and width. The first may be absent.
fn resized_by(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    [tall, wide]: [Sized; 2],
    mode: ResizeMode,
    coords: CoordMode,
) -> Result<Computed, Problem> {
    let rank = x.dims.len();
    let mut others: Vec<usize> = (0..rank).filter(|axis| *axis != tall.axis && *axis != wide.axis).collect();
    let channels = if others.len() > 1 { others.split_off(1) } else { Vec::new() };
    let height = if tall.axis < rank { vec![tall.axis] } else { Vec::new() };
    let axes = [others, height, vec![wide.axis], channels];
    let tensor = placed_as(ctx.lowering, &Value::Computed(x.clone()), &AtomLayout::of(&x.dims, &axes))?;
    let mut dims = x.dims.clone();
    for sized in [tall, wide].iter().filter(|sized| sized.axis < rank) {
        dims[sized.axis] = sized.extent;
    }
    let layout = AtomLayout::of(&dims, &axes);
    let from = |sized: Sized| x.dims.get(sized.axis).copied().unwrap_or(1);
    // Quotients of the extents that are powers of two are exact in 32 bits, so TensorFlow's nearest pixel is the same,
    // and its kernel needs no tables. Interpolation differs in the last bit.
    let exact = |sized: Sized| {
        let (less, more) = (from(sized).min(sized.extent), from(sized).max(sized.extent));
        more.is_multiple_of(less) && (more / less).is_power_of_two()
    };
    let plain = !tall.stated
        && !wide.stated
        && matches!(mode, ResizeMode::Nearest(_))
        && coords != CoordMode::AlignCorners
        && exact(tall)
        && exact(wide);
    let scale = (!plain).then_some([tall.scale, wide.scale]);
    let tensor = ctx.emit(Op::Resize(Resize { mode, coords, scale }), &[tensor], layout.shape())?;
    Ok(Computed { tensor, dims, layout, elem: x.elem })
}

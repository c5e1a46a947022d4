//! Lowers DeformConv, a convolution whose windows read at places beside their own. Samples for all taps of a window lie
//! below one another, and a dilated convolution reads them.

use super::{
    basic::two,
    conv::{fit, layer},
    grid_sample::sampled,
    shapes::{reshaped, transposed},
    slice::take,
    windows::{Along, Window, stated},
};
use crate::import::{
    common::axes::AxisRange,
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, GridSample};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("DeformConv", 19, Floats, "binary, conv, depthwise, grid_sample", ChannelsSecond, deform)
        .limits("two dimensions; weights and biases must be known")];

/// Windows over an image.
struct Windows {
    /// Down and across.
    along: [Along; 2],
    /// Extents of the image.
    image: [usize; 2],
    /// Number of windows down and across.
    count: [usize; 2],
}

impl Windows {
    fn of(ctx: &NodeLowering<'_>, image: [usize; 2], extent: [usize; 2]) -> Result<Self, Problem> {
        let &[down, across] = stated(ctx, &extent)?.as_slice() else {
            return Err(Problem::malformed("its windows have not two axes"));
        };
        let along = [down, across];
        let mut count = [0; 2];
        for axis in 0..2 {
            count[axis] = along[axis].positions(image[axis], along[axis].around(image[axis])?)?;
        }
        Ok(Self { along, image, count })
    }

    /// Number of taps of a window.
    fn taps(&self) -> usize {
        self.along[0].extent.saturating_mul(self.along[1].extent)
    }

    /// Returns the places of all taps without offsets, from -1 to 1: `[taps * rows, columns, 2]`, across and then down.
    fn places(&self, ctx: &mut NodeLowering<'_>) -> Result<Value, Problem> {
        let [rows, columns] = self.count;
        let dims = vec![self.taps().saturating_mul(rows), columns, 2];
        let count = ctx.budget_for(&dims, 4 * size_of::<f32>(), 4)?;
        let place = |at: usize| {
            let (axis, column, row) = (1 - at % 2, at / 2 % columns, at / 2 / columns);
            let (tap, window) = match axis {
                0 => (row / rows / self.along[1].extent, row % rows),
                _ => (row / rows % self.along[1].extent, column),
            };
            let along = &self.along[axis];
            let pixel = (window * along.stride + tap * along.dilation) as f64 - along.border[0] as f64;
            ((2.0 * pixel + 1.0) / self.image[axis] as f64 - 1.0) as f32
        };
        let values: Vec<f32> = (0..count).map(place).collect();
        Ok(Value::Known(Array::of_floats(dims, ElementType::F32, &values)))
    }

    /// Returns the places that `[groups, taps * 2 * rows, columns]` offsets lead to, `[groups, taps * rows, columns, 2]`.
    fn moved(&self, ctx: &mut NodeLowering<'_>, offsets: &Value, groups: usize) -> Result<Value, Problem> {
        let (taps, [rows, columns], elem) = (self.taps(), self.count, ElementType::F32);
        let parted = reshaped(ctx.lowering, offsets, &[groups, taps, 2, rows, columns])?;
        let turned = transposed(ctx.lowering, &parted, &[0, 1, 3, 4, 2])?;
        let turned = reshaped(ctx.lowering, &turned, &[groups, taps * rows, columns, 2])?;
        let across_first = take(ctx, &turned, &[(3, AxisRange { begin: 1, stride: -1, count: 2 })])?;
        let shares = [self.image[1], self.image[0]].map(|extent| 2.0 / extent as f32);
        let shares = Value::Known(Array::of_floats(vec![2], elem, &shares));
        let scaled = Value::Computed(two(ctx, Binary::Mul, &across_first, &shares, elem)?);
        let places = self.places(ctx)?;
        two(ctx, Binary::Add, &scaled, &places, elem).map(Value::Computed)
    }
}

/// Refuses an operand with other extents.
fn has(value: &Value, role: &str, dims: &[usize]) -> Result<(), Problem> {
    if value.dims() == dims {
        return Ok(());
    }
    Err(Problem::malformed(format!("its {role} are {:?}, not {dims:?}", value.dims())))
}

fn deform(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (x, weights) = (ctx.computed(0)?, ctx.known(1, "weights")?);
    let (&[batch, channels, height, width], &[_, _, tall, wide]) = (x.dims.as_slice(), weights.dims()) else {
        let reason = format!("weights of {:?} for an input of {:?}: only images are supported", weights.dims(), x.dims);
        return Err(Problem::unsupported(reason));
    };
    let (groups, parts) = (ctx.size("group", 1)?, ctx.size("offset_group", 1)?);
    fit(weights.dims(), groups, &x)?;
    if parts == 0 || !channels.is_multiple_of(parts) {
        return Err(Problem::malformed(format!("{channels} channels in {parts} groups of offsets")));
    }
    let windows = Windows::of(ctx, [height, width], [tall, wide])?;
    let (taps, [rows, columns]) = (windows.taps(), windows.count);
    let offsets = Value::Computed(ctx.computed(2)?);
    let channels_of_mask = parts.saturating_mul(taps);
    has(&offsets, "offsets", &[batch, channels_of_mask.saturating_mul(2), rows, columns])?;
    let grid = windows.moved(ctx, &offsets, batch * parts)?;
    let elem = x.elem;
    let parted = reshaped(ctx.lowering, &Value::Computed(x), &[batch * parts, channels / parts, height, width])?;
    let parted = ctx.compute(&parted)?;
    let bilinear = GridSample { linear: true, border: false, align_corners: false };
    let mut samples = Value::Computed(sampled(ctx, &parted, &grid, bilinear)?);
    if let Some(mask) = ctx.optional(4) {
        has(&mask, "masks", &[batch, channels_of_mask, rows, columns])?;
        let mask = reshaped(ctx.lowering, &mask, &[batch * parts, 1, taps * rows, columns])?;
        samples = Value::Computed(two(ctx, Binary::Mul, &samples, &mask, elem)?);
    }
    let samples = reshaped(ctx.lowering, &samples, &[batch, channels, taps * rows, columns])?;
    let samples = ctx.compute(&samples)?;
    let window = Window::of(&[Along { extent: taps, dilation: rows, ..Along::SINGLE }, Along::SINGLE])?;
    let result = layer(ctx, &samples, &weights, &window, groups, Some(3))?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

//! Lowers MaxUnpool, which puts the maxima of windows back to their places. Each place reads the window around it, and
//! compares its own index with that of the maximum.

use super::{
    basic::two,
    gather::picked,
    image::{Border, with_borders},
    windows::{Along, sizes, stated},
};
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, count, strides},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::ChannelsSecond, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, MAX_ELEMENTS, PadMode};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("MaxUnpool", 9, Floats, "binary, gather, rearrange", ChannelsSecond, max_unpool)
        .limits("windows that do not overlap")];

/// Largest integer up to which floats are exact.
const EXACT: usize = 1 << 24;

/// Windows along an axis that do not overlap.
struct Apart {
    along: Along,
    /// Number of windows.
    count: usize,
    /// Extent of the image before the pool.
    extent: usize,
}

impl Apart {
    fn of(along: Along, count: usize) -> Result<Self, Problem> {
        if along.extent > along.stride {
            let reason = format!("windows of {} at a distance of {}, which overlap", along.extent, along.stride);
            return Err(Problem::unsupported(reason));
        }
        let border = along.border[0] + along.border[1];
        let full = count.saturating_sub(1).checked_mul(along.stride).and_then(|n| n.checked_add(along.extent));
        let extent = full.and_then(|n| n.checked_sub(border)).filter(|n| (1..=MAX_ELEMENTS).contains(n));
        let extent = extent.ok_or_else(|| Problem::malformed(format!("{count} windows in a border of {border}")))?;
        Ok(Self { along, count, extent })
    }

    /// Returns the window that each place of the image reads.
    fn windows(&self, ctx: &mut NodeLowering<'_>) -> Result<Vec<usize>, Problem> {
        let places = ctx.budget_for(&[self.extent], 6 * size_of::<usize>(), 2)?;
        let window = |place: usize| ((place + self.along.border[0]) / self.along.stride).min(self.count - 1);
        Ok((0..places).map(window).collect())
    }
}

/// Reads the windows along each axis of an image.
fn axes(ctx: &NodeLowering<'_>, pooled: &[usize]) -> Result<Vec<Apart>, Problem> {
    let extent = sizes(ctx, "kernel_shape", pooled.len(), 1)?;
    stated(ctx, &extent)?.into_iter().zip(pooled).map(|(along, &count)| Apart::of(along, count)).collect()
}

/// Returns the borders that enlarge an image to the extents that the node states.
fn enlarged(ctx: &NodeLowering<'_>, dims: &[usize]) -> Result<Vec<Border>, Problem> {
    if ctx.optional(2).is_none() {
        return Ok(Vec::new());
    }
    let stated = ctx.integers(2, "output extents")?;
    let fits = |(&stated, &own): (&i64, &usize)| (own as i64..=MAX_ELEMENTS as i64).contains(&stated);
    if stated.len() != dims.len() || !stated.iter().zip(dims).all(fits) {
        return Err(Problem::malformed(format!("its output extents are {stated:?} for an image of {dims:?}")));
    }
    let more = stated.iter().zip(dims).map(|(&stated, &own)| stated - own as i64).enumerate();
    Ok(more.filter(|&(_, after)| after > 0).map(|(axis, after)| Border { axis, before: 0, after }).collect())
}

fn max_unpool(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [mut maxima, mut indices] = [Value::Computed(ctx.computed(0)?), Value::Computed(ctx.computed(1)?)];
    let dims = maxima.dims().to_vec();
    if dims.len() < 3 || indices.dims() != dims {
        return Err(Problem::malformed(format!("indices of {:?} for maxima of {dims:?}", indices.dims())));
    }
    let axes = axes(ctx, &dims[2..])?;
    let image: Vec<usize> = axes.iter().map(|axis| axis.extent).collect();
    let result = [&dims[..2], image.as_slice()].concat();
    Problem::check_result(&result)?;
    if count(&result)? > EXACT {
        return Err(Problem::unsupported("its indices, beyond 2^24"));
    }
    // Counts indices from the first pixel of their channel.
    let (by, elem) = (strides(&result), ElementType::I64);
    let begins = ctx.budget_for(&result[..2], 2 * size_of::<i64>(), 1)?;
    let begins = (0..begins).map(|channel| (channel * by[1]) as i64).collect();
    let begins = Array::of_ints([&result[..2], &vec![1; image.len()]].concat(), elem, begins);
    indices = Value::Computed(two(ctx, Binary::Sub, &indices, &Value::Known(begins), elem)?);
    for (number, axis) in axes.iter().enumerate() {
        let list = axis.windows(ctx)?;
        for value in [&mut maxima, &mut indices] {
            *value = picked(ctx, value, number + 2, &list)?;
        }
    }
    let pixels = ctx.budget_for(&image, 2 * size_of::<i64>(), 1)?;
    let own = Value::Known(Array::of_ints(image, elem, (0..pixels as i64).collect()));
    let hit = Value::Computed(two(ctx, Binary::Equal, &indices, &own, ElementType::Bool)?);
    let placed = two(ctx, Binary::ZeroUnless, &hit, &maxima, maxima.element_type())?;
    let more = enlarged(ctx, &result)?;
    let placed = with_borders(ctx, &Value::Computed(placed), &more, PadMode::Constant(0.0))?;
    ctx.give(0, placed);
    Ok(())
}

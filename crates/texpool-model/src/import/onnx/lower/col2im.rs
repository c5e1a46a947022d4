//! Lowers Col2Im, which adds up blocks where they overlap in an image. Each element of a block is summed into the pixel
//! that it lies at.

use super::{
    scatter::segments,
    shapes::reshaped,
    windows::{Along, stated},
};
use crate::import::{
    error::Problem,
    onnx::{
        array::{Array, ranked, strides},
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::Value,
    },
    op_registry::Floats,
};
use texpool_ops::graph::{ElementType, SegmentKind, Shape};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[OnnxOpEntry::new("Col2Im", 18, Floats, "segment_reduce", Any, col2im)
    .limits("extents of image and block must be known")];

/// Returns extents that an operand states.
fn extents(ctx: &NodeLowering<'_>, position: usize, role: &str) -> Result<Vec<usize>, Problem> {
    let stated = ctx.integers(position, role)?;
    let extents: Option<Vec<usize>> = stated.iter().map(|&n| usize::try_from(n).ok().filter(|&n| n > 0)).collect();
    extents.filter(|list| !list.is_empty()).ok_or_else(|| Problem::malformed(format!("its {role} are {stated:?}")))
}

/// Returns the product of extents, or the greatest number if it overflows.
fn saturated(extents: &[usize]) -> usize {
    extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
}

/// Returns the pixel of each element of the blocks, the elements of a block being slower than the blocks. Elements outside
/// the image have the number of pixels.
fn pixels(windows: &[Along], image: &[usize], blocks: &[usize]) -> Vec<i64> {
    let block: Vec<usize> = windows.iter().map(|along| along.extent).collect();
    let (of_block, of_blocks, of_image) = (strides(&block), strides(blocks), strides(image));
    let (taps, count, places) = (block.iter().product(), blocks.iter().product(), image.iter().product::<usize>());
    let pixel = |tap: usize, number: usize| {
        (0..image.len()).try_fold(0, |pixel, axis| {
            let along = windows[axis];
            let (own, at) = (tap / of_block[axis] % block[axis], number / of_blocks[axis] % blocks[axis]);
            let place = (at * along.stride + own * along.dilation).checked_sub(along.border[0])?;
            (place < image[axis]).then_some(pixel + place * of_image[axis])
        })
    };
    (0..taps)
        .flat_map(|tap| (0..count).map(move |number| (tap, number)))
        .map(|(tap, number)| pixel(tap, number).unwrap_or(places) as i64)
        .collect()
}

fn col2im(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let (image, block) = (extents(ctx, 1, "image extents")?, extents(ctx, 2, "block extents")?);
    if image.len() != block.len() {
        return Err(Problem::malformed(format!("blocks of {block:?} in an image of {image:?}")));
    }
    let windows = stated(ctx, &block)?;
    let mut blocks = Vec::with_capacity(image.len());
    for (along, &extent) in windows.iter().zip(&image) {
        blocks.push(along.positions(extent, along.border)?);
    }
    ranked(image.len() + 2)?;
    let (taps, expected) = (saturated(&block), saturated(&blocks));
    let &[batch, rows, count] = x.dims() else {
        return Err(Problem::malformed(format!("its blocks have the extents {:?}", x.dims())));
    };
    if !rows.is_multiple_of(taps) || count != expected {
        let dims = x.dims();
        return Err(Problem::malformed(format!("{dims:?} are no blocks of {block:?} for an image of {image:?}")));
    }
    let channels = rows / taps;
    Problem::check_result(&[&[batch, channels], image.as_slice()].concat())?;
    let elements = ctx.budget_for(&[taps, count], 2 * size_of::<i64>(), 4 * image.len())?;
    let numbers = Array::of_ints(vec![elements], ElementType::I64, pixels(&windows, &image, &blocks));
    let row = ctx.lowering.constant(&numbers, Shape::new(1, 1, 1, elements))?;
    let flat = Value::Computed(ctx.compute(&x)?);
    let flat = reshaped(ctx.lowering, &flat, &[batch, channels, elements])?;
    let summed = Value::Computed(segments(ctx, &flat, row, (2, image.iter().product()), SegmentKind::Sum)?);
    let result = reshaped(ctx.lowering, &summed, &[&[batch, channels], image.as_slice()].concat())?;
    ctx.give(0, result);
    Ok(())
}

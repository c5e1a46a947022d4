//! Lowers SPACE_TO_BATCH_ND, which turns every `block`-th pixel of an image into a separate image, and its inverse
//! BATCH_TO_SPACE_ND. Rows and columns are handled by separate transposes, so that four axes are sufficient.

use crate::import::{
    error::Problem,
    op_registry::{All, Support},
    tflite::{
        op_registry::{Described::Alone, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
    },
};
use texpool_ops::graph::{Act, Op, Pad, PadMode, Shape, StridedSlice, TensorId, Transpose};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("SPACE_TO_BATCH_ND", Alone(Support::new(All, "rearrange").limits(LIMITS)), to_batch),
    TfLiteOpEntry::new("BATCH_TO_SPACE_ND", Alone(Support::new(All, "rearrange").limits(LIMITS)), to_space),
];
const LIMITS: &str = "blocks and borders must be known; images, or lines of pixels";

/// An operand as an image, the extents of the block, and two numbers each for rows and columns: padding, or pixels to
/// crop.
struct Blocks {
    image: Shape,
    block: [usize; 2],
    around: [[usize; 2]; 2],
}

fn blocks(ctx: &mut OperatorLowering<'_, '_>, x: TensorId) -> Result<Blocks, Problem> {
    ctx.operands(3, 3)?;
    let numbers =
        |values: Vec<i64>| -> Option<Vec<usize>> { values.into_iter().map(|n| usize::try_from(n).ok()).collect() };
    let [block, around] = [ctx.integers(1, "block")?, ctx.integers(2, "border")?].map(numbers);
    let unknown = || Problem::unsupported("its operand is no image of rows and columns, or its numbers make no sense");
    let (block, around) = (block.ok_or_else(unknown)?, around.ok_or_else(unknown)?);
    let (image, block, around) = match (ctx.dims(x), block.as_slice(), around.as_chunks::<2>().0) {
        (&[b, h, w, c], &[rows, columns], &[y, x]) => (Shape::new(b, h, w, c), [rows, columns], [y, x]),
        (&[b, h, c], &[rows], &[y]) => (Shape::new(b, h, 1, c), [rows, 1], [y, [0, 0]]),
        _ => return Err(unknown()),
    };
    // Sums of three and products of two such numbers cannot overflow. Their results are checked below.
    let within = |&n: &usize| n <= texpool_ops::graph::MAX_ELEMENTS;
    if block.contains(&0) || !block.iter().chain(around.as_flattened()).all(within) {
        return Err(unknown());
    }
    Ok(Blocks { image, block, around })
}

/// Checks the extents of the result, given as an image. Images without columns are stated with three extents.
fn gives(ctx: &mut OperatorLowering<'_, '_>, x: TensorId, image: Shape) -> Result<(), Problem> {
    match ctx.dims(x).len() {
        3 => ctx.gives(&[image.b, image.h, image.c]),
        _ => ctx.gives(&image.dims()),
    }
}

fn to_batch(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let Blocks { image, block: [rows, columns], around: [y, across] } = blocks(ctx, x)?;
    let padded = Shape { h: image.h + y[0] + y[1], w: image.w + across[0] + across[1], ..image };
    if padded.checked_len().is_none_or(|elements| elements > texpool_ops::graph::MAX_ELEMENTS) {
        let most = texpool_ops::graph::MAX_ELEMENTS;
        let reason = format!("its image of {:?} is too large with its borders: at most {most} elements", ctx.dims(x));
        return Err(Problem::limit(reason));
    }
    if !padded.h.is_multiple_of(rows) || !padded.w.is_multiple_of(columns) {
        let Shape { h, w, .. } = padded;
        let reason = format!("an image of {h} by {w}, with its borders, is not made of blocks of {rows} by {columns}");
        return Err(Problem::malformed(reason));
    }
    let result = Shape::new(image.b * rows * columns, padded.h / rows, padded.w / columns, image.c);
    gives(ctx, x, result)?;
    let mut now = ctx.view(x, image)?;
    if padded != image {
        let amounts = |i: usize| [0, y[i] as isize, across[i] as isize, 0];
        let op = Op::Pad(Pad { before: amounts(0), after: amounts(1), mode: PadMode::Constant(0.0) });
        now = ctx.between(op, &[now], padded)?;
    }
    // Columns come first, so that rows end up outside them: images are numbered by row, then column, then batch.
    let perm = [2, 0, 1, 3];
    now = ctx.view(now, Shape::new(image.b * padded.h, result.w, columns, image.c))?;
    let outer = Shape::new(columns, image.b * padded.h, result.w, image.c);
    now = ctx.between(Op::Transpose(Transpose { perm }), &[now], outer)?;
    now = ctx.view(now, Shape::new(columns * image.b, result.h, rows, result.w * image.c))?;
    let transposed = Shape::new(rows, columns * image.b, result.h, result.w * image.c);
    ctx.emit_as(Op::Transpose(Transpose { perm }), &[now], Act::None, transposed)
}

fn to_space(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    let Blocks { image, block: [rows, columns], around: [y, across] } = blocks(ctx, x)?;
    if !image.b.is_multiple_of(rows * columns) {
        return Err(Problem::malformed(format!("{} images are not made of blocks of {rows} by {columns}", image.b)));
    }
    let batches = image.b / (rows * columns);
    let full = Shape::new(batches, image.h * rows, image.w * columns, image.c);
    let cropped = |extent: usize, [front, back]: [usize; 2]| extent.checked_sub(front)?.checked_sub(back);
    let (Some(h), Some(w)) = (cropped(full.h, y), cropped(full.w, across)) else {
        return Err(Problem::malformed(format!("it cuts off more than an image of {} by {} has", full.h, full.w)));
    };
    let result = Shape { h, w, ..full };
    gives(ctx, x, result)?;
    let perm = [1, 2, 0, 3];
    let mut now = ctx.view(x, Shape::new(rows, columns * batches, image.h, image.w * image.c))?;
    let inner = Shape::new(columns * batches, image.h, rows, image.w * image.c);
    now = ctx.between(Op::Transpose(Transpose { perm }), &[now], inner)?;
    now = ctx.view(now, Shape::new(columns, batches * full.h, image.w, image.c))?;
    let transposed = Shape::new(batches * full.h, image.w, columns, image.c);
    if result == full {
        return ctx.emit_as(Op::Transpose(Transpose { perm }), &[now], Act::None, transposed);
    }
    now = ctx.between(Op::Transpose(Transpose { perm }), &[now], transposed)?;
    now = ctx.view(now, full)?;
    let op = Op::StridedSlice(StridedSlice { begin: [0, y[0], across[0], 0], stride: [1; 4] });
    ctx.emit_as(op, &[now], Act::None, result)
}

//! Lowers operators that write values to places that follow from indices, with a mask of those places.

use crate::import::{
    common::axes::axis,
    error::Problem,
    op_registry::{All, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
        schema::OneHotOptions,
    },
};
use texpool_ops::graph::{Act, Binary, Op, Shape};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("ONE_HOT", LikeOnnx("OneHot"), one_hot),
    TfLiteOpEntry::new("MATRIX_DIAG", Alone(Support::new(All, "binary")), diagonal),
];

/// Compares indices with each place of a new axis.
fn one_hot(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(4, 4)?;
    let along = ctx.options::<OneHotOptions<'static>>()?.axis();
    let indices = ctx.operand(0)?;
    let depth = usize::try_from(ctx.integer(1, "depth")?).unwrap_or(0);
    if depth == 0 {
        return Err(Problem::empty("its depth is 0, or less, which leaves no elements"));
    }
    let [on, off] = [ctx.scalar(2, "value of the place")?, ctx.scalar(3, "value of other places")?];
    let own = ctx.dims(indices).to_vec();
    let along = axis(i64::from(along), own.len() + 1)?;
    let mut dims = own.clone();
    dims.insert(along, depth);
    ctx.gives(&dims)?;
    let [outer, inner] = [&own[..along], &own[along..]].map(|dims| dims.iter().product::<usize>());
    let [from, row, shape] = match inner {
        1 => [Shape::new(1, 1, outer, 1), Shape::new(1, 1, 1, depth), Shape::new(1, 1, outer, depth)],
        _ => [Shape::new(1, outer, 1, inner), Shape::new(1, 1, depth, 1), Shape::new(1, outer, depth, inner)],
    };
    let indices = ctx.view(indices, from)?;
    let places = ctx.meter().filled(depth, (0..depth).map(|place| place as f32))?;
    let places = ctx.new_constant(row, &places)?;
    let equal = Op::Binary(Binary::Equal);
    if [on, off] == [1.0, 0.0] {
        return ctx.emit_as(equal, &[indices, places], Act::None, shape);
    }
    let hot = ctx.between(equal, &[indices, places], shape)?;
    let one = Shape::new(1, 1, 1, 1);
    let step = ctx.new_constant(one, &[on - off])?;
    let scaled = ctx.between(Op::Binary(Binary::Mul), &[hot, step], shape)?;
    let off = ctx.new_constant(one, &[off])?;
    ctx.emit_as(Op::Binary(Binary::Add), &[scaled, off], Act::None, shape)
}

/// Makes a matrix of each line of values, with zeros beside its diagonal.
fn diagonal(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let Some((&extent, outer)) = dims.split_last() else {
        return Err(Problem::malformed("its operand has no axes"));
    };
    ctx.gives(&[&dims[..], &[extent]].concat())?;
    let rows: usize = outer.iter().product();
    let elements = extent.checked_mul(extent).filter(|&n| n <= texpool_ops::graph::MAX_ELEMENTS);
    let elements = elements.ok_or_else(|| Problem::limit(format!("matrices of {extent} rows are too large")))?;
    let mask = (0..elements).map(|i| f32::from(u8::from(i % (extent + 1) == 0)));
    let mask = ctx.meter().filled(elements, mask)?;
    let mask = ctx.new_constant(Shape::new(1, 1, extent, extent), &mask)?;
    let lines = ctx.view(x, Shape::new(1, rows, 1, extent))?;
    let op = Op::Binary(Binary::ZeroUnless);
    ctx.emit_as(op, &[mask, lines], Act::None, Shape::new(1, rows, extent, extent))
}

//! Lowers the custom operators of MediaPipe's networks that look at regions of a face again: a matrix that leads from
//! a picture of a region into the image, the picture itself, and landmarks that such a matrix brings into the image.
//!
//! They compute as `mediapipe/util/tflite/operations/` of MediaPipe does, on the CPU, in version 2. A runtime does not
//! say which version a node has, but those of version 1 have landmarks of four axes, or options of other names.

use super::{
    custom::CustomOptions,
    parts::{joined, part, stored},
};
use crate::import::{
    error::Problem,
    op_registry::{Floats, Support},
    tflite::{
        op_registry::{Described::Alone, TfLiteOpEntry},
        operator_lowering::OperatorLowering,
    },
};
use texpool_ops::graph::{
    Act, Binary, Concat, Gather, GridSample, MatMul, Op, Reduce, ReduceKind, Shape, TensorId, Unary,
};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("CUSTOM Landmarks2TransformMatrix", Alone(MATRIX), matrix),
    TfLiteOpEntry::new("CUSTOM TransformTensorBilinear", Alone(PICTURE), picture),
    TfLiteOpEntry::new("CUSTOM TransformLandmarks", Alone(LANDMARKS), landmarks),
];

const MATRIX: Support = Support::new(Floats, "binary, gather, matmul, rearrange, reduce, unary")
    .limits("version 2; one face; indices within its landmarks");
const PICTURE: Support = Support::new(Floats, "binary, grid_sample, matmul, rearrange, reduce, unary")
    .limits("version 2; one image; a place beyond the centres of the outermost pixels is 0");
const LANDMARKS: Support =
    Support::new(Floats, "binary, matmul, rearrange").limits("version 2; one face; landmarks of two or three values");

/// Whole numbers up to this are exact in floats, so that each is the index of one landmark.
const MAX_LANDMARKS: usize = 1 << f32::MANTISSA_DIGITS;

/// Shape of a matrix, from the places of a picture, `(x, y, 0, 1)`, to those of the image.
const MATRIX_SHAPE: Shape = Shape::new(1, 1, 4, 4);

/// Fails unless operands and result have 32-bit floats, as MediaPipe demands.
fn check_floats(ctx: &OperatorLowering<'_, '_>, operands: &[TensorId]) -> Result<(), Problem> {
    let result = ctx.output()?;
    match operands.iter().chain([&result]).all(|&id| ctx.is_float(id)) {
        true => Ok(()),
        false => Err(Problem::unsupported("its operands and its result are not all of 32-bit floats")),
    }
}

/// Returns the landmarks of the first operand as `[1, 1, count, values]`, their number, and the values of each.
fn face(ctx: &mut OperatorLowering<'_, '_>) -> Result<(TensorId, usize, usize), Problem> {
    let id = ctx.operand(0)?;
    match *ctx.dims(id) {
        [1, count @ 1..=MAX_LANDMARKS, values] => {
            Ok((stored(ctx, id, Shape::new(1, 1, count, values))?, count, values))
        }
        ref dims => Err(Problem::malformed(format!("{dims:?} are no landmarks of one face"))),
    }
}

/// Returns the upper two rows of a matrix, which compute a place of the image.
fn rows(ctx: &mut OperatorLowering<'_, '_>) -> Result<TensorId, Problem> {
    let id = ctx.operand(1)?;
    if ctx.shape(id) != MATRIX_SHAPE {
        return Err(Problem::malformed(format!("{:?} is no matrix of 4 by 4", ctx.dims(id))));
    }
    check_floats(ctx, &[id])?;
    let matrix = stored(ctx, id, MATRIX_SHAPE)?;
    part(ctx, matrix, [0; 4], Shape { w: 2, ..MATRIX_SHAPE })
}

/// Adds a product of matrices.
fn product(
    ctx: &mut OperatorLowering<'_, '_>,
    a: TensorId,
    b: TensorId,
    transpose_b: bool,
) -> Result<TensorId, Problem> {
    let shape = ctx.shape(a);
    ctx.between(Op::MatMul(MatMul { transpose_b }), &[a, b], shape)
}

/// Adds a function of two tensors.
fn binary(ctx: &mut OperatorLowering<'_, '_>, op: Binary, a: TensorId, b: TensorId) -> Result<TensorId, Problem> {
    let shape = ctx.shape(a);
    ctx.between(Op::Binary(op), &[a, b], shape)
}

fn line(ctx: &mut OperatorLowering<'_, '_>, values: &[f32]) -> Result<TensorId, Problem> {
    ctx.new_constant(Shape::new(1, 1, 1, values.len()), values)
}

/// Reduces one axis.
fn reduced(
    ctx: &mut OperatorLowering<'_, '_>,
    kind: ReduceKind,
    x: TensorId,
    axis: usize,
) -> Result<TensorId, Problem> {
    let op = Reduce { kind, axes: std::array::from_fn(|other| other == axis) };
    let shape = ctx.shape(x);
    ctx.between(Op::Reduce(op), &[x], shape)
}

/// Options of `Landmarks2TransformMatrix`.
struct Region {
    /// Indices of landmarks: those on the left and on the right of the region, and then all that it contains.
    indices: Vec<f32>,
    /// Angle of the line from left to right in the picture, in radians.
    target: f64,
    /// Extents of the picture along `x` and `y`: by how much they exceed those of the region, and pixels.
    scales: [f32; 2],
    extents: [usize; 2],
}

impl Region {
    fn new(ctx: &mut OperatorLowering<'_, '_>, landmarks: usize) -> Result<Self, Problem> {
        let options = CustomOptions::new(ctx.custom_options()?)?;
        let index = |name: &str, number: f64| match number {
            number if number.fract() == 0.0 && (0.0..landmarks as f64).contains(&number) => Ok(number as f32),
            number => Err(Problem::malformed(format!("its {name} is {number}, of {landmarks} landmarks"))),
        };
        let [left, right] = ["left_rotation_idx", "right_rotation_idx"].map(|name| index(name, options.number(name)?));
        let name = "subset_idxs";
        let subset = options.list(name)?;
        if subset.len() == 0 {
            return Err(Problem::malformed(format!("its {name} is empty")));
        }
        let mut indices = ctx.meter().list(subset.len().saturating_add(2))?;
        indices.extend([left?, right?]);
        for number in subset.numbers() {
            indices.push(index(name, number.unwrap_or(f64::NAN))?);
        }
        // MediaPipe reads an angle that is missing as zero.
        let target = options.optional("target_rotation_radians").unwrap_or_default();
        if !target.is_finite() {
            return Err(Problem::malformed(format!("its target_rotation_radians is {target}")));
        }
        let scale = |name: &str| match options.number(name)? as f32 {
            scale if scale > 0.0 && scale.is_finite() => Ok(scale),
            scale => Err(Problem::malformed(format!("its {name} is {scale}"))),
        };
        let scales = [scale("scale_x")?, scale("scale_y")?];
        Ok(Self { indices, target, scales, extents: picture_extents(&options)? })
    }
}

/// Returns the width and the height of a picture.
fn picture_extents(options: &CustomOptions<'_>) -> Result<[usize; 2], Problem> {
    Ok([options.count("output_width")?, options.count("output_height")?])
}

/// Computes the matrix of a region. Its picture is turned so that the line through two landmarks has a known angle, and
/// the bounding rectangle of the region is in the middle. The sine and the cosine come from the line, so no angle is
/// computed.
fn matrix(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let (face, count, values) = face(ctx)?;
    check_floats(ctx, &[face])?;
    if values != 3 {
        return Err(Problem::malformed(format!("its landmarks have {values} values, not 3")));
    }
    ctx.gives_if_stated(&[1, 4, 4])?;
    let Region { indices, target, scales, extents } = Region::new(ctx, count)?;
    let all = indices.len();
    let indices = ctx.new_constant(Shape::new(1, 1, 1, all), &indices)?;
    let points = ctx.between(Op::Gather(Gather { axis: 2 }), &[face, indices], Shape::new(1, 1, all, values))?;
    let [left, right] = [0, 1].map(|index| part(ctx, points, [0, 0, index, 0], Shape::new(1, 1, 1, 2)));
    let line_between = binary(ctx, Binary::Sub, right?, left?)?;
    let turn = turn(ctx, line_between, target)?;
    let points = part(ctx, points, [0, 0, 2, 0], Shape::new(1, 1, all - 2, 2))?;
    let turned = product(ctx, points, turn, false)?;
    let [most, least] = [ReduceKind::Max, ReduceKind::Min].map(|kind| reduced(ctx, kind, turned, 2));
    let (most, least) = (most?, least?);
    let (size, twice_middle) = (binary(ctx, Binary::Sub, most, least)?, binary(ctx, Binary::Add, most, least)?);
    let [x, y] = [0, 1].map(|axis| scales[axis] / extents[axis] as f32);
    let pixel = line(ctx, &[x, y])?;
    let pixel = binary(ctx, Binary::Mul, size, pixel)?;
    let axes = binary(ctx, Binary::Mul, turn, pixel)?;
    // The middle of the rectangle in the image, a row. It becomes the column behind the axes of the picture.
    let twice_middle = product(ctx, twice_middle, turn, true)?;
    let twice_middle = ctx.view(twice_middle, Shape::new(1, 1, 2, 1))?;
    let columns = joined(ctx, 3, &[axes, twice_middle])?;
    let [x, y] = extents.map(|extent| -(extent as f32) / 2.0);
    let place = ctx.new_constant(Shape::new(1, 1, 3, 4), &[1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 0.0, 0.5])?;
    let upper = product(ctx, columns, place, false)?;
    let lower = ctx.new_constant(Shape::new(1, 1, 2, 4), &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0])?;
    ctx.emit_as(Op::Concat(Concat { axis: 2 }), &[upper, lower], Act::None, MATRIX_SHAPE)
}

/// Returns the matrix that turns rows `(x, y)` such that a line gets an angle: `[cos, sin], [-sin, cos]` of the angle
/// between both. Its transpose turns back.
fn turn(ctx: &mut OperatorLowering<'_, '_>, line_between: TensorId, target: f64) -> Result<TensorId, Problem> {
    let length = reduced(ctx, ReduceKind::L2, line_between, 3)?;
    // Two landmarks at the same place have the angle 0, as `atan2` has it.
    let zero = line(ctx, &[0.0])?;
    let is_point = binary(ctx, Binary::Equal, length, zero)?;
    let along_x = line(ctx, &[1.0, 0.0])?;
    let along_x = ctx.between(Op::Binary(Binary::Mul), &[is_point, along_x], Shape::new(1, 1, 1, 2))?;
    let direction = binary(ctx, Binary::Add, line_between, along_x)?;
    let length = binary(ctx, Binary::Add, length, is_point)?;
    let direction = binary(ctx, Binary::Div, direction, length)?;
    let (sin, cos) = (target.sin() as f32, target.cos() as f32);
    let difference = ctx.new_constant(Shape::new(1, 1, 2, 4), &[cos, sin, -sin, cos, sin, -cos, cos, sin])?;
    let turn = product(ctx, direction, difference, false)?;
    ctx.view(turn, Shape::new(1, 1, 2, 2))
}

/// Samples an image at the places of a picture's pixels. Places beyond the centres of the outermost pixels give 0, even
/// if they are less than a pixel away, so they are masked instead of sampled with zeros around the image.
fn picture(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let id = ctx.operand(0)?;
    let image = ctx.image(id, "its image")?;
    if image.b != 1 {
        return Err(Problem::unsupported(format!("it has {} images, only one is supported", image.b)));
    }
    check_floats(ctx, &[id])?;
    let [width, height] = picture_extents(&CustomOptions::new(ctx.custom_options()?)?)?;
    ctx.gives_if_stated(&[1, height, width, image.c])?;
    let (x, rows) = (stored(ctx, id, image)?, rows(ctx)?);
    // Centres of pixels, which are whole numbers and a half in both systems.
    let centres = (0..height).flat_map(|y| (0..width).map(move |x| [x as f32 + 0.5, y as f32 + 0.5, 0.0, 1.0]));
    let elements = width.saturating_mul(height).saturating_mul(4);
    let centres = ctx.meter().filled(elements, centres.flatten())?;
    let centres = ctx.new_constant(Shape::new(1, height, width, 4), &centres)?;
    let places = product(ctx, centres, rows, true)?;
    // Distances from the middle of the image, in pixels.
    let middle = line(ctx, &[image.w as f32 / 2.0, image.h as f32 / 2.0])?;
    let places = binary(ctx, Binary::Sub, places, middle)?;
    let shape = ctx.shape(places);
    let distances = ctx.between(Op::Unary(Unary::Abs), &[places], shape)?;
    let last = line(ctx, &[image.w, image.h].map(|extent| (extent as f32 - 1.0) / 2.0))?;
    let inside = binary(ctx, Binary::LessEqual, distances, last)?;
    let inside = reduced(ctx, ReduceKind::Min, inside, 3)?;
    let unit = line(ctx, &[2.0 / image.w as f32, 2.0 / image.h as f32])?;
    let grid = binary(ctx, Binary::Mul, places, unit)?;
    let sample = GridSample { linear: true, border: true, align_corners: false };
    let shape = Shape { h: height, w: width, ..image };
    let sampled = ctx.between(Op::GridSample(sample), &[x, grid], shape)?;
    ctx.emit_as(Op::Binary(Binary::ZeroUnless), &[inside, sampled], Act::None, shape)
}

/// Brings landmarks from a picture into the image. A third value of each stays.
fn landmarks(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let (face, count, values) = face(ctx)?;
    check_floats(ctx, &[face])?;
    if !(2..=3).contains(&values) {
        return Err(Problem::malformed(format!("its landmarks have {values} values, not 2 or 3")));
    }
    ctx.gives_if_stated(&[1, count, values])?;
    let rows = rows(ctx)?;
    let axes = part(ctx, rows, [0; 4], Shape::new(1, 1, 2, 2))?;
    let shift = part(ctx, rows, [0, 0, 0, 3], Shape::new(1, 1, 2, 1))?;
    let shift = ctx.view(shift, Shape::new(1, 1, 1, 2))?;
    let shape = Shape::new(1, 1, count, 2);
    let points = part(ctx, face, [0; 4], shape)?;
    let points = product(ctx, points, axes, true)?;
    if values == 2 {
        return ctx.emit_as(Op::Binary(Binary::Add), &[points, shift], Act::None, shape);
    }
    let points = binary(ctx, Binary::Add, points, shift)?;
    let depths = part(ctx, face, [0, 0, 0, 2], Shape::new(1, 1, count, 1))?;
    let shape = Shape::new(1, 1, count, 3);
    ctx.emit_as(Op::Concat(Concat { axis: 3 }), &[points, depths], Act::None, shape)
}

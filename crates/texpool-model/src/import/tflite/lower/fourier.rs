//! Lowers RFFT2D, and the operators that read its complex result. The real and the imaginary part are products with
//! constant matrices of waves. Each is computed where it is first read, since many networks read only one.

use crate::import::{
    common::waves::Transform,
    error::Problem,
    op_registry::{Floats, Support},
    tflite::{
        op_registry::{
            Described::{Alone, LikeOnnx},
            TfLiteOpEntry,
        },
        operator_lowering::OperatorLowering,
        spectra::Spectrum,
    },
};
use texpool_ops::graph::{Act, Binary, Op, Shape, StridedSlice, TensorId, Transpose, Unary};

pub(super) const OPERATORS: &[TfLiteOpEntry] = &[
    TfLiteOpEntry::new("RFFT2D", LikeOnnx("DFT"), rfft2d),
    TfLiteOpEntry::new("REAL", Alone(PART), |c| part(c, REAL)),
    TfLiteOpEntry::new("IMAG", Alone(PART), |c| part(c, IMAGINARY)),
    TfLiteOpEntry::new(
        "COMPLEX_ABS",
        Alone(Support::new(Floats, "binary, dense, rearrange, unary").limits(LIMITS)),
        abs,
    ),
];

const PART: Support = Support::new(Floats, "dense, rearrange").limits(LIMITS);
const LIMITS: &str = "of the result of RFFT2D, which RESHAPE, SQUEEZE and EXPAND_DIMS may change";

/// Places of the parts of complex numbers.
const REAL: usize = 0;
const IMAGINARY: usize = 1;

/// Exchanges rows and columns.
const TURN: Op = Op::Transpose(Transpose { perm: [0, 1, 3, 2] });

/// The last two axes are transformed. Values beyond the numbers of points are left out, and missing ones are zero. The
/// transform along the last axis is one-sided.
fn rfft2d(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(2, 2)?;
    let x = ctx.operand(0)?;
    let dims = ctx.dims(x).to_vec();
    let &[ref outer @ .., rows, columns] = &dims[..] else {
        return Err(Problem::malformed(format!("it transforms two axes of {dims:?}")));
    };
    if !ctx.is_float(x) {
        return Err(Problem::malformed("it transforms other values than FLOAT32"));
    }
    let stated = ctx.integers(1, "numbers of points")?;
    let points: Vec<usize> = stated.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
    let points = match points[..] {
        [rows, columns] if rows > 0 && columns > 0 => [rows, columns],
        _ => return Err(Problem::malformed(format!("its numbers of points are {stated:?}, must be two above 0"))),
    };
    let result = [outer, &[points[0], Transform::new(points[1], true, false).bins]].concat();
    Problem::check_result(&result)?;
    let stack: usize = outer.iter().product();
    let images = ctx.view(x, Shape::new(1, stack, rows, columns))?;
    let read = Shape::new(1, stack, rows.min(points[0]), columns.min(points[1]));
    let images = match read == ctx.shape(images) {
        true => images,
        false => ctx.between(Op::StridedSlice(StridedSlice { begin: [0; 4], stride: [1; 4] }), &[images], read)?,
    };
    // Layers are computed by blocks of pixels along W.
    let images = if points[0] == 1 { ctx.view(images, Shape { h: 1, w: stack, ..read })? } else { images };
    ctx.give_spectrum(&result, Spectrum { images, points, parts: [None; 2] })
}

/// Lets the result be the real part of a complex operand.
pub(super) fn real(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    part(ctx, REAL)
}

fn part(ctx: &mut OperatorLowering<'_, '_>, part: usize) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let (complex, spectrum) = ctx.spectrum(0)?;
    ctx.gives_like(complex)?;
    let part = computed(ctx, complex, spectrum, part)?;
    ctx.emit(Op::Reshape, &[part], Act::None)
}

fn abs(ctx: &mut OperatorLowering<'_, '_>) -> Result<(), Problem> {
    ctx.operands(1, 1)?;
    let (complex, spectrum) = ctx.spectrum(0)?;
    ctx.gives_like(complex)?;
    let mut squares = [complex; 2];
    for (part, square) in squares.iter_mut().enumerate() {
        let part = computed(ctx, complex, spectrum, part)?;
        let shape = ctx.shape(part);
        *square = ctx.between(Op::Unary(Unary::Square), &[part], shape)?;
    }
    let shape = ctx.shape(squares[0]);
    let sum = ctx.between(Op::Binary(Binary::Add), &squares, shape)?;
    ctx.emit_as(Op::Unary(Unary::Sqrt), &[sum], Act::None, shape)
}

/// Returns a part of a spectrum: images stacked as those that are transformed, with columns on C.
fn computed(
    ctx: &mut OperatorLowering<'_, '_>,
    complex: TensorId,
    spectrum: Spectrum,
    part: usize,
) -> Result<TensorId, Problem> {
    let Spectrum { images, points: [rows, columns], parts } = spectrum;
    if let Some(part) = parts[part] {
        return Ok(part);
    }
    let shape = ctx.shape(images);
    let along_rows = Transform::new(columns, true, false);
    let bins = along_rows.bins;
    let computed = if rows == 1 {
        product(ctx, images, bins, |to, from| along_rows.factors(from, to)[REAL][part])?
    } else {
        // A bin of a row is followed by its imaginary part. Each column of these is then a row.
        let both = product(ctx, images, 2 * bins, |to, from| along_rows.factors(from, to / 2)[REAL][to % 2])?;
        let turned = ctx.between(TURN, &[both], Shape { w: 2 * bins, c: shape.w, ..shape })?;
        let turned = ctx.view(turned, Shape { w: bins, c: 2 * shape.w, ..shape })?;
        let along_columns = Transform::new(rows, false, false);
        let of_columns = |to: usize, from: usize| along_columns.factors(from % shape.w, to)[from / shape.w][part];
        let result = product(ctx, turned, rows, of_columns)?;
        ctx.between(TURN, &[result], Shape { w: rows, c: bins, ..shape })?
    };
    // The part of a constant may be folded, which removes the nodes that give `computed`.
    if !ctx.is_constant(images) {
        ctx.keep_part(complex, part, computed);
    }
    Ok(computed)
}

/// Multiplies each row of values by a matrix of waves, given by the factor of a value in a result.
fn product(
    ctx: &mut OperatorLowering<'_, '_>,
    x: TensorId,
    results: usize,
    factor: impl Fn(usize, usize) -> f64,
) -> Result<TensorId, Problem> {
    let shape = ctx.shape(x);
    let count = results.saturating_mul(shape.c);
    ctx.meter().work(count.saturating_mul(16))?;
    let before = ctx.meter().used_bytes();
    let factors = (0..results).flat_map(|to| (0..shape.c).map(move |from| (to, from)));
    let matrix = ctx.meter().filled(count, factors.map(|(to, from)| factor(to, from) as f32))?;
    let weights = ctx.new_constant(Shape::new(1, 1, results, shape.c), &matrix)?;
    ctx.meter().keep(before, 2 * size_of_val(&*matrix));
    ctx.between(Op::FullyConnected, &[x, weights], Shape { c: results, ..shape })
}

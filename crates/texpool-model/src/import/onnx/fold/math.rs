//! Evaluates functions of known values element by element. Floats use the same functions as everywhere else
//! (`graph/function.rs`), integers are computed exactly.

use crate::import::{
    common::extents,
    error::Problem,
    meter::Meter,
    onnx::{
        array::{Array, count},
        node_lowering::NodeLowering,
        value::Value,
    },
};
use texpool_ops::graph::{Binary, ElementType, Unary};

/// Creates a scalar float.
pub(in crate::import::onnx) fn scalar(value: f32) -> Value {
    Value::Known(Array::of_floats(Vec::new(), ElementType::F32, &[value]))
}

/// Creates an array of truth values that are all true.
pub(in crate::import::onnx) fn ones(ctx: &mut NodeLowering<'_>, dims: &[usize]) -> Result<Value, Problem> {
    let elements = count(dims)?;
    let ones = ctx.meter().filled(elements, std::iter::repeat(1))?;
    Ok(Value::Known(Array::of_ints(dims.to_vec(), ElementType::Bool, ones)))
}

fn answer(ctx: &mut NodeLowering<'_>, array: Array) -> Result<(), Problem> {
    ctx.give(0, Value::Known(array));
    Ok(())
}

/// Evaluates a function of one array.
pub(in crate::import::onnx) fn unary(ctx: &mut NodeLowering<'_>, unary: Unary) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    let dims = x.dims().to_vec();
    ctx.budget_for(&dims, 2 * size_of::<i64>(), 4)?;
    let result = match x.to_i64() {
        Some(ints) => {
            let values = ints.iter().map(|&v| unary_of_integer(unary, v)).collect::<Option<Vec<i64>>>();
            let values = values.ok_or_else(|| Problem::malformed("it is not for integers"))?;
            Array::of_ints(dims, x.element_type(), values)
        }
        None => {
            let values: Vec<f32> = x.to_f32().iter().map(|&v| unary.of(v)).collect();
            Array::of_floats(dims, x.element_type(), &values)
        }
    };
    answer(ctx, result)
}

fn unary_of_integer(unary: Unary, v: i64) -> Option<i64> {
    Some(match unary {
        Unary::Relu => v.max(0),
        Unary::Abs => v.wrapping_abs(),
        Unary::Neg => v.wrapping_neg(),
        Unary::Sign => v.signum(),
        Unary::Floor | Unary::Ceil | Unary::Round => v,
        Unary::Not => i64::from(v == 0),
        _ => return None,
    })
}

/// Returns the bounds of a CLIP, from attributes or operands.
pub(in crate::import::onnx) fn bounds(ctx: &NodeLowering<'_>) -> Result<(f32, f32), Problem> {
    if ctx.opset < 11 {
        return Ok((ctx.float("min", f32::MIN)?, ctx.float("max", f32::MAX)?));
    }
    let (min, max) = (ctx.scalar(1, "lower bound")?, ctx.scalar(2, "upper bound")?);
    Ok((min.unwrap_or(f32::MIN), max.unwrap_or(f32::MAX)))
}

pub(in crate::import::onnx) fn clip(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    let Some(ints) = x.to_i64() else {
        let (min, max) = bounds(ctx)?;
        return unary(ctx, Unary::Clip { min, max });
    };
    ctx.budget_for(x.dims(), 2 * size_of::<i64>(), 4)?;
    let (min, max) = integer_bounds(ctx)?;
    let values = ints.iter().map(|&v| v.max(min).min(max)).collect();
    answer(ctx, Array::of_ints(x.dims().to_vec(), x.element_type(), values))
}

/// Returns the bounds of a CLIP of integers. Converting them to floats would merge neighbouring integers above 2^24.
fn integer_bounds(ctx: &NodeLowering<'_>) -> Result<(i64, i64), Problem> {
    // The casts saturate, so a missing bound, which is the largest float, does not limit integers.
    let (min, max) = bounds(ctx)?;
    let exact = |position: usize| match ctx.optional(position) {
        Some(Value::Known(bound)) if ctx.opset >= 11 => bound.to_i64().and_then(|bound| bound.first().copied()),
        _ => None,
    };
    Ok((exact(1).unwrap_or(min as i64), exact(2).unwrap_or(max as i64)))
}

/// Returns the type that a CAST converts to.
pub(in crate::import::onnx) fn cast_type(ctx: &mut NodeLowering<'_>) -> Result<ElementType, Problem> {
    let stated = ctx.stated_type("to");
    let stated =
        stated.map_err(|problem| Problem { reason: format!("what it casts to: {}", problem.reason), ..problem })?;
    stated.ok_or_else(|| Problem::malformed("it names no type"))
}

pub(in crate::import::onnx) fn cast(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let to = cast_type(ctx)?;
    cast_to(ctx, to)
}

pub(in crate::import::onnx) fn cast_like(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let to = ctx.operand(1)?.type_of_results()?;
    cast_to(ctx, to)
}

fn cast_to(ctx: &mut NodeLowering<'_>, to: ElementType) -> Result<(), Problem> {
    let x = ctx.known(0, "input")?;
    if to == ElementType::F32
        && let Some(reals) = x.as_reals(ctx.meter())?
    {
        return answer(ctx, reals);
    }
    let dims = x.dims().to_vec();
    ctx.budget_for(&dims, 2 * size_of::<i64>(), 1)?;
    let result = match (x.to_i64().filter(|_| !to.is_float()), to) {
        (_, ElementType::F32 | ElementType::F16) => Array::of_floats(dims, to, &x.to_f32()),
        (Some(ints), to) => Array::of_ints(dims, to, ints.to_vec()),
        (None, ElementType::Bool) => {
            Array::of_ints(dims, to, x.to_f32().iter().map(|&v| i64::from(v != 0.0)).collect())
        }
        (None, to) => Array::of_ints(dims, to, x.to_f32().iter().map(|&v| v as i64).collect()),
    };
    answer(ctx, result)
}

/// Evaluates a function of two arrays.
pub(in crate::import::onnx) fn two(a: &Array, b: &Array, binary: Binary, meter: &mut Meter) -> Result<Array, Problem> {
    let dims = extents::broadcast(&[a.dims(), b.dims()])?;
    for (a, b) in [(a, b), (b, a)] {
        if binary == Binary::Mul
            && a.dims() == dims
            && let Some(scaled) = a.scaled_by(b, meter)?
        {
            return Ok(scaled);
        }
    }
    // For the values, and the bytes they become. A power takes longest.
    let elements = count(&dims)?;
    meter.memory(elements.saturating_mul(2 * size_of::<i64>()))?;
    meter.work(elements.saturating_mul(8))?;
    let (a, b) = (a.broadcast(&dims, meter)?, b.broadcast(&dims, meter)?);
    let truth = binary.is_truth();
    let elem = if truth { ElementType::Bool } else { a.element_type() };
    // Integers are not converted: as floats, neighbouring integers above 2^24 would become equal.
    if let (Some(x), Some(y)) = (a.to_i64(), b.to_i64()) {
        let values = x.iter().zip(y).map(|(&x, &y)| binary_of_integers(binary, x, y)).collect::<Option<Vec<i64>>>();
        let values = values.ok_or_else(|| Problem::malformed("it divides integers by zero, or is not for integers"))?;
        return Ok(Array::of_ints(dims, elem, values));
    }
    let values: Vec<f32> = a.to_f32().iter().zip(b.to_f32().iter()).map(|(&x, &y)| binary.of(x, y)).collect();
    Ok(match truth {
        true => Array::of_ints(dims, elem, values.iter().map(|&v| i64::from(v != 0.0)).collect()),
        false if elem.is_float() => Array::of_floats(dims, elem, &values),
        // An integer raised to a float power.
        false => Array::of_ints(dims, elem, values.iter().map(|&v| v as i64).collect()),
    })
}

fn binary_of_integers(binary: Binary, a: i64, b: i64) -> Option<i64> {
    let floor = |a: i64, b: i64| a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r });
    Some(match binary {
        // Wrapped to 64 bits here, and then to the result's type (`Array::of_ints`). That is equivalent to wrapping
        // to the result's type at once.
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div => a.checked_div(b)?,
        Binary::Mod => floor(a, b)?,
        Binary::Fmod => a.checked_rem(b)?,
        Binary::Pow => a.wrapping_pow(u32::try_from(b).ok()?),
        Binary::Maximum => a.max(b),
        Binary::Minimum => a.min(b),
        Binary::Equal => i64::from(a == b),
        Binary::Less => i64::from(a < b),
        Binary::LessEqual => i64::from(a <= b),
        Binary::Greater => i64::from(a > b),
        Binary::GreaterEqual => i64::from(a >= b),
        Binary::And => i64::from(a != 0 && b != 0),
        Binary::Or => i64::from(a != 0 || b != 0),
        Binary::Xor => i64::from((a != 0) != (b != 0)),
        _ => return None,
    })
}

pub(in crate::import::onnx) fn binary(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    let [a, b] = [ctx.known(0, "first operand")?, ctx.known(1, "second operand")?];
    let result = two(&a, &b, binary, ctx.meter())?;
    answer(ctx, result)
}

pub(in crate::import::onnx) fn modulo(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let fmod = ctx.flag("fmod", false)?;
    binary(ctx, if fmod { Binary::Fmod } else { Binary::Mod })
}

pub(in crate::import::onnx) fn many(ctx: &mut NodeLowering<'_>, binary: Binary) -> Result<(), Problem> {
    let mut result = ctx.known(0, "first operand")?;
    for position in 1..ctx.count() {
        let next = ctx.known(position, "operand")?;
        result = two(&result, &next, binary, ctx.meter())?;
    }
    answer(ctx, result)
}

pub(in crate::import::onnx) fn select(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let [condition, x, y] = [ctx.known(0, "condition")?, ctx.known(1, "input")?, ctx.known(2, "input")?];
    let dims = extents::broadcast(&[condition.dims(), x.dims(), y.dims()])?;
    ctx.budget_for(&dims, 2 * size_of::<i64>(), 4)?;
    let meter = ctx.meter();
    let condition = condition.broadcast(&dims, meter)?;
    let [x, y] = [x.broadcast(&dims, meter)?, y.broadcast(&dims, meter)?];
    let mask = condition.to_f32();
    let result = match (x.to_i64(), y.to_i64()) {
        (Some(a), Some(b)) => {
            let values = mask.iter().zip(a.iter().zip(b)).map(|(&m, (&a, &b))| if m != 0.0 { a } else { b });
            Array::of_ints(dims, x.element_type(), values.collect())
        }
        _ => {
            let (a, b) = (x.to_f32(), y.to_f32());
            let values = mask.iter().zip(a.iter().zip(b.iter())).map(|(&m, (&a, &b))| if m != 0.0 { a } else { b });
            Array::of_floats(dims, x.element_type(), &values.collect::<Vec<_>>())
        }
    };
    answer(ctx, result)
}

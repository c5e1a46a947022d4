//! Operators on two or more values, element by element.

use super::align::align;
use crate::{
    graph::{Binary, Op, Shape, Unary},
    import::{
        error::Problem,
        facts::{All, Fact, Floats, Numbers, Truths},
        lower as tflite,
        onnx::{
            array::Elem,
            call::Call,
            fold::math,
            value::{Computed, Value},
        },
    },
};

pub(super) const FACTS: &[Fact] = &[
    Fact::new("Add", 1, Numbers, "binary", |c| arithmetic(c, Binary::Add))
        .tflite("ADD", tflite::add)
        .fold(|c| math::binary(c, Binary::Add)),
    Fact::new("Sub", 1, Numbers, "binary", |c| arithmetic(c, Binary::Sub))
        .tflite("SUB", tflite::sub)
        .fold(|c| math::binary(c, Binary::Sub)),
    Fact::new("Mul", 1, Numbers, "binary", |c| arithmetic(c, Binary::Mul))
        .tflite("MUL", tflite::mul)
        .fold(|c| math::binary(c, Binary::Mul)),
    Fact::new("Div", 1, Numbers, "binary", div).tflite("DIV", tflite::div).fold(|c| math::binary(c, Binary::Div)),
    Fact::new("Pow", 1, Numbers, "binary", |c| arithmetic(c, Binary::Pow))
        .tflite("POW", |c| tflite::binary(c, Binary::Pow, 0))
        .fold(|c| math::binary(c, Binary::Pow)),
    Fact::new("Mod", 10, Numbers, "binary", modulo)
        .tflite("FLOOR_MOD", |c| tflite::binary(c, Binary::Mod, 0))
        .fold(math::modulo),
    Fact::new("Max", 1, Numbers, "binary", |c| many(c, Binary::Maximum))
        .tflite("MAXIMUM", |c| tflite::binary(c, Binary::Maximum, 0))
        .fold(|c| math::many(c, Binary::Maximum)),
    Fact::new("Min", 1, Numbers, "binary", |c| many(c, Binary::Minimum))
        .tflite("MINIMUM", |c| tflite::binary(c, Binary::Minimum, 0))
        .fold(|c| math::many(c, Binary::Minimum)),
    Fact::new("Sum", 1, Floats, "binary", |c| many(c, Binary::Add))
        .tflite("ADD_N", tflite::add_n)
        .fold(|c| math::many(c, Binary::Add)),
    Fact::new("Mean", 1, Floats, "binary", mean),
    Fact::new("Equal", 1, All, "binary", |c| truth(c, Binary::Equal))
        .tflite("EQUAL", |c| tflite::binary(c, Binary::Equal, 0))
        .fold(|c| math::binary(c, Binary::Equal)),
    Fact::new("Less", 1, Numbers, "binary", |c| truth(c, Binary::Less))
        .tflite("LESS", |c| tflite::binary(c, Binary::Less, 0))
        .fold(|c| math::binary(c, Binary::Less)),
    Fact::new("LessOrEqual", 12, Numbers, "binary", |c| truth(c, Binary::LessEqual))
        .tflite("LESS_EQUAL", |c| tflite::binary(c, Binary::LessEqual, 0))
        .fold(|c| math::binary(c, Binary::LessEqual)),
    Fact::new("Greater", 1, Numbers, "binary", |c| truth(c, Binary::Greater))
        .tflite("GREATER", |c| tflite::binary(c, Binary::Greater, 0))
        .fold(|c| math::binary(c, Binary::Greater)),
    Fact::new("GreaterOrEqual", 12, Numbers, "binary", |c| truth(c, Binary::GreaterEqual))
        .tflite("GREATER_EQUAL", |c| tflite::binary(c, Binary::GreaterEqual, 0))
        .fold(|c| math::binary(c, Binary::GreaterEqual)),
    Fact::new("And", 1, Truths, "binary", |c| truth(c, Binary::And))
        .tflite("LOGICAL_AND", |c| tflite::binary(c, Binary::And, 0))
        .fold(|c| math::binary(c, Binary::And)),
    Fact::new("Or", 1, Truths, "binary", |c| truth(c, Binary::Or))
        .tflite("LOGICAL_OR", |c| tflite::binary(c, Binary::Or, 0))
        .fold(|c| math::binary(c, Binary::Or)),
    Fact::new("Xor", 1, Truths, "binary", |c| truth(c, Binary::Xor)).fold(|c| math::binary(c, Binary::Xor)),
    Fact::new("Where", 9, All, "binary", select)
        .tflite("SELECT", |c| tflite::select(c, true))
        .tflite("SELECT_V2", |c| tflite::select(c, false))
        .fold(math::select),
    Fact::new("PRelu", 1, Numbers, "binary", prelu).tflite("PRELU", tflite::prelu),
];

/// A function of two values.
pub(super) fn two(call: &mut Call<'_>, binary: Binary, a: &Value, b: &Value, elem: Elem) -> Result<Computed, Problem> {
    let aligned = align(call.site, &[a.clone(), b.clone()])?;
    let tensor = call.emit(Op::Binary(binary), &aligned.tensors, aligned.layout.shape())?;
    Ok(Computed { tensor, layout: aligned.layout.tidy(&aligned.dims), dims: aligned.dims, elem })
}

fn pair(call: &mut Call<'_>, binary: Binary, elem: Elem) -> Result<(), Problem> {
    let (a, b) = (call.operand(0)?, call.operand(1)?);
    let result = two(call, binary, &a, &b, elem)?;
    call.give(0, Value::Computed(result));
    Ok(())
}

fn arithmetic(call: &mut Call<'_>, binary: Binary) -> Result<(), Problem> {
    let elem = call.operand(0)?.elem();
    pair(call, binary, elem)
}

fn truth(call: &mut Call<'_>, binary: Binary) -> Result<(), Problem> {
    pair(call, binary, Elem::Bool)
}

/// Integers divide towards zero.
fn div(call: &mut Call<'_>) -> Result<(), Problem> {
    let float = call.operand(0)?.elem().is_float();
    arithmetic(call, if float { Binary::Div } else { Binary::TruncDiv })
}

fn modulo(call: &mut Call<'_>) -> Result<(), Problem> {
    let fmod = call.flag("fmod", false)?;
    arithmetic(call, if fmod { Binary::Fmod } else { Binary::Mod })
}

fn folded(call: &mut Call<'_>, binary: Binary) -> Result<Value, Problem> {
    let mut result = call.operand(0)?;
    for position in 1..call.count() {
        let next = call.operand(position)?;
        let elem = result.elem();
        result = Value::Computed(two(call, binary, &result, &next, elem)?);
    }
    Ok(result)
}

fn many(call: &mut Call<'_>, binary: Binary) -> Result<(), Problem> {
    let result = folded(call, binary)?;
    call.give(0, result);
    Ok(())
}

fn mean(call: &mut Call<'_>) -> Result<(), Problem> {
    let sum = folded(call, Binary::Add)?;
    let share = math::scalar(1.0 / call.count() as f32);
    let elem = sum.elem();
    let result = two(call, Binary::Mul, &sum, &share, elem)?;
    call.give(0, Value::Computed(result));
    Ok(())
}

/// `condition ? x : y`, as what is kept of `x` and what is kept of `y`.
fn select(call: &mut Call<'_>) -> Result<(), Problem> {
    let [condition, x, y] = [call.operand(0)?, call.operand(1)?, call.operand(2)?];
    let elem = x.elem();
    // The kernels read floats alone where the operand is a mask.
    let kept = two(call, Binary::ZeroUnless, &condition, &x, elem)?;
    let rest = two(call, Binary::ZeroIf, &condition, &y, elem)?;
    let result = two(call, Binary::Add, &Value::Computed(kept), &Value::Computed(rest), elem)?;
    call.give(0, Value::Computed(result));
    Ok(())
}

fn prelu(call: &mut Call<'_>) -> Result<(), Problem> {
    let (x, slope) = (call.computed(0)?, call.operand(1)?);
    let aligned = align(call.site, &[Value::Computed(x.clone()), slope])?;
    if aligned.dims != x.dims {
        return Err(Problem::malformed("its slopes do not repeat into its input"));
    }
    let tensor = call.emit(Op::Prelu, &aligned.tensors, aligned.layout.shape())?;
    call.answer(tensor, aligned.dims, aligned.layout, x.elem);
    Ok(())
}

/// A function of one value, in the layout that its operand has.
pub(super) fn one(call: &mut Call<'_>, unary: Unary, x: &Computed, elem: Elem) -> Result<Computed, Problem> {
    let shape: Shape = x.layout.shape();
    let tensor = call.emit(Op::Unary(unary), &[x.tensor], shape)?;
    Ok(Computed { tensor, elem, ..x.clone() })
}

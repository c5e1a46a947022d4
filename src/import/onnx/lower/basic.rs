//! Operators on two or more values, element by element.

use super::align::align;
use crate::{
    graph::{Binary, Op, Shape, Unary},
    import::{
        error::Problem,
        onnx::{
            array::Elem,
            call::Call,
            fold::math,
            op_registry::{
                InputLayout::{Any, LikeOperand},
                OnnxOpEntry,
            },
            value::{Computed, Value},
        },
        op_registry::{All, Floats, Numbers, Truths},
    },
};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Add", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Add))
        .fold(|c| math::binary(c, Binary::Add)),
    OnnxOpEntry::new("Sub", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Sub))
        .fold(|c| math::binary(c, Binary::Sub)),
    OnnxOpEntry::new("Mul", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Mul))
        .fold(|c| math::binary(c, Binary::Mul)),
    OnnxOpEntry::new("Div", 1, Numbers, "binary", LikeOperand, div).fold(|c| math::binary(c, Binary::Div)),
    OnnxOpEntry::new("Pow", 1, Numbers, "binary", LikeOperand, |c| arithmetic(c, Binary::Pow))
        .fold(|c| math::binary(c, Binary::Pow)),
    OnnxOpEntry::new("Mod", 10, Numbers, "binary", Any, modulo).fold(math::modulo),
    OnnxOpEntry::new("Max", 1, Numbers, "binary", LikeOperand, |c| many(c, Binary::Maximum))
        .fold(|c| math::many(c, Binary::Maximum)),
    OnnxOpEntry::new("Min", 1, Numbers, "binary", LikeOperand, |c| many(c, Binary::Minimum))
        .fold(|c| math::many(c, Binary::Minimum)),
    OnnxOpEntry::new("Sum", 1, Floats, "binary", Any, |c| many(c, Binary::Add)).fold(|c| math::many(c, Binary::Add)),
    OnnxOpEntry::new("Mean", 1, Floats, "binary", Any, mean),
    OnnxOpEntry::new("Equal", 1, All, "binary", Any, |c| truth(c, Binary::Equal))
        .fold(|c| math::binary(c, Binary::Equal)),
    OnnxOpEntry::new("Less", 1, Numbers, "binary", Any, |c| truth(c, Binary::Less))
        .fold(|c| math::binary(c, Binary::Less)),
    OnnxOpEntry::new("LessOrEqual", 12, Numbers, "binary", Any, |c| truth(c, Binary::LessEqual))
        .fold(|c| math::binary(c, Binary::LessEqual)),
    OnnxOpEntry::new("Greater", 1, Numbers, "binary", Any, |c| truth(c, Binary::Greater))
        .fold(|c| math::binary(c, Binary::Greater)),
    OnnxOpEntry::new("GreaterOrEqual", 12, Numbers, "binary", Any, |c| truth(c, Binary::GreaterEqual))
        .fold(|c| math::binary(c, Binary::GreaterEqual)),
    OnnxOpEntry::new("And", 1, Truths, "binary", Any, |c| truth(c, Binary::And)).fold(|c| math::binary(c, Binary::And)),
    OnnxOpEntry::new("Or", 1, Truths, "binary", Any, |c| truth(c, Binary::Or)).fold(|c| math::binary(c, Binary::Or)),
    OnnxOpEntry::new("Xor", 1, Truths, "binary", Any, |c| truth(c, Binary::Xor)).fold(|c| math::binary(c, Binary::Xor)),
    OnnxOpEntry::new("Where", 9, All, "binary", LikeOperand, select).fold(math::select),
    OnnxOpEntry::new("PRelu", 1, Numbers, "binary", LikeOperand, prelu),
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

//! Functions of one value.

use super::basic::one;
use crate::{
    graph::Unary,
    import::{
        error::Problem,
        facts::{All, Fact, Floats, Numbers, Truths},
        lower as tflite,
        onnx::{array::Elem, call::Call, fold::math, value::Value},
    },
};

pub(super) const FACTS: &[Fact] = &[
    Fact::new("Relu", 1, Numbers, "unary", |c| float(c, Unary::Relu))
        .tflite("RELU", |c| tflite::unary(c, Unary::Relu))
        .fold(|c| math::unary(c, |v| v.max(0.0))),
    Fact::new("LeakyRelu", 1, Floats, "unary", |c| {
        let alpha = c.float("alpha", 0.01)?;
        float(c, Unary::LeakyRelu { alpha })
    })
    .tflite("LEAKY_RELU", tflite::leaky_relu),
    Fact::new("Elu", 1, Floats, "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Elu { alpha })
    })
    .tflite("ELU", |c| tflite::unary(c, Unary::Elu { alpha: 1.0 })),
    Fact::new("Selu", 1, Floats, "unary", |c| {
        let (alpha, gamma) = (c.float("alpha", 1.673_263_2)?, c.float("gamma", 1.050_701)?);
        float(c, Unary::Selu { alpha, gamma })
    }),
    Fact::new("Celu", 12, Floats, "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Celu { alpha })
    }),
    Fact::new("ThresholdedRelu", 10, Floats, "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::ThresholdedRelu { alpha })
    }),
    Fact::new("HardSigmoid", 1, Floats, "unary", |c| {
        let (alpha, beta) = (c.float("alpha", 0.2)?, c.float("beta", 0.5)?);
        float(c, Unary::HardSigmoid { alpha, beta })
    }),
    Fact::new("HardSwish", 14, Floats, "unary", |c| float(c, Unary::HardSwish))
        .tflite("HARD_SWISH", |c| tflite::unary(c, Unary::HardSwish)),
    Fact::new("Clip", 1, Numbers, "unary", clip)
        .tflite("RELU6", |c| tflite::unary(c, Unary::Relu6))
        .tflite("RELU_N1_TO_1", |c| tflite::unary(c, Unary::ReluN1To1))
        .tflite("RELU_0_TO_1", |c| tflite::unary(c, Unary::Clip { min: 0.0, max: 1.0 }))
        .limits("bounds must be known")
        .fold(math::clip),
    Fact::new("Sigmoid", 1, Floats, "unary", |c| float(c, Unary::Logistic))
        .tflite("LOGISTIC", |c| tflite::unary(c, Unary::Logistic))
        .fold(|c| math::unary(c, |v| 1.0 / (1.0 + (-v).exp()))),
    Fact::new("Tanh", 1, Floats, "unary", |c| float(c, Unary::Tanh))
        .tflite("TANH", |c| tflite::unary(c, Unary::Tanh))
        .fold(|c| math::unary(c, f32::tanh)),
    Fact::new("Gelu", 20, Floats, "unary", |c| {
        let tanh = c.text("approximate", "none")? == "tanh";
        float(c, if tanh { Unary::GeluTanh } else { Unary::Gelu })
    })
    .tflite("GELU", tflite::gelu),
    Fact::new("Softplus", 1, Floats, "unary", |c| float(c, Unary::Softplus)),
    Fact::new("Softsign", 1, Floats, "unary", |c| float(c, Unary::Softsign)),
    Fact::new("Mish", 18, Floats, "unary", |c| float(c, Unary::Mish)),
    Fact::new("Shrink", 9, Numbers, "unary", |c| {
        let (bias, lambda) = (c.float("bias", 0.0)?, c.float("lambd", 0.5)?);
        float(c, Unary::Shrink { bias, lambda })
    }),
    Fact::new("Swish", 24, Floats, "unary", swish),
    Fact::new("Exp", 1, Floats, "unary", |c| float(c, Unary::Exp))
        .tflite("EXP", |c| tflite::unary(c, Unary::Exp))
        .fold(|c| math::unary(c, f32::exp)),
    Fact::new("Log", 1, Floats, "unary", |c| float(c, Unary::Log))
        .tflite("LOG", |c| tflite::unary(c, Unary::Log))
        .fold(|c| math::unary(c, f32::ln)),
    Fact::new("Sqrt", 1, Floats, "unary", |c| float(c, Unary::Sqrt))
        .tflite("SQRT", |c| tflite::unary(c, Unary::Sqrt))
        .fold(|c| math::unary(c, f32::sqrt)),
    Fact::new("Reciprocal", 1, Floats, "unary", |c| float(c, Unary::Reciprocal)).fold(|c| math::unary(c, f32::recip)),
    Fact::new("Abs", 1, Numbers, "unary", |c| float(c, Unary::Abs))
        .tflite("ABS", |c| tflite::unary(c, Unary::Abs))
        .fold(|c| math::either(c, f32::abs, i64::wrapping_abs)),
    Fact::new("Neg", 1, Numbers, "unary", |c| float(c, Unary::Neg))
        .tflite("NEG", |c| tflite::unary(c, Unary::Neg))
        .fold(|c| math::either(c, |v| -v, i64::wrapping_neg)),
    Fact::new("Sign", 9, Numbers, "unary", |c| float(c, Unary::Sign))
        .tflite("SIGN", |c| tflite::unary(c, Unary::Sign))
        .fold(|c| math::either(c, |v| if v == 0.0 || v.is_nan() { v } else { v.signum() }, i64::signum)),
    Fact::new("Erf", 9, Floats, "unary", |c| float(c, Unary::Erf)),
    Fact::new("Sin", 7, Floats, "unary", |c| float(c, Unary::Sin))
        .tflite("SIN", |c| tflite::unary(c, Unary::Sin))
        .fold(|c| math::unary(c, f32::sin)),
    Fact::new("Cos", 7, Floats, "unary", |c| float(c, Unary::Cos))
        .tflite("COS", |c| tflite::unary(c, Unary::Cos))
        .fold(|c| math::unary(c, f32::cos)),
    Fact::new("Tan", 7, Floats, "unary", |c| float(c, Unary::Tan)),
    Fact::new("Asin", 7, Floats, "unary", |c| float(c, Unary::Asin)),
    Fact::new("Acos", 7, Floats, "unary", |c| float(c, Unary::Acos)),
    Fact::new("Atan", 7, Floats, "unary", |c| float(c, Unary::Atan)),
    Fact::new("Sinh", 9, Floats, "unary", |c| float(c, Unary::Sinh)),
    Fact::new("Cosh", 9, Floats, "unary", |c| float(c, Unary::Cosh)),
    Fact::new("Asinh", 9, Floats, "unary", |c| float(c, Unary::Asinh)),
    Fact::new("Acosh", 9, Floats, "unary", |c| float(c, Unary::Acosh)),
    Fact::new("Atanh", 9, Floats, "unary", |c| float(c, Unary::Atanh)),
    Fact::new("Floor", 1, Floats, "unary", |c| float(c, Unary::Floor))
        .tflite("FLOOR", |c| tflite::unary(c, Unary::Floor))
        .fold(|c| math::unary(c, f32::floor)),
    Fact::new("Ceil", 1, Floats, "unary", |c| float(c, Unary::Ceil))
        .tflite("CEIL", |c| tflite::unary(c, Unary::Ceil))
        .fold(|c| math::unary(c, f32::ceil)),
    Fact::new("Round", 11, Floats, "unary", |c| float(c, Unary::Round))
        .tflite("ROUND", |c| tflite::unary(c, Unary::Round))
        .fold(|c| math::unary(c, f32::round_ties_even)),
    Fact::new("Not", 1, Truths, "unary", |c| truth(c, Unary::Not))
        .tflite("LOGICAL_NOT", |c| tflite::unary(c, Unary::Not))
        .fold(math::not),
    Fact::new("IsNaN", 9, Floats, "unary", |c| truth(c, Unary::IsNan)),
    Fact::new("IsInf", 10, Floats, "unary", |c| {
        let (negative, positive) = (c.flag("detect_negative", true)?, c.flag("detect_positive", true)?);
        truth(c, Unary::IsInf { negative, positive })
    }),
    Fact::new("Cast", 1, All, "unary", cast).tflite("CAST", tflite::cast).fold(math::cast),
    Fact::new("CastLike", 15, All, "unary", cast_like).fold(math::cast),
    Fact::new("Identity", 1, All, "none", same).fold(same),
    Fact::new("Dropout", 1, All, "none", dropout).limits("not in training mode").fold(dropout),
    Fact::new("Gelu", 1, Floats, "unary", |c| float(c, Unary::Gelu)).domain("com.microsoft"),
    Fact::new("QuickGelu", 1, Floats, "unary", swish).domain("com.microsoft").limits("alpha of 1"),
];

fn float(call: &mut Call<'_>, unary: Unary) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let result = one(call, unary, &x, x.elem)?;
    call.give(0, Value::Computed(result));
    Ok(())
}

fn truth(call: &mut Call<'_>, unary: Unary) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let result = one(call, unary, &x, Elem::Bool)?;
    call.give(0, Value::Computed(result));
    Ok(())
}

fn swish(call: &mut Call<'_>) -> Result<(), Problem> {
    let default = if call.node.op == "QuickGelu" { 1.702 } else { 1.0 };
    match call.float("alpha", default)? {
        1.0 => float(call, Unary::Silu),
        alpha => Err(Problem::unsupported(format!("its alpha is {alpha}, only 1 is supported"))),
    }
}

fn clip(call: &mut Call<'_>) -> Result<(), Problem> {
    let (min, max) = math::bounds(call)?;
    let unary = match (min, max) {
        (0.0, 6.0) => Unary::Relu6,
        (-1.0, 1.0) => Unary::ReluN1To1,
        (0.0, f32::MAX | f32::INFINITY) => Unary::Relu,
        (min, max) => Unary::Clip { min, max },
    };
    float(call, unary)
}

fn same(call: &mut Call<'_>) -> Result<(), Problem> {
    let x = call.operand(0)?;
    call.give(0, x);
    Ok(())
}

fn dropout(call: &mut Call<'_>) -> Result<(), Problem> {
    if let Some(training) = call.optional(2) {
        let on = training.known().is_none_or(|array| array.to_i64().and_then(<[i64]>::first).is_none_or(|&v| v != 0));
        if on && call.scalar(1, "ratio")? != Some(0.0) {
            return Err(Problem::new("it is in training mode", "export the model for inference"));
        }
    }
    same(call)?;
    if call.wants(1) {
        let x = call.operand(0)?;
        let ones = math::ones(call, x.dims())?;
        call.give(1, ones);
    }
    Ok(())
}

fn cast(call: &mut Call<'_>) -> Result<(), Problem> {
    let to = math::cast_type(call)?;
    to_type(call, to)
}

fn cast_like(call: &mut Call<'_>) -> Result<(), Problem> {
    let to = call.operand(1)?.elem();
    to_type(call, to)
}

fn to_type(call: &mut Call<'_>, to: Elem) -> Result<(), Problem> {
    let x = call.computed(0)?;
    let (from, mut result) = (x.elem, x.clone());
    match to {
        Elem::Bool if from != Elem::Bool => result = one(call, Unary::NotZero, &x, to)?,
        Elem::F16 if from != Elem::F16 => result = one(call, Unary::ToHalf, &x, to)?,
        to if !to.is_float() && from.is_float() => result = one(call, Unary::Trunc, &x, to)?,
        _ => result.elem = to,
    }
    call.give(0, Value::Computed(result));
    Ok(())
}

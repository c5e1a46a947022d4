//! Functions of one value.

use super::basic::one;
use crate::{
    graph::Unary,
    import::{
        error::Problem,
        onnx::{array::Elem, call::Call, facts::Fact, fold::math, value::Value},
    },
};

pub(super) const FACTS: &[Fact] = &[
    Fact::new("Relu", "unary", |c| float(c, Unary::Relu)).tflite("RELU").fold(|c| math::unary(c, |v| v.max(0.0))),
    Fact::new("LeakyRelu", "unary", |c| {
        let alpha = c.float("alpha", 0.01)?;
        float(c, Unary::LeakyRelu { alpha })
    })
    .tflite("LEAKY_RELU"),
    Fact::new("Elu", "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Elu { alpha })
    })
    .tflite("ELU"),
    Fact::new("Selu", "unary", |c| {
        let (alpha, gamma) = (c.float("alpha", 1.673_263_2)?, c.float("gamma", 1.050_701)?);
        float(c, Unary::Selu { alpha, gamma })
    }),
    Fact::new("Celu", "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Celu { alpha })
    }),
    Fact::new("ThresholdedRelu", "unary", |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::ThresholdedRelu { alpha })
    }),
    Fact::new("HardSigmoid", "unary", |c| {
        let (alpha, beta) = (c.float("alpha", 0.2)?, c.float("beta", 0.5)?);
        float(c, Unary::HardSigmoid { alpha, beta })
    }),
    Fact::new("HardSwish", "unary", |c| float(c, Unary::HardSwish)).tflite("HARD_SWISH"),
    Fact::new("Clip", "unary", clip).tflite("RELU6, RELU_N1_TO_1").limits("bounds must be known").fold(math::clip),
    Fact::new("Sigmoid", "unary", |c| float(c, Unary::Logistic))
        .tflite("LOGISTIC")
        .fold(|c| math::unary(c, |v| 1.0 / (1.0 + (-v).exp()))),
    Fact::new("Tanh", "unary", |c| float(c, Unary::Tanh)).tflite("TANH").fold(|c| math::unary(c, f32::tanh)),
    Fact::new("Gelu", "unary", |c| {
        let tanh = c.text("approximate", "none")? == "tanh";
        float(c, if tanh { Unary::GeluTanh } else { Unary::Gelu })
    })
    .tflite("GELU"),
    Fact::new("Softplus", "unary", |c| float(c, Unary::Softplus)),
    Fact::new("Softsign", "unary", |c| float(c, Unary::Softsign)),
    Fact::new("Mish", "unary", |c| float(c, Unary::Mish)),
    Fact::new("Shrink", "unary", |c| {
        let (bias, lambda) = (c.float("bias", 0.0)?, c.float("lambd", 0.5)?);
        float(c, Unary::Shrink { bias, lambda })
    }),
    Fact::new("Swish", "unary", swish),
    Fact::new("Exp", "unary", |c| float(c, Unary::Exp)).tflite("EXP").fold(|c| math::unary(c, f32::exp)),
    Fact::new("Log", "unary", |c| float(c, Unary::Log)).tflite("LOG").fold(|c| math::unary(c, f32::ln)),
    Fact::new("Sqrt", "unary", |c| float(c, Unary::Sqrt)).tflite("SQRT").fold(|c| math::unary(c, f32::sqrt)),
    Fact::new("Reciprocal", "unary", |c| float(c, Unary::Reciprocal)).fold(|c| math::unary(c, f32::recip)),
    Fact::new("Abs", "unary", |c| float(c, Unary::Abs))
        .tflite("ABS")
        .fold(|c| math::either(c, f32::abs, i64::wrapping_abs)),
    Fact::new("Neg", "unary", |c| float(c, Unary::Neg))
        .tflite("NEG")
        .fold(|c| math::either(c, |v| -v, i64::wrapping_neg)),
    Fact::new("Sign", "unary", |c| float(c, Unary::Sign))
        .tflite("SIGN")
        .fold(|c| math::either(c, |v| if v == 0.0 || v.is_nan() { v } else { v.signum() }, i64::signum)),
    Fact::new("Erf", "unary", |c| float(c, Unary::Erf)),
    Fact::new("Sin", "unary", |c| float(c, Unary::Sin)).tflite("SIN").fold(|c| math::unary(c, f32::sin)),
    Fact::new("Cos", "unary", |c| float(c, Unary::Cos)).tflite("COS").fold(|c| math::unary(c, f32::cos)),
    Fact::new("Tan", "unary", |c| float(c, Unary::Tan)),
    Fact::new("Asin", "unary", |c| float(c, Unary::Asin)),
    Fact::new("Acos", "unary", |c| float(c, Unary::Acos)),
    Fact::new("Atan", "unary", |c| float(c, Unary::Atan)),
    Fact::new("Sinh", "unary", |c| float(c, Unary::Sinh)),
    Fact::new("Cosh", "unary", |c| float(c, Unary::Cosh)),
    Fact::new("Asinh", "unary", |c| float(c, Unary::Asinh)),
    Fact::new("Acosh", "unary", |c| float(c, Unary::Acosh)),
    Fact::new("Atanh", "unary", |c| float(c, Unary::Atanh)),
    Fact::new("Floor", "unary", |c| float(c, Unary::Floor)).tflite("FLOOR").fold(|c| math::unary(c, f32::floor)),
    Fact::new("Ceil", "unary", |c| float(c, Unary::Ceil)).tflite("CEIL").fold(|c| math::unary(c, f32::ceil)),
    Fact::new("Round", "unary", |c| float(c, Unary::Round))
        .tflite("ROUND")
        .fold(|c| math::unary(c, f32::round_ties_even)),
    Fact::new("Not", "unary", |c| truth(c, Unary::Not)).tflite("LOGICAL_NOT").fold(math::not),
    Fact::new("IsNaN", "unary", |c| truth(c, Unary::IsNan)),
    Fact::new("IsInf", "unary", |c| {
        let (negative, positive) = (c.flag("detect_negative", true)?, c.flag("detect_positive", true)?);
        truth(c, Unary::IsInf { negative, positive })
    }),
    Fact::new("Cast", "unary", cast).tflite("CAST").fold(math::cast),
    Fact::new("CastLike", "unary", cast_like).fold(math::cast),
    Fact::new("Identity", "none", same).fold(same),
    Fact::new("Dropout", "none", dropout).limits("not in training mode").fold(dropout),
    Fact::new("Gelu", "unary", |c| float(c, Unary::Gelu)).domain("com.microsoft"),
    Fact::new("QuickGelu", "unary", swish).domain("com.microsoft").limits("alpha of 1"),
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
        let on = training.known().is_none_or(|array| array.to_i64().is_none_or(|v| v.iter().any(|&v| v != 0)));
        if on && call.scalar(1, "ratio")? != Some(0.0) {
            return Err(Problem::new("it is in training mode", "export the model for inference"));
        }
    }
    same(call)?;
    if call.wants(1) {
        let x = call.operand(0)?;
        call.give(1, math::ones(x.dims())?);
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

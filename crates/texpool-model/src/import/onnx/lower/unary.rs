//! Lowers functions of one value.

use super::{
    basic::{one, two},
    shapes::reshaped,
    wrap::wrapped,
};
use crate::import::{
    error::Problem,
    onnx::{
        fold::math,
        node_lowering::NodeLowering,
        op_registry::{
            BeforeOpset7::TrainsUnlessIsTest,
            InputLayout::{Any, LikeOperand},
            OF_RUNTIME, OnnxOpEntry,
        },
        value::{Computed, Value},
    },
    op_registry::{All, Floats, Numbers, Truths},
};
use texpool_ops::graph::{Binary, ElementType, Op, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Relu", 1, Numbers, "unary", LikeOperand, |c| float(c, Unary::Relu))
        .fold(|c| math::unary(c, Unary::Relu)),
    OnnxOpEntry::new("LeakyRelu", 1, Floats, "unary", LikeOperand, |c| {
        let alpha = c.float("alpha", 0.01)?;
        float(c, Unary::LeakyRelu { alpha })
    }),
    OnnxOpEntry::new("Elu", 1, Floats, "unary", Any, |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Elu { alpha })
    }),
    OnnxOpEntry::new("Selu", 1, Floats, "unary", Any, |c| {
        let (alpha, gamma) = (c.float("alpha", 1.673_263_2)?, c.float("gamma", 1.050_701)?);
        float(c, Unary::Selu { alpha, gamma })
    }),
    OnnxOpEntry::new("Celu", 12, Floats, "unary", Any, |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::Celu { alpha })
    }),
    OnnxOpEntry::new("ThresholdedRelu", 10, Floats, "unary", Any, |c| {
        let alpha = c.float("alpha", 1.0)?;
        float(c, Unary::ThresholdedRelu { alpha })
    }),
    OnnxOpEntry::new("HardSigmoid", 1, Floats, "unary", LikeOperand, |c| {
        let (alpha, beta) = (c.float("alpha", 0.2)?, c.float("beta", 0.5)?);
        float(c, Unary::HardSigmoid { alpha, beta })
    }),
    OnnxOpEntry::new("HardSwish", 14, Floats, "unary", LikeOperand, |c| float(c, Unary::HardSwish)),
    OnnxOpEntry::new("Clip", 1, Numbers, "binary, unary", LikeOperand, clip).fold(math::clip),
    OnnxOpEntry::new("Sigmoid", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Logistic))
        .fold(|c| math::unary(c, Unary::Logistic)),
    OnnxOpEntry::new("Tanh", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Tanh))
        .fold(|c| math::unary(c, Unary::Tanh)),
    OnnxOpEntry::new("Gelu", 20, Floats, "unary", Any, |c| {
        let tanh = c.text("approximate", "none")? == "tanh";
        float(c, if tanh { Unary::GeluTanh } else { Unary::Gelu })
    }),
    OnnxOpEntry::new("Softplus", 1, Floats, "unary", Any, |c| float(c, Unary::Softplus)),
    OnnxOpEntry::new("Softsign", 1, Floats, "unary", Any, |c| float(c, Unary::Softsign)),
    OnnxOpEntry::new("Mish", 18, Floats, "unary", Any, |c| float(c, Unary::Mish)),
    OnnxOpEntry::new("Shrink", 9, Numbers, "unary", Any, |c| {
        let (bias, lambda) = (c.float("bias", 0.0)?, c.float("lambd", 0.5)?);
        float(c, Unary::Shrink { bias, lambda })
    }),
    OnnxOpEntry::new("Swish", 24, Floats, "binary, unary", Any, swish),
    OnnxOpEntry::new("Exp", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Exp))
        .fold(|c| math::unary(c, Unary::Exp)),
    OnnxOpEntry::new("Log", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Log))
        .fold(|c| math::unary(c, Unary::Log)),
    OnnxOpEntry::new("Sqrt", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Sqrt))
        .fold(|c| math::unary(c, Unary::Sqrt)),
    OnnxOpEntry::new("Reciprocal", 1, Floats, "unary", Any, |c| float(c, Unary::Reciprocal))
        .fold(|c| math::unary(c, Unary::Reciprocal)),
    OnnxOpEntry::new("Abs", 1, Numbers, "unary", LikeOperand, |c| float(c, Unary::Abs))
        .fold(|c| math::unary(c, Unary::Abs)),
    OnnxOpEntry::new("Neg", 1, Numbers, "unary", LikeOperand, |c| float(c, Unary::Neg))
        .fold(|c| math::unary(c, Unary::Neg)),
    OnnxOpEntry::new("Sign", 9, Numbers, "unary", Any, |c| float(c, Unary::Sign)).fold(|c| math::unary(c, Unary::Sign)),
    OnnxOpEntry::new("Erf", 9, Floats, "unary", Any, |c| float(c, Unary::Erf)),
    OnnxOpEntry::new("Sin", 7, Floats, "unary", Any, |c| float(c, Unary::Sin)).fold(|c| math::unary(c, Unary::Sin)),
    OnnxOpEntry::new("Cos", 7, Floats, "unary", Any, |c| float(c, Unary::Cos)).fold(|c| math::unary(c, Unary::Cos)),
    OnnxOpEntry::new("Tan", 7, Floats, "unary", Any, |c| float(c, Unary::Tan)),
    OnnxOpEntry::new("Asin", 7, Floats, "unary", Any, |c| float(c, Unary::Asin)),
    OnnxOpEntry::new("Acos", 7, Floats, "unary", Any, |c| float(c, Unary::Acos)),
    OnnxOpEntry::new("Atan", 7, Floats, "unary", Any, |c| float(c, Unary::Atan)),
    OnnxOpEntry::new("Sinh", 9, Floats, "unary", Any, |c| float(c, Unary::Sinh)),
    OnnxOpEntry::new("Cosh", 9, Floats, "unary", Any, |c| float(c, Unary::Cosh)),
    OnnxOpEntry::new("Asinh", 9, Floats, "unary", Any, |c| float(c, Unary::Asinh)),
    OnnxOpEntry::new("Acosh", 9, Floats, "unary", Any, |c| float(c, Unary::Acosh)),
    OnnxOpEntry::new("Atanh", 9, Floats, "unary", Any, |c| float(c, Unary::Atanh)),
    OnnxOpEntry::new("Floor", 1, Floats, "unary", LikeOperand, |c| float(c, Unary::Floor))
        .fold(|c| math::unary(c, Unary::Floor)),
    OnnxOpEntry::new("Ceil", 1, Floats, "unary", Any, |c| float(c, Unary::Ceil)).fold(|c| math::unary(c, Unary::Ceil)),
    OnnxOpEntry::new("Round", 11, Floats, "unary", LikeOperand, |c| float(c, Unary::Round))
        .fold(|c| math::unary(c, Unary::Round)),
    OnnxOpEntry::new("Not", 1, Truths, "unary", Any, |c| truth(c, Unary::Not)).fold(|c| math::unary(c, Unary::Not)),
    OnnxOpEntry::new("IsNaN", 9, Floats, "unary", Any, |c| truth(c, Unary::IsNan)),
    OnnxOpEntry::new("IsInf", 10, Floats, "unary", Any, |c| {
        let (negative, positive) = (c.flag("detect_negative", true)?, c.flag("detect_positive", true)?);
        truth(c, Unary::IsInf { negative, positive })
    }),
    OnnxOpEntry::new("Cast", 1, All, "unary", LikeOperand, cast).fold(math::cast),
    OnnxOpEntry::new("CastLike", 15, All, "unary", Any, cast_like).fold(math::cast_like),
    OnnxOpEntry::new("BitCast", 26, All, "binary, unary", LikeOperand, bit_cast)
        .limits("between integers of the same 8 or 16 bits")
        .fold(bit_cast),
    OnnxOpEntry::new("Identity", 1, All, "none", LikeOperand, same).fold_repeated(same),
    OnnxOpEntry::new("Dropout", 1, All, "none", LikeOperand, dropout)
        .before_opset7(TrainsUnlessIsTest)
        .limits("not in training mode")
        .fold_repeated(dropout),
    OnnxOpEntry::new("Gelu", 1, Floats, "unary", Any, |c| float(c, Unary::Gelu)).domain(OF_RUNTIME),
    OnnxOpEntry::new("QuickGelu", 1, Floats, "binary, unary", Any, swish).domain(OF_RUNTIME),
];

fn float(ctx: &mut NodeLowering<'_>, unary: Unary) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let result = one(ctx, unary, &x, x.elem)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn truth(ctx: &mut NodeLowering<'_>, unary: Unary) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let result = one(ctx, unary, &x, ElementType::Bool)?;
    ctx.give(0, Value::Computed(result));
    Ok(())
}

fn swish(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let default = if ctx.node.op == "QuickGelu" { 1.702 } else { 1.0 };
    match ctx.float("alpha", default)? {
        1.0 => float(ctx, Unary::Silu),
        alpha => {
            let x = ctx.operand(0)?;
            let elem = x.element_type();
            let scaled = two(ctx, Binary::Mul, &x, &math::scalar(alpha), elem)?;
            let gate = Value::Computed(one(ctx, Unary::Logistic, &scaled, elem)?);
            let result = two(ctx, Binary::Mul, &x, &gate, elem)?;
            ctx.give(0, Value::Computed(result));
            Ok(())
        }
    }
}

fn clip(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let bounds = [(1, Binary::Maximum), (2, Binary::Minimum)].map(|(at, binary)| Some((ctx.optional(at)?, binary)));
    if bounds.iter().flatten().any(|(bound, _)| bound.known().is_none()) {
        return clip_between(ctx, bounds.into_iter().flatten());
    }
    let (min, max) = math::bounds(ctx)?;
    let unary = match (min, max) {
        (0.0, 6.0) => Unary::Relu6,
        (-1.0, 1.0) => Unary::ReluN1To1,
        // A missing bound reads as the largest float.
        (0.0, f32::MAX | f32::INFINITY) => Unary::Relu,
        (min, max) => Unary::Clip { min, max },
    };
    float(ctx, unary)
}

/// Clips to bounds of which one is computed in a run, and the other one may be missing.
fn clip_between(ctx: &mut NodeLowering<'_>, bounds: impl Iterator<Item = (Value, Binary)>) -> Result<(), Problem> {
    let mut clipped = ctx.operand(0)?;
    let elem = clipped.element_type();
    for (bound, binary) in bounds {
        if bound.len() != 1 {
            return Err(Problem::malformed(format!("its bound has the extents {:?}, not one element", bound.dims())));
        }
        // Without axes, so that it gives the result none.
        let bound = reshaped(ctx.lowering, &bound, &[])?;
        clipped = Value::Computed(two(ctx, binary, &clipped, &bound, elem)?);
    }
    ctx.give(0, clipped);
    Ok(())
}

fn same(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.operand(0)?;
    ctx.give(0, x);
    Ok(())
}

fn dropout(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if let Some(training) = ctx.optional(2) {
        let on = training.known().is_none_or(|array| array.to_i64().and_then(<[i64]>::first).is_none_or(|&v| v != 0));
        if on && ctx.scalar(1, "ratio")? != Some(0.0) {
            return Err(Problem::new("it is in training mode", "export the model for inference"));
        }
    }
    same(ctx)?;
    if ctx.wants(1) {
        let x = ctx.operand(0)?;
        let ones = math::ones(ctx, x.dims())?;
        ctx.give(1, ones);
    }
    Ok(())
}

fn cast(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let to = math::cast_type(ctx)?;
    to_type(ctx, to)
}

fn cast_like(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let to = ctx.operand(1)?.type_of_results()?;
    to_type(ctx, to)
}

/// Lowers BitCast, which reads the bits of a value as another type. Integers of as many bits wrap around.
fn bit_cast(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (from, to) = (ctx.operand(0)?.element_type(), math::cast_type(ctx)?);
    let is_small = |elem: ElementType| elem.size() <= 2 && (elem.is_integer() || elem == ElementType::Bool);
    let fits = is_small(from) && is_small(to) && from.size() == to.size() && to != ElementType::Bool;
    if from != to && !fits {
        return Err(Problem::unsupported(format!("it reads the bits of {from} as {to}")));
    }
    if ctx.operand(0)?.known().is_some() { math::cast(ctx) } else { to_type(ctx, to) }
}

fn to_type(ctx: &mut NodeLowering<'_>, to: ElementType) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    let (from, mut result) = (x.elem, x.clone());
    match to {
        ElementType::Bool if from != ElementType::Bool => result = one(ctx, Unary::NotZero, &x, to)?,
        ElementType::F16 if from != ElementType::F16 => result = one(ctx, Unary::ToHalf, &x, to)?,
        to if !to.is_float() && from.is_float() => result = one(ctx, Unary::Trunc, &x, to)?,
        // Floats hold integers and truth values exactly, so a cast to a type that contains all of them leaves the
        // values unchanged.
        to if !from.is_integer() || !to.is_integer() || to.has_all_of(from) => result.elem = to,
        to => {
            // Wrapped for types of 8 or 16 bits. For larger types compiling checks that the integers fit.
            let shape = x.layout.shape();
            let copy = Computed { tensor: ctx.emit(Op::Reshape, &[x.tensor], shape)?, elem: to, ..x };
            result = wrapped(ctx, copy)?;
        }
    }
    ctx.give(0, Value::Computed(result));
    Ok(())
}

//! Kernel of functions of one value.

use std::ops::Range;

use super::Unary;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, epilogue,
        shader::helpers::ONE_TEXEL,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Unary {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Unary {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Elementwise, 0, 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let own = || own(*self).map(|(code, [alpha, beta])| (code, alpha, beta.to_bits()));
        let Some((code, alpha, beta)) = epilogue::function(*self).or_else(own) else {
            return Err(step.unsupported(format!("there is no kernel for {}", self.name())));
        };
        let items = common::texels(step);
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params { alpha, beta });
        let function = ("FUNCTION", f64::from(code));
        Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, vec![function], &[]).reading(input)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("unary", include_str!("../../../shaders/unary.wgsl"))
    .constants(&[FUNCTIONS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL]);

shared_constants! {
    /// Functions that `unary.wgsl` supports in addition to those of the epilogue; their codes come after the
    /// epilogue's.
    FUNCTIONS:
    // Lower codes are reserved for the epilogue, which `unary.wgsl` shares.
    UNARY_SELU = 32,
    UNARY_CELU = 33,
    UNARY_THRESHOLDED_RELU = 34,
    UNARY_SOFTSIGN = 35,
    UNARY_SHRINK = 36,
    UNARY_LOG = 37,
    UNARY_RECIPROCAL = 38,
    UNARY_SIGN = 39,
    UNARY_ERF = 40,
    UNARY_SIN = 41,
    UNARY_COS = 42,
    UNARY_TAN = 43,
    UNARY_ASIN = 44,
    UNARY_ACOS = 45,
    UNARY_ATAN = 46,
    UNARY_SINH = 47,
    UNARY_COSH = 48,
    UNARY_ASINH = 49,
    UNARY_ACOSH = 50,
    UNARY_ATANH = 51,
    UNARY_FLOOR = 52,
    UNARY_CEIL = 53,
    UNARY_ROUND = 54,
    UNARY_TRUNC = 55,
    UNARY_TO_HALF = 56,
    UNARY_NOT = 57,
    UNARY_NOT_ZERO = 58,
    UNARY_IS_NAN = 59,
    UNARY_IS_INF = 60,
}

shader_params! {
    struct Params {
        alpha: f32,
        beta: u32,
    }
}

/// Returns the code and the two parameters of a function that only `unary.wgsl` supports.
fn own(unary: Unary) -> Option<(u32, [f32; 2])> {
    let flag = |on: bool| f32::from(u8::from(on));
    Some(match unary {
        Unary::Selu { alpha, gamma } => (UNARY_SELU, [alpha, gamma]),
        Unary::Celu { alpha } => (UNARY_CELU, [alpha, 0.0]),
        Unary::ThresholdedRelu { alpha } => (UNARY_THRESHOLDED_RELU, [alpha, 0.0]),
        Unary::Softsign => (UNARY_SOFTSIGN, [0.0; 2]),
        Unary::Shrink { bias, lambda } => (UNARY_SHRINK, [bias, lambda]),
        Unary::Log => (UNARY_LOG, [0.0; 2]),
        Unary::Reciprocal => (UNARY_RECIPROCAL, [0.0; 2]),
        Unary::Sign => (UNARY_SIGN, [0.0; 2]),
        Unary::Erf => (UNARY_ERF, [0.0; 2]),
        Unary::Sin => (UNARY_SIN, [0.0; 2]),
        Unary::Cos => (UNARY_COS, [0.0; 2]),
        Unary::Tan => (UNARY_TAN, [0.0; 2]),
        Unary::Asin => (UNARY_ASIN, [0.0; 2]),
        Unary::Acos => (UNARY_ACOS, [0.0; 2]),
        Unary::Atan => (UNARY_ATAN, [0.0; 2]),
        Unary::Sinh => (UNARY_SINH, [0.0; 2]),
        Unary::Cosh => (UNARY_COSH, [0.0; 2]),
        Unary::Asinh => (UNARY_ASINH, [0.0; 2]),
        Unary::Acosh => (UNARY_ACOSH, [0.0; 2]),
        Unary::Atanh => (UNARY_ATANH, [0.0; 2]),
        Unary::Floor => (UNARY_FLOOR, [0.0; 2]),
        Unary::Ceil => (UNARY_CEIL, [0.0; 2]),
        Unary::Round => (UNARY_ROUND, [0.0; 2]),
        Unary::Trunc => (UNARY_TRUNC, [0.0; 2]),
        Unary::ToHalf => (UNARY_TO_HALF, [0.0; 2]),
        Unary::Not => (UNARY_NOT, [0.0; 2]),
        Unary::NotZero => (UNARY_NOT_ZERO, [0.0; 2]),
        Unary::IsNan => (UNARY_IS_NAN, [0.0; 2]),
        Unary::IsInf { negative, positive } => (UNARY_IS_INF, [flag(negative), flag(positive)]),
        // Functions of the epilogue, listed by name, so that a new function does not compile until it has a code.
        Unary::Relu
        | Unary::Relu6
        | Unary::ReluN1To1
        | Unary::LeakyRelu { .. }
        | Unary::Elu { .. }
        | Unary::HardSwish
        | Unary::Logistic
        | Unary::Tanh
        | Unary::Exp
        | Unary::Sqrt
        | Unary::Rsqrt
        | Unary::Square
        | Unary::Abs
        | Unary::Neg
        | Unary::Clip { .. }
        | Unary::HardSigmoid { .. }
        | Unary::Silu
        | Unary::Gelu
        | Unary::GeluTanh
        | Unary::Softplus
        | Unary::Mish
        | Unary::FakeQuant { .. } => return None,
    })
}

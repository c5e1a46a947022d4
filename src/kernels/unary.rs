//! Functions of one value.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, epilogue, family};
use crate::graph::Unary;

pub(super) const SHADER: Shader = Shader::new("unary", include_str!("../../shaders/unary.wgsl"));

/// One texel an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, unary: Unary) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let own = || own(unary).map(|(code, parameters)| (code, parameters.map(f32::to_bits)));
    let Some((code, [first, second])) = epilogue::function(unary).or_else(own) else {
        return Err(family::unsupported(step, format!("there is no kernel for {}", unary.name())));
    };
    let items = step.rows.len() as u32 * step.output.shape.row_texels() as u32;
    let params = KernelParams::new(step, &plan, items).input(input).own([first, second, 0, 0]);
    let function = ("FUNCTION", f64::from(code));
    Ok(vec![family::dispatch(step, SHADER, &plan, params, items, vec![function]).reading(input)])
}

/// The code and the two parameters of a function that `unary.wgsl` knows itself.
fn own(unary: Unary) -> Option<(u32, [f32; 2])> {
    let flag = |on: bool| f32::from(u8::from(on));
    Some(match unary {
        Unary::Selu { alpha, gamma } => (32, [alpha, gamma]),
        Unary::Celu { alpha } => (33, [alpha, 0.0]),
        Unary::ThresholdedRelu { alpha } => (34, [alpha, 0.0]),
        Unary::Softsign => (35, [0.0; 2]),
        Unary::Shrink { bias, lambda } => (36, [bias, lambda]),
        Unary::Log => (37, [0.0; 2]),
        Unary::Reciprocal => (38, [0.0; 2]),
        Unary::Sign => (39, [0.0; 2]),
        Unary::Erf => (40, [0.0; 2]),
        Unary::Sin => (41, [0.0; 2]),
        Unary::Cos => (42, [0.0; 2]),
        Unary::Tan => (43, [0.0; 2]),
        Unary::Asin => (44, [0.0; 2]),
        Unary::Acos => (45, [0.0; 2]),
        Unary::Atan => (46, [0.0; 2]),
        Unary::Sinh => (47, [0.0; 2]),
        Unary::Cosh => (48, [0.0; 2]),
        Unary::Asinh => (49, [0.0; 2]),
        Unary::Acosh => (50, [0.0; 2]),
        Unary::Atanh => (51, [0.0; 2]),
        Unary::Floor => (52, [0.0; 2]),
        Unary::Ceil => (53, [0.0; 2]),
        Unary::Round => (54, [0.0; 2]),
        Unary::Trunc => (55, [0.0; 2]),
        Unary::ToHalf => (56, [0.0; 2]),
        Unary::Not => (57, [0.0; 2]),
        Unary::NotZero => (58, [0.0; 2]),
        Unary::IsNan => (59, [0.0; 2]),
        Unary::IsInf { negative, positive } => (60, [flag(negative), flag(positive)]),
        _ => return None,
    })
}

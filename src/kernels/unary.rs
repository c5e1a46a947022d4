//! Functions of one value.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family, tail};
use crate::graph::{Act, Unary};

const SHADER: Shader = Shader { name: "unary", source: include_str!("../../shaders/unary.wgsl") };

/// One texel an invocation.
pub(super) fn dispatches(step: &StepContext<'_>, unary: Unary) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let alpha = if let Unary::LeakyRelu { alpha } = unary { alpha } else { 0.0 };
    let items = step.rows.len() as u32 * step.output.shape.row_texels() as u32;
    let words = Words::new(step, &plan, items).input(input).own([alpha.to_bits(), 0, 0, 0]);
    let function = ("FUNCTION", f64::from(tail::code(Act::Unary(unary))));
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, vec![function]).reading(input)])
}

/// The CPU twin: one value.
pub(super) fn twin(unary: Unary, x: f32) -> f32 {
    match unary {
        Unary::Relu => x.max(0.0),
        Unary::Relu6 => x.clamp(0.0, 6.0),
        Unary::ReluN1To1 => x.clamp(-1.0, 1.0),
        Unary::LeakyRelu { alpha } => {
            if x < 0.0 {
                alpha * x
            } else {
                x
            }
        }
        Unary::Elu => {
            if x < 0.0 {
                x.exp() - 1.0
            } else {
                x
            }
        }
        Unary::HardSwish => x * (x + 3.0).clamp(0.0, 6.0) / 6.0,
        Unary::Logistic => 1.0 / (1.0 + (-x).exp()),
        Unary::Tanh => x.tanh(),
        Unary::Exp => x.exp(),
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => x.sqrt().recip(),
        Unary::Square => x * x,
        Unary::Abs => x.abs(),
        Unary::Neg => -x,
    }
}

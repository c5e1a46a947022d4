//! Functions of one value.

use super::{Dispatch, KernelError, Shader, StepContext, TailPlan, Words, family, tail};
use crate::graph::Unary;

const SHADER: Shader = Shader { name: "unary", source: include_str!("../../shaders/unary.wgsl") };

/// One texel an invocation.
pub(super) fn dispatches(step: &StepContext<'_>, unary: Unary) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let plan = TailPlan::new(step.graph, step.node, 0);
    let Some((code, parameters)) = tail::function(unary) else {
        return Err(family::unsupported(step, format!("there is no kernel for {} yet", unary.name())));
    };
    let items = step.rows.len() as u32 * step.output.shape.row_texels() as u32;
    let words =
        Words::new(step, &plan, items).input(input).own([parameters[0].to_bits(), parameters[1].to_bits(), 0, 0]);
    let function = ("FUNCTION", f64::from(code));
    Ok(vec![family::dispatch(step, SHADER, &plan, words, items, vec![function]).reading(input)])
}

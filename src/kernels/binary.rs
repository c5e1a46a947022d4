//! Functions of two values, with broadcasting; PReLU is one. What is known of their constant operands is known to matrix
//! products, too.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family, pack};
use crate::graph::{Binary, Graph, Node};

pub(super) const SHADER: Shader = Shader::new("binary", include_str!("../../shaders/binary.wgsl"));

/// The function that stands in `binary.wgsl` for `x < 0 ? alpha * x : x`.
pub(crate) const PRELU: u32 = 6;

/// The code of a function in `binary.wgsl`.
pub(crate) const fn code(binary: Binary) -> u32 {
    match binary {
        Binary::Add => 0,
        Binary::Sub => 1,
        Binary::Mul => 2,
        Binary::Div => 3,
        Binary::Maximum => 4,
        Binary::Minimum => 5,
        Binary::Pow => 7,
        Binary::Mod => 8,
        Binary::Fmod => 9,
        Binary::FloorDiv => 10,
        Binary::TruncDiv => 11,
        Binary::SquaredDifference => 12,
        Binary::Equal => 13,
        Binary::NotEqual => 14,
        Binary::Less => 15,
        Binary::LessEqual => 16,
        Binary::Greater => 17,
        Binary::GreaterEqual => 18,
        Binary::And => 19,
        Binary::Or => 20,
        Binary::Xor => 21,
        Binary::ZeroUnless => 22,
        Binary::ZeroIf => 23,
    }
}

/// The constant operand's number, if there is one.
pub(super) fn constant(graph: &Graph, node: &Node) -> Option<usize> {
    node.inputs.iter().take(2).position(|&tensor| graph.is_constant(tensor))
}

/// The constant operand as a whole tensor.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<[f32; 4]> {
    constant(graph, node).map_or_else(Vec::new, |index| pack::tensor(graph, node.inputs[index]))
}

/// One texel an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, function: u32) -> Result<Vec<Dispatch>, KernelError> {
    let items = family::texels(step);
    let function = ("FUNCTION", f64::from(function));
    if let Some(index) = constant(step.graph, step.node) {
        let shape = step.graph.shape(step.node.inputs[index]);
        let input = family::placed(step, 1 - index)?;
        let plan = EpilogueParams::new(step.graph, step.node, shape.texels());
        let params = KernelParams::new(step, &plan, items).input(input).own_tensor(shape);
        let constants = vec![function, ("CONSTANT", index as f64 + 1.0)];
        let dispatch = family::dispatch(step, SHADER, &plan, params, items, constants);
        return Ok(vec![dispatch.reading(input).reading_weights(step)]);
    }
    let (a, b) = (family::placed(step, 0)?, family::placed(step, 1)?);
    family::no_added_tensor(step)?;
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let params = KernelParams::new(step, &plan, items).input(a).second(b);
    let constants = vec![function, ("CONSTANT", 0.0)];
    Ok(vec![family::dispatch(step, SHADER, &plan, params, items, constants).reading(a).reading_second(b)])
}

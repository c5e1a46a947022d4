//! Kernel of grid sampling; the grid may be a constant.

use super::GridSample;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection, common, pack,
        shader::helpers::ONE_TEXEL,
    },
};

pub(crate) const SHADER: Shader =
    Shader::new("grid_sample", include_str!("../../../shaders/grid_sample.wgsl")).helpers(&[ONE_TEXEL]);

/// Returns a constant grid as a whole tensor.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    pack::whole_operand(graph, node, 1)
}

/// Computes one texel per invocation.
pub(crate) fn dispatches(step: &StepContext<'_>, sampling: GridSample) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let items = common::texels(step);
    let constants = |constant: bool| {
        vec![
            ("LINEAR", common::flag(sampling.linear)),
            ("BORDER", common::flag(sampling.border)),
            ("ALIGN_CORNERS", common::flag(sampling.align_corners)),
            ("CONSTANT", common::flag(constant)),
        ]
    };
    let grid = step.node.inputs[1];
    if step.graph.is_constant(grid) {
        let plan = EpilogueParams::new(step);
        let params = KernelParams::new(step, &plan, items).input(input);
        let dispatch = common::dispatch(step, SHADER, &plan, params, items, constants(true), &[]);
        return Ok(vec![dispatch.reading(input).reading_weights(step)]);
    }
    let grid = common::placed(step, 1)?;
    common::no_added_tensor(step)?;
    let plan = EpilogueParams::new(step);
    let params = KernelParams::new(step, &plan, items).input(input).second(grid);
    let dispatch = common::dispatch(step, SHADER, &plan, params, items, constants(false), &[]);
    Ok(vec![dispatch.reading(input).reading_second(grid)])
}

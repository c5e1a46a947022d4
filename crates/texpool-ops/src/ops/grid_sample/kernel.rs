//! Kernel of grid sampling; the grid may be a constant.

use std::ops::Range;

use super::GridSample;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection, common, pack,
        shader::helpers::ONE_TEXEL,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for GridSample {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for GridSample {
    category!(undivided_weights);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // A position may be anywhere in the image.
        if map.operand == 0 { map.each(|_| 0..map.from.h as isize) } else { map.same() }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Resize, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        weights(graph, node)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let items = common::texels(step);
        let constants = |constant: bool| {
            vec![
                ("LINEAR", common::flag(self.linear)),
                ("BORDER", common::flag(self.border)),
                ("ALIGN_CORNERS", common::flag(self.align_corners)),
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
}

pub(crate) const SHADER: Shader = Shader::new("grid_sample", texpool_shaders::GRID_SAMPLE).helpers(&[ONE_TEXEL]);

/// Returns a constant grid as a whole tensor.
pub(crate) fn weights(graph: &Graph, node: &Node) -> Vec<WeightSection> {
    pack::whole_operand(graph, node, 1)
}

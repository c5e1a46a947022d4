//! Kernel of local response normalization.

use std::ops::Range;

use super::Lrn;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, loops::loops,
        shader::helpers::ONE_TEXEL, wgsl::shader_params,
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Lrn {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Lrn {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Pool, 2 * self.size, 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let items = common::texels(step);
        // A window wider than the number of channels covers all of them.
        let reach = |channels: usize| channels.min(input.shape.c) as u32;
        let [before, behind] = [reach((self.size - 1) / 2), reach(self.size / 2)];
        let params = Params { scale: self.alpha / self.size as f32, beta: self.beta, bias: self.bias, before, behind };
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&params);
        // The slices before the texel's slice, that slice, and the slices after it.
        let slices = (before as usize).div_ceil(4) + 1 + (behind as usize).div_ceil(4);
        let extents = [("s", slices.min(input.shape.slices()))];
        Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, Vec::new(), &extents).reading(input)])
    }
}

pub(crate) const SHADER: Shader =
    Shader::new("lrn", texpool_shaders::LRN).params::<Params>().helpers(&[ONE_TEXEL]).loops(loops![s]);

shader_params! {
    struct Params {
        scale: f32,
        beta: f32,
        bias: f32,
        before: u32,
        behind: u32,
    }
}

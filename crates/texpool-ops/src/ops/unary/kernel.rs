//! Kernel of functions of one value.

use std::ops::Range;

use super::Unary;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        functions::{self, FUNCTIONS},
        shader::helpers::ONE_TEXEL,
        wgsl::shader_params,
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
        let (code, alpha, beta) = functions::code(*self);
        let items = common::texels(step);
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params { alpha, beta });
        let function = ("FUNCTION", f64::from(code));
        Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, vec![function], &[]).reading(input)])
    }
}

pub(crate) const SHADER: Shader =
    Shader::new("unary", texpool_shaders::UNARY).constants(&[FUNCTIONS]).params::<Params>().helpers(&[ONE_TEXEL]);

shader_params! {
    struct Params {
        alpha: f32,
        beta: u32,
    }
}

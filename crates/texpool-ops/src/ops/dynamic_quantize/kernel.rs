//! Kernels of quantisation with a scale that a run computes.

use std::ops::Range;

use super::{DynamicQuantize, DynamicScale, Extremes, STEPS};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, WeightSection, common,
        grid::LANES,
        loops::loops,
        pack,
        shader::helpers::{ONE_TEXEL, VALUE_RANGE},
        wgsl::shader_params,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Extremes {
    const SHADERS: &'static [Shader] = &[EXTREMES];
}

impl Kernels for DynamicScale {
    const SHADERS: &'static [Shader] = &[DYNAMIC_SCALE];
}

impl Kernels for DynamicQuantize {
    const SHADERS: &'static [Shader] = &[DYNAMIC_QUANTIZE];
}

const EXTREMES: Shader =
    Shader::new("extremes", texpool_shaders::EXTREMES).helpers(&[ONE_TEXEL, VALUE_RANGE]).loops(loops![slice]);
const DYNAMIC_SCALE: Shader = Shader::new("dynamic_scale", texpool_shaders::DYNAMIC_SCALE)
    .params::<Params>()
    .helpers(&[VALUE_RANGE])
    .loops(loops![texel, part]);
const DYNAMIC_QUANTIZE: Shader =
    Shader::new("dynamic_quantize", texpool_shaders::DYNAMIC_QUANTIZE).params::<Params>().helpers(&[ONE_TEXEL]);

shader_params! {
    struct Params {
        steps: f32,
    }
}

impl Operator for Extremes {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Reduce)
    }

    /// Computes one pixel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let items = common::texels(step);
        let params = KernelParams::new(step, &epilogue, items).input(input);
        let extents = [("slice", input.shape.slices())];
        Ok(vec![common::dispatch(step, EXTREMES, &epilogue, params, items, Vec::new(), &extents).reading(input)])
    }
}

impl Operator for DynamicScale {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.everything()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Reduce)
    }

    /// Computes the result in one workgroup.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let params = KernelParams::new(step, &epilogue, LANES).input(input).params(&Params { steps: STEPS });
        let texels = input.shape.rows() * input.shape.row_texels();
        let extents = [("texel", texels.div_ceil(LANES as usize)), ("part", LANES as usize)];
        Ok(vec![common::dispatch(step, DYNAMIC_SCALE, &epilogue, params, LANES, Vec::new(), &extents).reading(input)])
    }
}

impl Operator for DynamicQuantize {
    category!(undivided_weights);

    fn properties(&self, _graph: &Graph, _node: &Node) -> Properties {
        plain(ConstantOperands::AfterFirst)
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Elementwise, 1, 1)
    }

    fn weights(&self, graph: &Graph, node: &Node) -> Vec<WeightSection> {
        pack::whole_operand(graph, node, 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let is_constant = step.graph.is_constant(step.node.inputs[1]);
        let constants = [("FROM_ZERO", self.from_zero), ("CONSTANT", is_constant)];
        let constants = constants.map(|(name, set)| (name, common::flag(set))).to_vec();
        let epilogue = EpilogueParams::new(step);
        let items = common::texels(step);
        let args = Params { steps: STEPS };
        let params = KernelParams::new(step, &epilogue, items).input(input);
        if is_constant {
            let params = params.params(&args);
            let dispatch = common::dispatch(step, DYNAMIC_QUANTIZE, &epilogue, params, items, constants, &[]);
            return Ok(vec![dispatch.reading(input).reading_weights(step)]);
        }
        common::no_added_tensor(step)?;
        let by = common::placed(step, 1)?;
        let params = params.second(by).params(&args);
        let dispatch = common::dispatch(step, DYNAMIC_QUANTIZE, &epilogue, params, items, constants, &[]);
        Ok(vec![dispatch.reading(input).reading_second(by)])
    }
}

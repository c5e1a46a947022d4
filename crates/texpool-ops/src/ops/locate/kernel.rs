//! Kernel that finds flags, with one texel per invocation.

use std::ops::Range;

use super::Locate;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common, loops::loops,
        shader::helpers::ONE_TEXEL,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Locate {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Locate {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        // Places are stored as floats, and 16-bit floats are exact only up to 2048.
        let places = Some((node.output, graph.shape(node.output).c));
        Properties { indices: places, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.everything()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let steps = node.inputs.iter().map(|&tensor| halvings(graph.shape(tensor).c)).sum();
        Work::new(graph, node, CostClass::Pool, steps, 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let (sums, ends) = (common::placed(step, 0)?, common::placed(step, 1)?);
        common::no_added_tensor(step)?;
        let epilogue = EpilogueParams::new(step);
        let items = common::texels(step);
        let params = KernelParams::new(step, &epilogue, items).input(sums).second(ends);
        let extents = [("step", halvings(ends.shape.c)), ("half", halvings(sums.shape.c))];
        let dispatch = common::dispatch(step, SHADER, &epilogue, params, items, Vec::new(), &extents);
        Ok(vec![dispatch.reading(sums).reading_second(ends)])
    }
}

/// Returns the steps of a search among this number of elements.
const fn halvings(elements: usize) -> usize {
    (usize::BITS - elements.leading_zeros()) as usize
}

pub(crate) const SHADER: Shader =
    Shader::new("locate", texpool_shaders::LOCATE).helpers(&[ONE_TEXEL]).loops(loops![step, half]);

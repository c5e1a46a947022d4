//! Kernel of reductions of segments.

use std::ops::Range;

use super::{SegmentKind, SegmentReduce};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        loops::loops,
        shader::helpers::ONE_TEXEL,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for SegmentReduce {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for SegmentReduce {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let segments = node.inputs.get(1).map(|&segments| (segments, graph.shape(node.output).w));
        Properties { indices: segments, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        if map.operand == 0 { map.same() } else { map.everything() }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // A comparison for each segment, four at a time.
        let pixels = node.inputs.first().map_or(1, |&x| graph.shape(x).w);
        Work::new(graph, node, CostClass::Reduce, pixels.div_ceil(4), 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let (x, segments) = (common::placed(step, 0)?, common::placed(step, 1)?);
        common::no_added_tensor(step)?;
        let epilogue = EpilogueParams::new(step);
        let items = common::texels(step);
        let params = KernelParams::new(step, &epilogue, items).input(x).second(segments);
        let params = params.params(&Params { neutral: self.kind.neutral() });
        let kind = match self.kind {
            SegmentKind::Sum => SEGMENT_SUM,
            SegmentKind::Prod => SEGMENT_PROD,
            SegmentKind::Max => SEGMENT_MAX,
            SegmentKind::Min => SEGMENT_MIN,
        };
        let constants = vec![("KIND", f64::from(kind))];
        let extents = [("i", segments.shape.slices())];
        let dispatch = common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(x).reading_second(segments)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("segment_reduce", texpool_shaders::SEGMENT_REDUCE)
    .constants(&[SEGMENT_KINDS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL])
    .loops(loops![i]);

shared_constants! {
    /// Reductions that `segment_reduce.wgsl` supports.
    SEGMENT_KINDS:
    SEGMENT_SUM = 0,
    SEGMENT_PROD = 1,
    SEGMENT_MAX = 2,
    SEGMENT_MIN = 3,
}

shader_params! {
    struct Params {
        neutral: f32,
    }
}

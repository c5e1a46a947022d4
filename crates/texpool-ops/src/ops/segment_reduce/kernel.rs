//! Kernel of reductions of segments.

use std::ops::Range;

use super::{SegmentKind, SegmentReduce};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        loops::loops,
        shader::helpers::{ONE_TEXEL, SEGMENTS},
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for SegmentReduce {
    const SHADERS: &'static [Shader] = &[SHADER, SORTED];
}

impl Operator for SegmentReduce {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let segments = node.inputs.get(1).map(|&segments| {
            let places = graph.shape(node.output).w;
            (segments, if self.sorted { places.max(graph.shape(segments).c) } else { places })
        });
        Properties { indices: segments, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        if map.operand == 0 { map.same() } else { map.everything() }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        let steps = match node.inputs[..] {
            [x, lists] if self.sorted => {
                let (pixels, lists) = (graph.shape(x).w, graph.shape(lists));
                lists.h * (halvings(lists.c) + 1) + pixels.div_ceil(graph.shape(node.output).w)
            }
            // A comparison for each segment, four at a time.
            [x, ..] => graph.shape(x).w.div_ceil(4),
            [] => 1,
        };
        Work::new(graph, node, CostClass::Reduce, steps, 1)
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
        let mut constants = vec![("KIND", f64::from(kind))];
        let (slices, rows) = (segments.shape.slices(), segments.shape.h);
        let (shader, extents) = if self.sorted {
            let taken = if rows * slices < MANY_TEXELS { 1 } else { 4 };
            constants.push(("TAKEN", taken as f64));
            let step = halvings(segments.shape.c);
            (SORTED, vec![("row", rows), ("step", step), ("i", slices.div_ceil(taken))])
        } else {
            (SHADER, vec![("i", slices)])
        };
        let dispatch = common::dispatch(step, shader, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(x).reading_second(segments)])
    }
}

/// Number of texels of lists from which a round takes several, so that all pixels may have one segment.
const MANY_TEXELS: usize = 1 << 15;

/// Returns the steps of a search among this number of segments.
const fn halvings(segments: usize) -> usize {
    (usize::BITS - segments.leading_zeros()) as usize
}

pub(crate) const SHADER: Shader = Shader::new("segment_reduce", texpool_shaders::SEGMENT_REDUCE)
    .chosen_if("few segments are read for a texel, so an invocation compares all of them")
    .constants(&[SEGMENT_KINDS])
    .params::<Params>()
    .helpers(&[SEGMENTS, ONE_TEXEL])
    .loops(loops![i]);
pub(crate) const SORTED: Shader = Shader::new("segment_reduce_sorted", texpool_shaders::SEGMENT_REDUCE_SORTED)
    .chosen_if("the segments are sorted, so an invocation searches for its own")
    .constants(&[SEGMENT_KINDS])
    .params::<Params>()
    .helpers(&[SEGMENTS, ONE_TEXEL])
    .loops(loops![row [step, i]]);

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

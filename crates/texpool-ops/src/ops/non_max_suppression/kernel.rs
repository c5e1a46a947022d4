//! Kernel of non-maximum suppression: a workgroup selects the boxes of a row of scores, one after another.

use std::ops::Range;

use super::{MOST_BOXES, NonMaxSuppression};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        grid::LANES,
        loops::loops,
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for NonMaxSuppression {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for NonMaxSuppression {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let boxes = node.inputs.first().map(|&boxes| graph.shape(boxes).w);
        Properties { indices: boxes.map(|boxes| (node.output, boxes)), ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // All rows of scores share the boxes of their batch.
        if map.operand == 0 { map.each(|_| 0..map.from.h as isize) } else { map.same() }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Every selected box is compared with all others.
        let boxes = node.inputs.first().map_or(1, |&boxes| graph.shape(boxes).w);
        Work::new(graph, node, CostClass::Rows, boxes, 1)
    }

    /// Selects the boxes of a row of scores per workgroup.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let (boxes, scores) = (common::placed(step, 0)?, common::placed(step, 1)?);
        common::no_added_tensor(step)?;
        let epilogue = EpilogueParams::new(step);
        let items = step.rows.len() as u32 * LANES;
        let params = Params { score: self.score.value, overlap: self.overlap.value, unused: self.unused };
        let params = KernelParams::new(step, &epilogue, items).input(boxes).second(scores).params(&params);
        let lanes = LANES as usize;
        // A lane has every `LANES`th texel of scores, and the lanes store a window of the result together.
        let texels = boxes.shape.w.div_ceil(BOXES_A_TEXEL).div_ceil(lanes);
        let windows = step.output.shape.w.div_ceil(lanes);
        let taken = if windows * lanes * texels < LONG { 1 } else { TEXELS_A_WORD };
        let constants = vec![
            ("PLACES", self.places as f64),
            ("SCORE_INCLUDED", common::flag(self.score.is_included)),
            ("OVERLAP_INCLUDED", common::flag(self.overlap.is_included)),
            ("TAKEN", taken as f64),
        ];
        let extents = [
            ("texel", texels),
            ("window", windows),
            ("place", self.places.min(lanes)),
            ("words", texels.div_ceil(taken)),
        ];
        let dispatch = common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents);
        Ok(vec![dispatch.reading(boxes).reading_second(scores)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("non_max_suppression", texpool_shaders::NON_MAX_SUPPRESSION)
    .constants(&[SIZES])
    .params::<Params>()
    .loops(loops![texel, window[place[words]]]);

/// Visits of texels, at all places together, from which a lane visits the texels of a word in each round. With fewer, the
/// longer shader gains nothing.
const LONG: usize = 50_000;

/// Boxes whose scores are in a texel.
const BOXES_A_TEXEL: usize = 4;
/// Texels whose flags are in a word.
const TEXELS_A_WORD: usize = 8;

shared_constants! {
    /// Sizes of `non_max_suppression.wgsl`.
    SIZES:
    /// Words of flags, for all boxes that a row may have.
    BOX_WORDS = (MOST_BOXES / BOXES_A_TEXEL / TEXELS_A_WORD) as u32,
}

shader_params! {
    struct Params {
        score: f32,
        overlap: f32,
        unused: [f32; 2],
    }
}

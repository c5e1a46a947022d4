//! Kernel of normalization over axes. A team of lanes computes each group of values with a common statistic.

use std::ops::Range;

use super::{Normalize, Statistic};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        grid::LANES,
        loops::{loops, taken_a_round},
        wgsl::shader_params,
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Normalize {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for Normalize {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.reduced(self.axes)
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        // Sums of the values and of their squares, and the final operations on each value.
        Work::new(graph, node, CostClass::Pool, 7, 1)
    }

    /// Computes each group of values with a common statistic by a team of lanes. A group that extends beyond the step's
    /// rows is summed completely and always in the same order.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let Normalize { axes, statistic, epsilon, offset, least, .. } = *self;
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let x = input.shape;
        let [batch, height, width, channels] = axes;
        let of = |joined: bool, extent: usize| if joined { [1, extent] } else { [extent, 1] };
        let ([columns, pixels], [depths, slices]) = (of(width, x.w), of(channels, x.slices()));
        let outer = match (batch, height) {
            (false, false) => step.rows.clone(),
            (false, true) => common::images(step),
            (true, false) => 0..x.h as u32,
            (true, true) => 0..1,
        };
        let [batches, rows] = [of(batch, x.b)[1], of(height, x.h)[1]];
        let texels = batches * rows * pixels * slices;
        // Lanes past the last channel are zero in the sums and do not count. If channels are not reduced, each lane is
        // a separate group.
        let count = batches * rows * pixels * if channels { x.c } else { 1 };
        // Each lane of a team has at least four texels; with fewer, synchronisation would take longer than adding.
        let team = match texels {
            0..32 => 1,
            32..256 => 8,
            _ => LANES,
        };
        let items = outer.len() as u32 * (columns * depths) as u32 * team;
        // The first group along batch and height: a row, an image, or a row of all images.
        let params = KernelParams::new(step, &epilogue, items).input(input).first(outer.start).params(&Params {
            joined: axes,
            columns,
            depths,
            batches,
            rows,
            pixels,
            slices,
            values: count as f32,
            divisor: self.divisor(count as f32),
            epsilon,
            offset,
            least,
        });
        let centred = common::flag(statistic == Statistic::Variance);
        let each = texels.div_ceil(team as usize);
        let taken = taken_a_round(each);
        let one_pixel = common::flag([batches, rows, pixels] == [1; 3]);
        let constants =
            vec![("TEAM", f64::from(team)), ("CENTRED", centred), ("TAKEN", taken as f64), ("ONE_PIXEL", one_pixel)];
        let extents = [("i", each.div_ceil(taken)), ("member", team as usize)];
        Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents).reading(input)])
    }
}

pub(crate) const SHADER: Shader =
    Shader::new("normalize", texpool_shaders::NORMALIZE).params::<Params>().loops(loops![i, member, i, member, i]);

shader_params! {
    struct Params {
        /// Axes that share a statistic.
        joined: [bool; 4],
        /// Number of groups along width, and along channels in slices.
        columns: usize,
        depths: usize,
        /// Extents of a group, with channels in slices.
        batches: usize,
        rows: usize,
        pixels: usize,
        slices: usize,
        /// Number of values in a group.
        values: f32,
        /// Divisor of the sum of squares.
        divisor: f32,
        epsilon: f32,
        offset: f32,
        least: f32,
    }
}

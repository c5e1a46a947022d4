//! Kernel of running sums, with one line along the axis per invocation.

use std::ops::Range;

use super::CumSum;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        loops::{loops, taken_a_round},
        wgsl::shader_params,
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for CumSum {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for CumSum {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        // Along height, a row reads all rows before it (or after it, in reverse). It reads itself unless the sum is
        // exclusive.
        let own = isize::from(!self.exclusive);
        match self.axis {
            0 if map.from.b > 1 => map.everything(),
            1 if self.reverse => map.each(|y| y as isize + 1 - own..map.from.h as isize),
            1 => map.each(|y| 0..y as isize + own),
            _ => map.same(),
        }
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Reduce)
    }

    /// Computes one line along the axis per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let x = input.shape;
        // A sum needs all earlier elements, so an invocation follows a line along rows completely and stores only the
        // stripe's part.
        let (outer, lines) = match self.axis {
            0 => (0..x.h as u32, x.row_texels()),
            1 => (common::images(step), x.row_texels()),
            2 => (step.rows.clone(), x.slices()),
            _ => (step.rows.clone(), x.w),
        };
        let items = outer.len() as u32 * lines as u32;
        let params = KernelParams::new(step, &epilogue, items)
            .input(input)
            .first(outer.start)
            .params(&Params { axis: self.axis });
        let length = [x.b, x.h, x.w, x.slices()].get(self.axis).copied().unwrap_or_default();
        let taken = taken_a_round(length);
        let flags = [("EXCLUSIVE", common::flag(self.exclusive)), ("REVERSE", common::flag(self.reverse))];
        let constants = flags.into_iter().chain([("TAKEN", taken as f64)]).collect();
        let extents = [("i", length.div_ceil(taken))];
        Ok(vec![common::dispatch(step, SHADER, &epilogue, params, items, constants, &extents).reading(input)])
    }
}

pub(crate) const SHADER: Shader = Shader::new("cum_sum", texpool_shaders::CUM_SUM).params::<Params>().loops(loops![i]);

shader_params! {
    struct Params {
        axis: usize,
    }
}

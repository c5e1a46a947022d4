//! Kernel of softmax over channels, and of its logarithm.

use std::ops::Range;

use super::Softmax;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        grid::LANES,
        loops::{loops, taken_a_round},
        shader::helpers::SOFTMAX,
        wgsl::shader_params,
    },
    ops::{
        operator::{Kernels, Operator, category},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for Softmax {
    const SHADERS: &'static [Shader] = &[NARROW, WIDE];
}

impl Operator for Softmax {
    category!(one_operand);

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Softmax, 1, 1)
    }

    /// Computes one pixel per invocation, or one pixel per workgroup if there are many channels and few pixels.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let pixels = step.rows.len() as u32 * input.shape.w as u32;
        // Decided by the whole tensor, not by a stripe of it, so that every plan adds up in the same order.
        let shape = input.shape;
        let wide = shape.slices() >= WIDE_SLICES && shape.pixels() < MANY_PIXELS * shape.slices();
        let (shader, items) = if wide { (WIDE, pixels * LANES) } else { (NARROW, pixels) };
        let params = KernelParams::new(step, &epilogue, items).input(input).params(&Params { beta: self.beta });
        let slices = if wide { shape.slices().div_ceil(LANES as usize) } else { shape.slices() };
        let taken = taken_a_round(slices);
        // The narrow shader has no loop that combines lanes.
        let extents = [("s", slices.div_ceil(taken)), ("i", LANES as usize)];
        let extents = if wide { &extents[..] } else { &extents[..1] };
        let constants = vec![("LOG", common::flag(self.log)), ("TAKEN", taken as f64)];
        Ok(vec![common::dispatch(step, shader, &epilogue, params, items, constants, extents).reading(input)])
    }
}

pub(crate) const NARROW: Shader = Shader::new("softmax", texpool_shaders::SOFTMAX)
    .chosen_if("an invocation per pixel fills the device: few channels, or many pixels for each slice")
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, s, s]);
pub(crate) const WIDE: Shader = Shader::new("softmax_wide", texpool_shaders::SOFTMAX_WIDE)
    .chosen_if("a workgroup per pixel fills the device: many channels, and few pixels for each slice")
    .params::<Params>()
    .helpers(&[SOFTMAX])
    .loops(loops![s, i, s, i, s]);

shader_params! {
    struct Params {
        beta: f32,
    }
}

/// Minimum number of slices for which a pixel gets a workgroup, if there are few pixels; below this, most lanes would
/// be idle.
const WIDE_SLICES: usize = LANES as usize / 2;
/// Minimum number of pixels per slice at which one invocation per pixel is enough to fill a device. Attention has
/// many rows: for MiniLM's 1536 pixels of 32 slices (48 per slice), one workgroup per pixel took ten times as long on
/// lavapipe. Classifiers have few: one pixel of 251 slices. The value lies between the two; nothing in between was
/// measured.
const MANY_PIXELS: usize = 8;

//! Kernels that find the greatest or least channels of each pixel. If this takes few channel reads, each invocation
//! computes one texel of the result; otherwise, a workgroup computes a window of the sorted order.

use std::ops::Range;

use super::TopK;
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
        grid::LANES,
        loops::{loops, taken_a_round},
        shader::helpers::{ONE_TEXEL, TOP_K},
        wgsl::shared_constants,
    },
    ops::{
        operator::{ConstantOperands, Kernels, Operator, Properties, category, plain},
        rows::RowMap,
        work::{CostClass, Work},
    },
};

impl Kernels for TopK {
    const SHADERS: &'static [Shader] = &[NARROW, WIDE];
}

impl Operator for TopK {
    category!(one_operand_with_properties);

    fn properties(&self, graph: &Graph, node: &Node) -> Properties {
        let answered = match (self.indices, &node.inputs[..]) {
            // Reported because channel indices are stored as floats, and 16-bit floats are exact only up to 2048.
            (true, &[x, ..]) => Some((node.output, graph.shape(x).c)),
            _ => None,
        };
        Properties { indices: answered, ..plain(ConstantOperands::AfterFirst) }
    }

    fn input_rows(&self, map: &RowMap<'_>) -> Vec<Range<u32>> {
        map.same()
    }

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::of_all_texels(graph, node, CostClass::Pool)
    }

    /// Computes one texel per invocation, or one window of the sorted order per workgroup.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let input = common::placed(step, 0)?;
        let epilogue = EpilogueParams::new(step);
        let (channels, slices) = (input.shape.c, input.shape.slices());
        let places = step.output.shape.c;
        let mut constants = vec![("LARGEST", common::flag(self.largest)), ("INDICES", common::flag(self.indices))];
        // Number of channel reads of the last texel, which has the most. It depends only on shapes, so every plan uses
        // the same kernel.
        let wide = places * channels > FEW_LOOKS[usize::from(input.shape.pixels() >= MANY_PIXELS)];
        let (shader, items, extents) = if wide {
            let windows = places.div_ceil(TOP_K_WINDOW as usize);
            let sizes = WideSizes::new(channels, places);
            let taken = taken_a_round(slices.div_ceil(LANES as usize));
            constants.push(("DIGITS", f64::from(sizes.digits)));
            constants.push(("SORTED", f64::from(sizes.sorted)));
            constants.push(("WINDOWED", common::flag(windows > 1)));
            constants.push(("TAKEN", taken as f64));
            // Cannot overflow: there are fewer windows than channels per lane, and `ops::check` limits the number of
            // elements.
            let windows = step.rows.len() as u32 * input.shape.w as u32 * windows as u32;
            (WIDE, windows * LANES, sizes.extents(slices.div_ceil(taken)))
        } else {
            (NARROW, common::texels(step), vec![("place", places), ("s", slices), ("lane", 4)])
        };
        let params = KernelParams::new(step, &epilogue, items).input(input);
        Ok(vec![common::dispatch(step, shader, &epilogue, params, items, constants, &extents).reading(input)])
    }
}

pub(crate) const NARROW: Shader = Shader::new("top_k", texpool_shaders::TOP_K)
    .chosen_if("few channels are read for a texel, so an invocation computes each")
    .helpers(&[ONE_TEXEL, TOP_K])
    .loops(loops![place[s[lane]]]);
pub(crate) const WIDE: Shader = Shader::new("top_k_wide", texpool_shaders::TOP_K_WIDE)
    .chosen_if("many channels are read for a texel, so a workgroup sorts those of a pixel")
    .constants(&[SIZES])
    .helpers(&[TOP_K])
    .loops(loops![
        byte [bin, s, bin, other, bin],
        byte [bin, s, bin, other, bin],
        s,
        fill,
        run [distance [pair]],
        out
    ]);

shared_constants! {
    /// Sizes of `top_k_wide.wgsl`.
    SIZES:
    /// Positions of the sorted order that a workgroup computes. They use half of the workgroup memory of core WebGPU.
    TOP_K_WINDOW = 1024,
}

/// Maximum number of channel reads (per texel) for the kernel with one invocation per texel, with few pixels and with
/// many. On lavapipe, a workgroup takes about 75 microseconds per pixel. For the top 5 of 1000 channels of 64 pixels,
/// workgroups took six times as long.
const FEW_LOOKS: [usize; 2] = [2048, 16384];
/// Number of pixels that counts as many.
const MANY_PIXELS: usize = 32;

/// Constants of `top_k_wide.wgsl`.
struct WideSizes {
    /// Number of bytes in which two channels can differ: four for the value, the rest for the channel index.
    digits: u32,
    /// Number of positions to sort, a power of two.
    sorted: u32,
}

impl WideSizes {
    fn new(channels: usize, places: usize) -> Self {
        let number_bits = usize::BITS - channels.saturating_sub(1).leading_zeros();
        let sorted = places.clamp(4, TOP_K_WINDOW as usize).next_power_of_two();
        Self { digits: 4 + number_bits.div_ceil(8), sorted: sorted as u32 }
    }

    /// Returns the number of indices of each loop of a lane.
    fn extents(&self, slices: usize) -> Vec<(&'static str, usize)> {
        let lanes = LANES as usize;
        let (sorted, stages) = (self.sorted as usize, self.sorted.ilog2() as usize);
        vec![
            ("byte", self.digits as usize),
            ("bin", 256 / lanes),
            ("s", slices.div_ceil(lanes)),
            ("other", lanes),
            ("fill", sorted.div_ceil(lanes)),
            ("run", stages),
            // An upper limit: only the last stage has this many steps.
            ("distance", stages),
            ("pair", (sorted / 2).div_ceil(lanes)),
            ("out", sorted.div_ceil(4 * lanes)),
        ]
    }
}

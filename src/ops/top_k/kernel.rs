//! The greatest or least channels of each pixel: a texel of the result an invocation where few looks at channels find
//! them, else a workgroup for each window of the order.

use crate::kernels::{
    Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, common,
    grid::LANES,
    shader::helpers::{ONE_TEXEL, TOP_K},
    wgsl::shared_constants,
};

pub(crate) const NARROW: Shader =
    Shader::new("top_k", include_str!("../../../shaders/top_k.wgsl")).helpers(&[ONE_TEXEL, TOP_K]);
pub(crate) const WIDE: Shader =
    Shader::new("top_k_wide", include_str!("../../../shaders/top_k_wide.wgsl")).constants(&[SIZES]).helpers(&[TOP_K]);

shared_constants! {
    /// Sizes of `top_k_wide.wgsl`.
    SIZES:
    /// Places of the order that a workgroup computes: half of the workgroup memory that core WebGPU has.
    TOP_K_WINDOW = 1024,
}

/// Looks at a channel up to which an invocation finds its places one after another: with few pixels, and with many. On
/// lavapipe a workgroup takes about 75 microseconds a pixel; the first five of 1000 channels of 64 pixels took six times
/// as long by workgroups.
const FEW_LOOKS: [usize; 2] = [2048, 16384];
/// Pixels that are many.
const MANY_PIXELS: usize = 32;

/// A texel of the result an invocation, or a workgroup for each window of the order.
pub(crate) fn dispatches(step: &StepContext<'_>, largest: bool, indices: bool) -> Result<Vec<Dispatch>, KernelError> {
    let input = common::placed(step, 0)?;
    let epilogue = EpilogueParams::new(step.graph, step.node, 0);
    let (channels, slices) = (input.shape.c, input.shape.slices());
    let places = step.output.shape.c;
    let mut constants = vec![("LARGEST", common::flag(largest)), ("INDICES", common::flag(indices))];
    // The looks of the last texel, which has the most. Shapes alone decide, so every plan has the same kernel.
    let wide = places * channels > FEW_LOOKS[usize::from(input.shape.pixels() >= MANY_PIXELS)];
    let (shader, items, iterations) = if wide {
        let windows = places.div_ceil(TOP_K_WINDOW as usize);
        let sizes = WideSizes::new(channels, places);
        constants.push(("DIGITS", f64::from(sizes.digits)));
        constants.push(("SORTED", f64::from(sizes.sorted)));
        constants.push(("WINDOWED", common::flag(windows > 1)));
        // Does not wrap: there are fewer windows than channels for each lane, and `ops::check` bounds elements.
        let windows = step.rows.len() as u32 * input.shape.w as u32 * windows as u32;
        (WIDE, windows * LANES, sizes.iterations(slices, places))
    } else {
        (NARROW, common::texels(step), common::nested(&[places, slices, 4]))
    };
    let params = KernelParams::new(step, &epilogue, items).input(input);
    Ok(vec![common::dispatch(step, shader, &epilogue, params, items, constants).reading(input).iterating(iterations)])
}

/// Constants of `top_k_wide.wgsl`.
struct WideSizes {
    /// Bytes in which two channels can differ: four of the value, and those of the number.
    digits: u32,
    /// Places that are sorted, a power of two.
    sorted: u32,
}

impl WideSizes {
    fn new(channels: usize, places: usize) -> Self {
        let number_bits = usize::BITS - channels.saturating_sub(1).leading_zeros();
        let sorted = places.clamp(4, TOP_K_WINDOW as usize).next_power_of_two();
        Self { digits: 4 + number_bits.div_ceil(8), sorted: sorted as u32 }
    }

    /// How often a lane goes round its loops at most.
    fn iterations(&self, slices: usize, places: usize) -> u64 {
        let lanes = LANES as usize;
        let (bins, sorted) = (256 / lanes, self.sorted as usize);
        let all_channels = common::nested(&[slices.div_ceil(lanes)]);
        // Clearing bins, counting channels, adding bins up, those of other lanes, and finding the bin.
        let digit = 3 * common::nested(&[bins]) + all_channels + common::nested(&[lanes]) + 1;
        let bound = u64::from(self.digits) * digit + 2;
        let bounds = if places > TOP_K_WINDOW as usize { 2 } else { 1 };
        let stages = self.sorted.ilog2() as usize;
        // Not all stages have as many steps as the last.
        let sort = common::nested(&[stages, stages, (sorted / 2).div_ceil(lanes)]);
        let fill_and_store = 2 * common::nested(&[sorted.div_ceil(lanes)]);
        bounds * bound + all_channels + sort + fill_and_store
    }
}

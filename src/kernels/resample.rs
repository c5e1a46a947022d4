//! Resizes of every convention: the pixels and parts that make each row and column are worked out here, in 64 bits.

use super::{Dispatch, EpilogueParams, KernelError, KernelParams, Shader, StepContext, family};
use crate::graph::{CoordMode, Op, ResizeAxis};

pub(super) const SHADER: Shader = Shader::new("resample", include_str!("../../shaders/resample.wgsl"));

/// What stands for the first pixel of what lies outside.
const OUTSIDE: u32 = i32::MIN as u32;

/// Own params in front of the tables.
const HEAD: u32 = 8 + 2;

/// KernelParams of a table of the first pixels, four in each group.
fn first_pixels(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    let mut params: Vec<u32> = (0..extent).map(|i| axis.at(i).map_or(OUTSIDE, |t| t.first as i32 as u32)).collect();
    params.resize(extent.next_multiple_of(4), 0);
    params
}

/// KernelParams of a table of parts, four for each place.
fn parts(axis: &ResizeAxis, extent: usize) -> Vec<u32> {
    (0..extent).flat_map(|i| axis.at(i).map_or([0.0; 4], |t| t.weights).map(f32::to_bits)).collect()
}

/// One texel an invocation.
pub(crate) fn dispatches(step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
    let input = family::placed(step, 0)?;
    let op = &step.node.op;
    let (from, to) = (input.shape, step.output.shape);
    let axes = [ResizeAxis::new(op, 0, from.h, to.h), ResizeAxis::new(op, 1, from.w, to.w)];
    let [Some(down), Some(across)] = axes else { return Err(family::unsupported(step, "it is no resize".into())) };
    let extrapolation = match op {
        Op::Resize { coords: CoordMode::TfCropAndResize { extrapolation, .. }, .. } => Some(*extrapolation),
        _ => None,
    };
    let taps = down.taps();
    let mut tables = [first_pixels(&down, to.h), first_pixels(&across, to.w), Vec::new(), Vec::new()];
    if taps > 1 {
        [tables[2], tables[3]] = [parts(&down, to.h), parts(&across, to.w)];
    }
    let mut next = HEAD;
    let starts = tables.each_ref().map(|table| {
        let start = next;
        next += table.len() as u32 / 4;
        start
    });
    let plan = EpilogueParams::new(step.graph, step.node, 0);
    let items = family::texels(step);
    let mut params = KernelParams::new(step, &plan, items).input(input).own(starts).own([
        extrapolation.unwrap_or_default().to_bits(),
        0,
        0,
        0,
    ]);
    for &group in tables.iter().flat_map(|table| table.as_chunks::<4>().0) {
        params = params.own(group);
    }
    let constants = vec![("TAPS", taps as f64), ("OUTSIDE", f64::from(u8::from(extrapolation.is_some())))];
    Ok(vec![family::dispatch(step, SHADER, &plan, params, items, constants).reading(input)])
}

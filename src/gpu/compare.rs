//! Comparing a run on the device with the CPU references, step by step.

use std::ops::ControlFlow;

use super::{Executor, ExecutorOptions, Gpu, GpuError};
use crate::{
    compile::{CompileOptions, CompiledModel},
    graph::{Graph, NotFinite},
    ops::reference,
    plan::{SearchControl, TexelFormat},
};

/// How far a step's result is from the reference's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepDifference {
    /// The step's number in the schedule.
    pub step: usize,
    /// Index of its operator in the model file.
    pub op_index: usize,
    /// The operator's name.
    pub op: &'static str,
    /// The tensor that it writes.
    pub tensor: String,
    /// The greatest difference of two values; infinite where one of them only is finite, or a number.
    pub worst: f32,
    /// Where that is, `[B, H, W, C]`.
    pub at: [usize; 4],
    /// What the device has there.
    pub device: f32,
    /// What the reference has there.
    pub reference: f32,
    /// The greatest magnitude of the reference's finite results.
    pub largest: f32,
    /// What the device has that is not finite.
    pub device_not_finite: NotFinite,
    /// What the reference has that is not finite.
    pub reference_not_finite: NotFinite,
}

impl StepDifference {
    /// The difference as a part of the tensor's greatest magnitude (of one, where that is smaller).
    pub fn relative(&self) -> f32 {
        self.worst / self.largest.max(1.0)
    }
}

/// By how much of a tensor's greatest magnitude a result may differ from the reference's before it counts as diverging:
/// roundings add up along a model, and 16-bit textures round every value to 11 bits. Both are chosen.
pub const fn tolerance(format: TexelFormat) -> f32 {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => 1e-4,
        TexelFormat::Rgba16Float => 3e-2,
    }
}

/// Runs the model on the device as `compile` plans it, and beside it the CPU references from the same inputs. Answers
/// how far each step's result is from the reference's, in order, up to the first that is further than `tolerance`, if
/// one is. `progress` is told the number of each step that is done, and of how many, and answers whether to go on.
///
/// # Errors
/// As [`Executor::new`] and [`Executor::run`]; [`GpuError::Reference`] where a reference has no answer;
/// [`GpuError::Cancelled`] where `progress` breaks off.
pub fn compare(
    gpu: &Gpu,
    graph: &Graph,
    compile: CompileOptions,
    inputs: &[&[f32]],
    tolerance: f32,
    progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<StepDifference>, GpuError> {
    let compile = CompileOptions { limits: gpu.texture_limits(), ..compile };
    let compiled = crate::compile::compile(graph, &compile, &SearchControl::new())?;
    compare_compiled(gpu, compiled, compile, inputs, tolerance, progress)
}

/// The same of a model that was compiled with `compile` for the device, within its [limits](Gpu::texture_limits).
///
/// # Errors
/// As [`compare`].
pub fn compare_compiled(
    gpu: &Gpu,
    compiled: CompiledModel,
    compile: CompileOptions,
    inputs: &[&[f32]],
    tolerance: f32,
    mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<StepDifference>, GpuError> {
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options)?;
    // A copy, since the session is borrowed while the steps are looked at.
    let compiled = session.compiled().clone();
    let owned: Vec<Vec<f32>> = inputs.iter().map(|values| values.to_vec()).collect();
    // Of the graph as it was rewritten, whose nodes are the steps.
    let references = reference::graph(&compiled.graph, &owned)?;
    let steps = compiled.schedule.steps.len();
    let (mut differences, mut cancelled) = (Vec::new(), false);
    session.run_stepwise(inputs, |number, values| {
        let step = &compiled.schedule.steps[number];
        let node = &compiled.graph.nodes[step.node];
        let Some(expected) = &references[node.output] else { return true };
        let shape = compiled.graph.shape(node.output);
        let row = shape.w * shape.c;
        let first = step.rows.start as usize * row;
        let there = &expected[first..(first + values.len()).min(expected.len())];
        let (worst, at) = largest_difference(values, there);
        let place = first + at;
        let (y, x) = (place / row, place % row / shape.c.max(1));
        let difference = StepDifference {
            step: number,
            op_index: node.op_index,
            op: node.op.name(),
            tensor: compiled.graph.tensors[node.output].name.clone(),
            worst,
            at: [y / shape.h, y % shape.h, x, place % shape.c],
            device: values.get(at).copied().unwrap_or(0.0),
            reference: expected.get(place).copied().unwrap_or(0.0),
            // Of the whole tensor, so that a band is held to the same tolerance wherever it is cut.
            largest: largest_magnitude(expected),
            device_not_finite: NotFinite::of(values),
            reference_not_finite: NotFinite::of(there),
        };
        let near = difference.relative() <= tolerance;
        differences.push(difference);
        cancelled = progress(number + 1, steps).is_break();
        near && !cancelled
    })?;
    if cancelled { Err(GpuError::Cancelled { doing: "comparing" }) } else { Ok(differences) }
}

/// The greatest magnitude of the finite values.
pub fn largest_magnitude(values: &[f32]) -> f32 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |largest, v| largest.max(v.abs()))
}

/// The greatest distance of two values at the same place, and the place. Equal values, infinities of one sign among
/// them, are no distance apart, nor are two NaN; a NaN is infinitely far from any number, and an infinity from any
/// other.
pub fn largest_difference(found: &[f32], expected: &[f32]) -> (f32, usize) {
    let (mut worst, mut at) = (0.0, 0);
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let apart = distance(found, expected);
        if apart > worst {
            (worst, at) = (apart, i);
        }
    }
    (worst, at)
}

fn distance(a: f32, b: f32) -> f32 {
    if a == b || a.is_nan() && b.is_nan() {
        0.0
    } else {
        let apart = (a - b).abs();
        if apart.is_nan() { f32::INFINITY } else { apart }
    }
}

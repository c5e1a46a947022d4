//! Comparing a run on the device with the CPU references, step by step.

use std::ops::ControlFlow;

use super::{Executor, ExecutorOptions, Gpu, GpuError, RunWarnings, carry::first_values};
use texpool_compile::{CompileOptions, CompiledModel};
use texpool_ops::{
    graph::{Graph, InputValues, NotFinite},
    ops::reference,
};
use texpool_plan::{SearchControl, TexelFormat};

/// Difference between a step's result on the device and the reference.
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
    /// The largest difference of two values; infinite if only one of them is finite, or only one is a number.
    pub worst: f32,
    /// Position of that difference, as `[B, H, W, C]`.
    pub at: [usize; 4],
    /// Value of the device at that position.
    pub device: f32,
    /// Value of the reference at that position.
    pub reference: f32,
    /// The largest magnitude among the reference's finite values.
    pub largest: f32,
    /// Non-finite values of the device.
    pub device_not_finite: NotFinite,
    /// Non-finite values of the reference.
    pub reference_not_finite: NotFinite,
}

impl StepDifference {
    /// Returns the difference relative to the tensor's largest magnitude (at least one).
    pub fn relative(&self) -> f32 {
        self.worst / self.largest.max(1.0)
    }
}

/// Returns the relative difference above which a result counts as diverging. Rounding errors add up along a model,
/// and 16-bit textures round every value to 11 bits. Both thresholds were chosen by judgement.
pub const fn tolerance(format: TexelFormat) -> f32 {
    match format {
        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint | TexelFormat::Rgba8Uint => 1e-4,
        TexelFormat::Rgba16Float => 3e-2,
    }
}

/// Runs the model on the device as planned by `compile`, runs the CPU references on the same inputs, and compares
/// each step. Returns the differences in order, up to and including the first above `tolerance`. After each step,
/// `progress` gets the number of finished steps and the total, and returns whether to continue.
///
/// # Errors
/// As [`Executor::new`] and [`Executor::run`]; [`GpuError::Reference`] if the reference cannot compute a result;
/// [`GpuError::Cancelled`] if `progress` stops the comparison.
pub fn compare<'v>(
    gpu: &Gpu,
    graph: &Graph,
    compile: CompileOptions,
    inputs: &[impl Into<InputValues<'v>> + Copy],
    tolerance: f32,
    progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<StepDifference>, GpuError> {
    let compile = gpu.options(compile);
    let compiled = texpool_compile::compile(graph, &compile, &SearchControl::new())?;
    Ok(compare_compiled(gpu, compiled, compile, inputs, tolerance, progress)?.0)
}

/// Version of `compare` for a model that was already compiled with `compile`, within the device's
/// [limits](Gpu::texture_limits). Also returns the values that the compared steps clamped, which the references clamp
/// alike.
///
/// # Errors
/// As [`compare`].
pub fn compare_compiled<'v>(
    gpu: &Gpu,
    compiled: CompiledModel,
    compile: CompileOptions,
    inputs: &[impl Into<InputValues<'v>> + Copy],
    tolerance: f32,
    mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<(Vec<StepDifference>, RunWarnings), GpuError> {
    let options = ExecutorOptions { compile, ..ExecutorOptions::default() };
    let mut session = Executor::from_compiled(gpu, compiled, &options)?;
    // Cloned, because the session is borrowed while the steps run.
    let compiled = session.compiled().clone();
    let graph = compiled.graph();
    // Variables begin with their first values.
    let first = graph.variables.iter().map(|variable| {
        let zeros = || vec![0.0; graph.shape(graph.inputs[variable.input]).len()];
        first_values(variable).unwrap_or_else(zeros)
    });
    let by_index: Vec<_> = inputs.iter().map(|&values| values.into()).enumerate().collect();
    let given = graph.padded_inputs(&by_index, compiled.format().max_exact_integer() as usize)?;
    let owned: Vec<Vec<f32>> = given.into_iter().map(|(_, values)| values.into_owned()).chain(first).collect();
    // Uses the rewritten graph, whose nodes are the steps.
    let references = reference::graph(compiled.graph(), &owned)?;
    let steps = compiled.schedule().steps.len();
    let (mut differences, mut cancelled) = (Vec::new(), false);
    session.run_stepwise(inputs, |number, values| {
        let step = &compiled.schedule().steps[number];
        let node = &compiled.graph().nodes[step.node];
        let Some(expected) = &references[node.output] else { return true };
        let shape = compiled.graph().shape(node.output);
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
            tensor: compiled.graph().tensors[node.output].name.clone(),
            worst,
            at: [y / shape.h, y % shape.h, x, place % shape.c],
            device: values.get(at).copied().unwrap_or(0.0),
            reference: expected.get(place).copied().unwrap_or(0.0),
            // Computed over the whole tensor, so that the tolerance of a stripe does not depend on the cut.
            largest: largest_magnitude(expected),
            device_not_finite: NotFinite::of(values),
            reference_not_finite: NotFinite::of(there),
        };
        let near = difference.relative() <= tolerance;
        differences.push(difference);
        cancelled = progress(number + 1, steps).is_break();
        near && !cancelled
    })?;
    if cancelled {
        return Err(GpuError::Cancelled { doing: "comparing" });
    }
    Ok((differences, session.warnings()?))
}

/// Returns the largest magnitude of the finite values.
pub fn largest_magnitude(values: &[f32]) -> f32 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |largest, v| largest.max(v.abs()))
}

/// Returns the largest distance of two values at the same index, and the index. Equal values (including infinities of
/// the same sign) and two NaN have distance 0. NaN is infinitely far from any number, and an infinity from any other
/// value.
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

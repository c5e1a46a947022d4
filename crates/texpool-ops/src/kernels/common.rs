//! Functions that kernels share: find operands, pack epilogues, assemble dispatches.

use std::{ops::Range, sync::Arc};

use crate::graph::TexelStorage;

use super::{
    Constants, Dispatch, EpilogueParams, KernelError, KernelParams, Operand, Shader, StepContext, grid::LANES,
};

/// Returns operand `index` of a step, which must not be a constant.
pub(crate) fn placed<'a>(step: &'a StepContext<'_>, index: usize) -> Result<&'a Operand, KernelError> {
    match step.inputs.get(index) {
        Some(Some(operand)) => Ok(operand),
        Some(None) => Err(step.unsupported(format!("operand {index} is a constant, which this operator cannot read"))),
        None => Err(step.unsupported(format!("operand {index} is missing"))),
    }
}

/// Checks that operand `index` is a constant, as required for weights.
pub(crate) fn constant(step: &StepContext<'_>, index: usize) -> Result<(), KernelError> {
    match step.node.inputs.get(index) {
        Some(&tensor) if step.graph.is_constant(tensor) => Ok(()),
        _ => Err(step.unsupported(format!("operand {index} (weights) is computed, not a constant"))),
    }
}

/// Returns the number of texels in the step's rows of the result, which is the number of invocations of a kernel that
/// computes one texel each.
pub(crate) fn texels(step: &StepContext<'_>) -> u32 {
    // Cannot overflow: a tensor has at most as many texels as elements, and `ops::check` limits those.
    step.rows.len() as u32 * step.output.shape.row_texels() as u32
}

/// Returns the images that contain the step's rows.
pub(crate) fn images(step: &StepContext<'_>) -> Range<u32> {
    let height = step.output.shape.h as u32;
    step.rows.start / height..step.rows.end.div_ceil(height)
}

/// Returns the value of an `override` constant that is a `bool` in WGSL.
pub(crate) fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

/// Checks that the epilogue adds no tensor, for kernels that already use the second input.
pub(crate) fn no_added_tensor(step: &StepContext<'_>) -> Result<(), KernelError> {
    match step.add {
        None => Ok(()),
        Some(_) => Err(step.unsupported("it reads two tensors, so its epilogue cannot add a third".into())),
    }
}

/// Sets the constant that tells the shader of a tensor of floats in a pool of bytes.
pub(super) fn mark_planes(constants: &mut Constants, name: &'static str, operand: &Operand) {
    if operand.storage == TexelStorage::Planes && !constants.iter().any(|&(other, _)| other == name) {
        constants.push((name, flag(true)));
    }
}

/// Creates a dispatch of `items` invocations that writes the step's output, with the constants and operands of the
/// epilogue. `extents` gives the number of indices of each loop of the shader.
pub(crate) fn dispatch(
    step: &StepContext<'_>,
    shader: Shader,
    epilogue: &EpilogueParams,
    params: KernelParams,
    items: u32,
    mut constants: Constants,
    extents: &[(&'static str, usize)],
) -> Dispatch {
    epilogue.constants(&mut constants);
    mark_planes(&mut constants, "OUTPUT_PLANES", &step.output);
    if let Some(add) = &step.add {
        mark_planes(&mut constants, "SECOND_PLANES", add);
    }
    let (own, block) = params.finish();
    Dispatch {
        shader,
        constants,
        own,
        block,
        output: step.output.texture,
        input: None,
        second: step.add.as_ref().map(|add| add.texture),
        // Kernels without weights bind the texture only for PReLU's alphas.
        weights: epilogue.reads_weights().then_some(step.weights.texture),
        byte_weights: step.weights.bytes_from.is_some(),
        rounds: shader.rounds(extents),
        groups: items.div_ceil(LANES),
        reach: Arc::default(),
        counted_node: 0,
    }
}

impl Dispatch {
    /// Sets the texture of the first input.
    pub(crate) fn reading(mut self, input: &Operand) -> Self {
        self.input = Some(input.texture);
        mark_planes(&mut self.constants, "INPUT_PLANES", input);
        self
    }

    /// Sets the texture of the second input.
    pub(crate) fn reading_second(mut self, second: &Operand) -> Self {
        self.second = Some(second.texture);
        mark_planes(&mut self.constants, "SECOND_PLANES", second);
        self
    }

    /// Sets the weight texture.
    pub(crate) fn reading_weights(mut self, step: &StepContext<'_>) -> Self {
        self.weights = Some(step.weights.texture);
        self
    }
}

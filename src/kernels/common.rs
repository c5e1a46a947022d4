//! What the kernels share: finding operands, packing epilogues, putting a dispatch together.

use std::{ops::Range, sync::Arc};

use super::{
    Constants, Dispatch, EpilogueParams, KernelError, KernelParams, Operand, Shader, StepContext, grid::LANES,
};

/// The placed operand `index` of a step.
pub(crate) fn placed<'a>(step: &'a StepContext<'_>, index: usize) -> Result<&'a Operand, KernelError> {
    match step.inputs.get(index) {
        Some(Some(operand)) => Ok(operand),
        Some(None) => Err(step.unsupported(format!("operand {index} is a constant, which this operator cannot read"))),
        None => Err(step.unsupported(format!("operand {index} is missing"))),
    }
}

/// Checks that operand `index` is a constant, as weights must be.
pub(crate) fn constant(step: &StepContext<'_>, index: usize) -> Result<(), KernelError> {
    match step.node.inputs.get(index) {
        Some(&tensor) if step.graph.is_constant(tensor) => Ok(()),
        _ => Err(step.unsupported(format!("operand {index} (weights) is computed, not a constant"))),
    }
}

/// Texels of the step's rows of the result: the invocations of a kernel that computes one each.
pub(crate) fn texels(step: &StepContext<'_>) -> u32 {
    // Does not wrap: a tensor has no more texels than elements, and `ops::check` bounds those.
    step.rows.len() as u32 * step.output.shape.row_texels() as u32
}

/// The images that the step's rows are of.
pub(crate) fn images(step: &StepContext<'_>) -> Range<u32> {
    let height = step.output.shape.h as u32;
    step.rows.start / height..step.rows.end.div_ceil(height)
}

/// The value of an `override` constant that is a `bool` in WGSL.
pub(crate) fn flag(on: bool) -> f64 {
    f64::from(u8::from(on))
}

/// Checks that the epilogue adds no tensor, where the kernel needs the second input for itself.
pub(crate) fn no_added_tensor(step: &StepContext<'_>) -> Result<(), KernelError> {
    match step.add {
        None => Ok(()),
        Some(_) => Err(step.unsupported("it reads two tensors, so its epilogue cannot add a third".into())),
    }
}

/// A dispatch of `items` invocations that writes the step's output, with the epilogue's constants and what it reads.
/// `extents` says how many indices each loop of the shader has.
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
    let (own, block) = params.finish();
    Dispatch {
        shader,
        constants,
        own,
        block,
        output: step.output.texture,
        input: None,
        second: step.add.as_ref().map(|add| add.texture),
        // Kernels without weights of their own bind the texture for PReLU's alphas alone.
        weights: epilogue.reads_weights().then_some(step.weights.texture),
        rounds: shader.rounds(extents),
        groups: items.div_ceil(LANES),
        reach: Arc::default(),
        counted_node: 0,
    }
}

impl Dispatch {
    /// States the texture of the first input.
    pub(crate) fn reading(mut self, input: &Operand) -> Self {
        self.input = Some(input.texture);
        self
    }

    /// States the texture of the second input.
    pub(crate) fn reading_second(mut self, second: &Operand) -> Self {
        self.second = Some(second.texture);
        self
    }

    /// States that the weight texture is read.
    pub(crate) fn reading_weights(mut self, step: &StepContext<'_>) -> Self {
        self.weights = Some(step.weights.texture);
        self
    }
}

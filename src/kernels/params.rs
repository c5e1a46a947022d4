//! A step's params: what `step_params`, `tensor` and `params` of the shaders read, then the row tables.

use super::{
    EpilogueParams, Operand, StepContext,
    context::starts,
    wgsl::{ParamValue, ShaderParams, TENSOR, shader_params, shared_constants},
};
use crate::graph::Shape;

shared_constants! {
    /// Where parts of a step's params begin, in groups of four.
    POSITIONS:
    // `StepParams` takes two groups, and so does each tensor.
    OUTPUT_TENSOR = 2,
    INPUT_TENSOR = 4,
    SECOND_TENSOR = 6,
    FAMILY_PARAMS = 8,
}

shader_params! {
    /// What every kernel is told.
    struct StepParams {
        /// Invocations that compute something.
        items: u32,
        /// First row of the result.
        first_row: u32,
        /// First parameters of the epilogue's two functions.
        alphas: [f32; 2],
        /// First weight texel.
        weight_base: u32,
        /// Base-two logarithm of the weight texture's width.
        weight_shift: u32,
        /// Second parameters of the epilogue's two functions, as bits.
        betas: [u32; 2],
    }
}

shader_params! {
    /// A tensor and where it lies.
    struct TensorParams {
        /// First word of the row table.
        rows: u32,
        /// Base-two logarithm of the texture's width.
        shift: u32,
        w: usize,
        h: usize,
        b: usize,
        c: usize,
        slices: usize,
        /// Texels from a slice of a row to the next.
        pitch: u32,
    }
}

impl TensorParams {
    fn new(s: Shape, shift: u32, pitch: u32) -> Self {
        // Only `finish` knows where row tables begin.
        Self { rows: 0, shift, w: s.w, h: s.h, b: s.b, c: s.c, slices: s.slices(), pitch }
    }
}

/// A constant that lies whole among the weights, where a kernel reads it as a tensor without a row table; zeros where
/// no operand is constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstantTensor(pub(crate) Option<Shape>);

impl ParamValue for ConstantTensor {
    const TYPE: &'static str = TENSOR;
    const WORDS: usize = 8;
    fn append(self, words: &mut Vec<u32>) {
        // Kernels count texels from the step's first weight, and `read_weight` knows the weight texture's width.
        let tensor = |s: Shape| TensorParams::new(s, 0, s.w as u32).words();
        words.extend(self.0.map_or_else(|| vec![0; Self::WORDS], tensor));
    }
}

/// Writes a step's params: the shared head, the kernel's own parameters, then the row tables.
#[derive(Clone, Debug)]
pub struct KernelParams {
    head: Vec<u32>,
    kernel: Vec<u32>,
    operands: Vec<(u32, Operand)>,
}

impl KernelParams {
    /// The head of a step with `items` invocations and epilogue `epilogue`.
    pub fn new(step: &StepContext<'_>, epilogue: &EpilogueParams, items: u32) -> Self {
        let head = StepParams {
            items,
            first_row: step.rows.start,
            alphas: epilogue.alphas,
            // Kernels count from the texels of the first slice, wherever those lie; the sum wraps back.
            weight_base: step.weights.base.wrapping_sub(step.weights.skipped),
            weight_shift: step.weights.shift,
            betas: epilogue.betas,
        };
        let params = Self::with_head(head, &step.output);
        if let Some(add) = &step.add { params.second(add) } else { params }
    }

    /// The head of `items` invocations that write `output` from row `first_row` on, and nothing else.
    pub fn bare(output: &Operand, first_row: u32, items: u32) -> Self {
        let head = StepParams { items, first_row, alphas: [0.0; 2], weight_base: 0, weight_shift: 0, betas: [0; 2] };
        Self::with_head(head, output)
    }

    fn with_head(head: StepParams, output: &Operand) -> Self {
        let mut head = head.words();
        // A kernel's own parameters begin at one place, whichever operands its steps have.
        head.resize(FAMILY_PARAMS as usize * 4, 0);
        Self { head, kernel: Vec::new(), operands: Vec::new() }.operand(OUTPUT_TENSOR, output)
    }

    /// States the first input.
    pub fn input(self, operand: &Operand) -> Self {
        self.operand(INPUT_TENSOR, operand)
    }

    /// States the second input. A step whose epilogue adds a tensor has none of its own.
    pub fn second(self, operand: &Operand) -> Self {
        self.operand(SECOND_TENSOR, operand)
    }

    /// States the kernel's own parameters.
    pub(crate) fn params(mut self, params: &impl ShaderParams) -> Self {
        self.kernel = params.words();
        self
    }

    /// Appends a table, a multiple of four words, to the kernel's own parameters.
    pub(crate) fn table(mut self, words: &[u32]) -> Self {
        self.kernel.extend(words);
        self
    }

    fn operand(mut self, at: u32, operand: &Operand) -> Self {
        let tensor = TensorParams::new(operand.shape, operand.shift, operand.pitch).words();
        let at_word = at as usize * 4;
        self.head.splice(at_word..at_word + tensor.len(), tensor);
        self.operands.push((at, operand.clone()));
        self
    }

    /// The params in order, tables last, each operand's head pointing at its own.
    pub fn finish(mut self) -> Vec<u32> {
        // Tables lie last: their lengths differ from step to step, and shaders know the places of all else.
        let mut next = self.head.len() + self.kernel.len();
        for (at, operand) in &self.operands {
            self.head[*at as usize * 4] = next as u32;
            next += operand.rows.rows() as usize;
        }
        let mut params = self.head;
        params.append(&mut self.kernel);
        params.extend(self.operands.iter().flat_map(|(_, operand)| starts(operand)));
        params
    }
}

//! What dispatches are told: each of them a few words of its own (`dispatch_params` of the shaders), and in a block that
//! those of an operator share what `step_params`, `tensor` and `params` read, then the row tables.

use std::{ops::Range, sync::Arc};

use super::{
    EpilogueParams, Operand, StepContext,
    context::RowPlaces,
    wgsl::{self, ParamValue, ShaderParams, TENSOR, shader_params, shared_constants},
};
use crate::graph::Shape;

shared_constants! {
    /// Where parts of a block begin, in groups of four.
    POSITIONS:
    // `StepParams` takes one group, and each tensor three.
    OUTPUT_TENSOR = 1,
    INPUT_TENSOR = 4,
    SECOND_TENSOR = 7,
    FAMILY_PARAMS = 10,
    // The number of the first count that a dispatch adds to lies behind the parameters of the output tensor, which leave
    // two words of their last group.
    COUNTER_GROUP = 2,
    COUNTER_LANE = 2,
}

shared_constants! {
    /// What is counted for each node of a graph.
    COUNTS:
    /// Finite values that 16 bits do not hold.
    COUNT_SATURATED = 0,
    /// Indices that name no element.
    COUNT_OUTSIDE = 1,
}

/// Counts of a node.
pub(crate) const COUNTS_PER_NODE: usize = COUNTS.len();

/// The word of a block that holds the number of the first count.
pub(crate) const COUNTER_WORD: usize = (4 * (OUTPUT_TENSOR + COUNTER_GROUP) + COUNTER_LANE) as usize;

/// Words of [`DispatchParams`], a multiple of four.
pub(crate) const DISPATCH_WORDS: usize = 4 * wgsl::groups(DispatchParams::FIELDS);

shader_params! {
    /// What may differ between the dispatches of an operator.
    struct DispatchParams {
        /// Invocations that compute something.
        items: u32,
        /// Rows of the result: the first, and what is behind the last.
        first_row: u32,
        end_row: u32,
        /// Number of what is computed first, where a kernel counts something else than rows.
        first: u32,
        /// First weight texel.
        weight_base: u32,
        /// Base-two logarithm of the weight texture's width.
        weight_shift: u32,
        /// First slice of the result.
        first_slice: u32,
        /// First weight texel of the biases: here, because it is another for each tile of an operator's weights.
        bias: u32,
    }
}

shader_params! {
    /// What every kernel is told of its step.
    struct StepParams {
        /// First parameters of the epilogue's two functions.
        alphas: [f32; 2],
        /// Second parameters of the epilogue's two functions, as bits.
        betas: [u32; 2],
    }
}

shader_params! {
    /// A tensor and where it lies.
    struct TensorParams {
        /// First word of the row table.
        rows: u32,
        /// Which bits of a row's number count in the table.
        mask: u32,
        /// Texels from a row to the next, where none do.
        stride: u32,
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
        Self { rows: 0, mask: 0, stride: 0, shift, w: s.w, h: s.h, b: s.b, c: s.c, slices: s.slices(), pitch }
    }
}

/// Lengths of arrays of blocks in uniform memory. WGSL fixes them, and a binding must cover all of the array, so the last
/// block of a buffer has up to so many words behind it: a small network takes the smallest. The largest fills the 64 KiB
/// that core WebGPU promises a uniform binding.
pub(crate) const UNIFORM_WORDS: [u32; 3] = [512, 2048, 16384];

/// A constant that lies whole among the weights, where a kernel reads it as a tensor without a row table; zeros where
/// no operand is constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstantTensor(pub(crate) Option<Shape>);

impl ParamValue for ConstantTensor {
    const TYPE: &'static str = TENSOR;
    const WORDS: usize = 12;
    fn append(self, words: &mut Vec<u32>) {
        // Kernels count texels from the operator's first weight, and `read_weight` knows the weight texture's width.
        let tensor = |s: Shape| TensorParams::new(s, 0, s.w as u32).words();
        words.extend(self.0.map_or_else(|| vec![0; Self::WORDS], tensor));
    }
}

/// Writes what a dispatch is told: its own params, and its block, which is the shared head, the kernel's parameters,
/// then the row tables. Dispatches of an operator have the same block as long as kernels put nothing into theirs that
/// depends on the rows to be computed.
#[derive(Clone, Debug)]
pub struct KernelParams {
    dispatch: DispatchParams,
    head: Vec<u32>,
    kernel: Vec<u32>,
    operands: Vec<(u32, TensorParams, RowPlaces)>,
}

impl KernelParams {
    /// Those of a step with `items` invocations and epilogue `epilogue`.
    pub fn new(step: &StepContext<'_>, epilogue: &EpilogueParams, items: u32) -> Self {
        let EpilogueParams { alphas, betas, .. } = *epilogue;
        let params = Self::with_head(StepParams { alphas, betas }, &step.output, &step.rows, items);
        let mut params = if let Some(add) = &step.add { params.second(add) } else { params };
        // Kernels count from the texels of the first slice, wherever those lie; the sum wraps back.
        params.dispatch.weight_base = step.weights.base.wrapping_sub(step.weights.skipped);
        params.dispatch.weight_shift = step.weights.shift;
        params.dispatch.first_slice = step.slices.start;
        params
    }

    /// Those of `items` invocations that write `rows` of `output`, and nothing else.
    pub fn bare(output: &Operand, rows: &Range<u32>, items: u32) -> Self {
        Self::with_head(StepParams { alphas: [0.0; 2], betas: [0; 2] }, output, rows, items)
    }

    fn with_head(head: StepParams, output: &Operand, rows: &Range<u32>, items: u32) -> Self {
        let mut head = head.words();
        // A kernel's own parameters begin at one place, whichever operands its steps have.
        head.resize(FAMILY_PARAMS as usize * 4, 0);
        let Range { start: first_row, end: end_row } = *rows;
        let [first, weight_base, weight_shift, first_slice, bias] = [0; 5];
        let dispatch =
            DispatchParams { items, first_row, end_row, first, weight_base, weight_shift, first_slice, bias };
        Self { dispatch, head, kernel: Vec::new(), operands: Vec::new() }.operand(OUTPUT_TENSOR, output)
    }

    /// States what is computed first, where the kernel counts something else than rows.
    pub(crate) fn first(mut self, number: u32) -> Self {
        self.dispatch.first = number;
        self
    }

    /// States where the biases begin.
    pub(crate) fn bias(mut self, texel: usize) -> Self {
        // No weights have more texels than 32 bits count.
        self.dispatch.bias = texel as u32;
        self
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
        let tensor = TensorParams::new(operand.shape, operand.shift, operand.pitch);
        self.operands.push((at, tensor, RowPlaces::new(operand)));
        self
    }

    /// What the dispatch alone is told, and its block: row tables last, each operand's head pointing at its own.
    pub(crate) fn finish(self) -> ([u32; DISPATCH_WORDS], Arc<[u32]>) {
        let Self { dispatch, mut head, kernel, operands } = self;
        // Tables lie last: their lengths differ from step to step, and shaders know the places of all else.
        let begin = head.len() + kernel.len();
        let mut tables: Vec<u32> = Vec::new();
        let mut told: Vec<(u32, RowPlaces)> = Vec::new();
        for (at, tensor, places) in operands {
            let RowPlaces { mask, stride, ref starts } = places;
            // Operands whose rows start alike share a table.
            let same = told.iter().find(|(_, other)| other.starts == *starts).map(|&(rows, _)| rows);
            let rows = same.unwrap_or((begin + tables.len()) as u32);
            if same.is_none() {
                tables.extend(starts);
            }
            let tensor = TensorParams { rows, mask, stride, ..tensor }.words();
            let at = at as usize * 4;
            head[at..at + tensor.len()].copy_from_slice(&tensor);
            told.push((rows, places));
        }
        let mut own = [0; DISPATCH_WORDS];
        own.copy_from_slice(&dispatch.words());
        (own, [head, kernel, tables].concat().into())
    }
}

//! Parameters of dispatches. Each dispatch has a few private words (`dispatch_params` in the shaders). All dispatches
//! of an operator share a block with the data of `step_params`, `tensor` and `params`, followed by the row tables.

use std::{ops::Range, sync::Arc};

use super::{
    EpilogueParams, Operand, SectionRole, StepContext,
    context::RowPlaces,
    wgsl::{self, ParamValue, ShaderParams, TENSOR, shader_params, shared_constants},
};
use crate::graph::{Shape, TexelStorage};

shared_constants! {
    /// Offsets in a block, in groups of four words.
    POSITIONS:
    // `StepParams` takes one group, and each tensor three.
    OUTPUT_TENSOR = 1,
    INPUT_TENSOR = 4,
    SECOND_TENSOR = 7,
    FAMILY_PARAMS = 10,
    // The index of the dispatch's first counter is stored after the parameters of the output tensor, which leave a word of
    // their last group free.
    COUNTER_GROUP = 2,
    COUNTER_LANE = 3,
}

shared_constants! {
    /// Bits of `shift` and `weight_shift` for the width of the texture; in a pool of bytes, the others have a number.
    TEXTURES:
    SHIFT_BITS = 8,
}

shared_constants! {
    /// Counters per node of a graph.
    COUNTS:
    /// Finite values that overflow 16 bits.
    COUNT_SATURATED = 0,
    /// Indices outside the valid range.
    COUNT_OUTSIDE = 1,
}

/// Number of counters per node.
pub const COUNTS_PER_NODE: usize = COUNTS.len();

/// Word of a block that holds the index of the first counter.
pub(crate) const COUNTER_WORD: usize = (4 * (OUTPUT_TENSOR + COUNTER_GROUP) + COUNTER_LANE) as usize;

/// Size of `DispatchParams` in words, a multiple of four.
pub const DISPATCH_WORDS: usize = 4 * wgsl::groups(DispatchParams::FIELDS);

shader_params! {
    /// Parameters that may differ between the dispatches of an operator.
    struct DispatchParams {
        /// Invocations that compute something.
        items: u32,
        /// Rows of the result: first (inclusive) and end (exclusive).
        first_row: u32,
        end_row: u32,
        /// Number of the first item, for kernels that count items other than rows.
        first: u32,
        /// First weight texel.
        weight_base: u32,
        /// Base-two logarithm of the weight texture's width. Above [`SHIFT_BITS`] bits, the number of texels of bytes
        /// before the first weight.
        weight_shift: u32,
        /// First slice of the result.
        first_slice: u32,
        /// First weight texel of the biases. Stored here because it differs between tiles of an operator's weights.
        bias: u32,
    }
}

shader_params! {
    /// Parameters of a step that every kernel has.
    struct StepParams {
        /// First parameters of the epilogue's two functions.
        alphas: [f32; 2],
        /// Second parameters of the epilogue's two functions, as bits.
        betas: [u32; 2],
    }
}

shader_params! {
    /// A tensor and its location.
    struct TensorParams {
        /// First word of the row table.
        rows: u32,
        /// Mask for the row number before the lookup in the row table.
        mask: u32,
        /// Texels between rows, if the table does not list every row.
        stride: u32,
        /// Base-two logarithm of the texture's width. Above [`SHIFT_BITS`] bits, the multiple of the scale that byte 0
        /// represents, plus [`ZERO_MULTIPLE`].
        shift: u32,
        w: usize,
        h: usize,
        b: usize,
        c: usize,
        slices: usize,
        /// Texels between slices of a row.
        pitch: u32,
        /// Texels between the planes of a row, or the bits of the scale of bytes.
        storage: u32,
    }
}

/// Groups of four words of a tensor.
const TENSOR_GROUPS: usize = wgsl::groups(TensorParams::FIELDS);

impl TensorParams {
    fn new(s: Shape, shift: u32, pitch: u32, storage: TexelStorage) -> Self {
        let (number, storage) = match storage {
            TexelStorage::Values => (0, 0),
            TexelStorage::Bytes { scale, least } => ((i32::from(least) + ZERO_MULTIPLE) as u32, scale.to_bits()),
            TexelStorage::Planes => (0, s.row_texels() as u32),
        };
        let (shift, slices, [rows, mask, stride]) = (shift | number << SHIFT_BITS, s.slices(), [0; 3]);
        // `finish` fills in the row table fields, because only then the table offsets are known.
        Self { rows, mask, stride, shift, w: s.w, h: s.h, b: s.b, c: s.c, slices, pitch, storage }
    }
}

/// Offset of the multiples in `shift`, which makes them positive.
const ZERO_MULTIPLE: i32 = -(i16::MIN as i32);

/// Array lengths for blocks in uniform memory. WGSL requires a fixed length, and a binding must cover the whole
/// array, so the last block of a buffer is padded to the array length; a small network uses the smallest length. The
/// largest fills the 64 KiB that core WebGPU guarantees for a uniform binding.
pub const UNIFORM_WORDS: [u32; 3] = [512, 2048, 16384];

/// A constant stored as a whole tensor among the weights, which a kernel reads without a row table. All zeros if no
/// operand is constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstantTensor(pub(crate) Option<Shape>);

impl ParamValue for ConstantTensor {
    const TYPE: &'static str = TENSOR;
    const WORDS: usize = 4 * TENSOR_GROUPS;
    fn append(self, words: &mut Vec<u32>) {
        // Kernels count texels from the operator's first weight, and `read_weight` knows the weight texture's width.
        let tensor = |s: Shape| TensorParams::new(s, 0, s.w as u32, TexelStorage::Values).words();
        words.extend(self.0.map_or_else(|| vec![0; Self::WORDS], tensor));
    }
}

/// Assembles the parameters of a dispatch: its private words and its block. The block consists of the shared head,
/// the kernel's parameters, and the row tables. Dispatches of an operator have equal blocks as long as the kernel's
/// parameters do not depend on the rows to be computed.
#[derive(Clone, Debug)]
pub struct KernelParams {
    dispatch: DispatchParams,
    head: Vec<u32>,
    kernel: Vec<u32>,
    operands: Vec<(u32, TensorParams, RowPlaces)>,
}

impl KernelParams {
    /// Starts the parameters of a step with `items` invocations and epilogue `epilogue`.
    pub fn new(step: &StepContext<'_>, epilogue: &EpilogueParams, items: u32) -> Self {
        let EpilogueParams { alphas, betas, .. } = *epilogue;
        let params = Self::with_head(StepParams { alphas, betas }, &step.output, &step.rows, items);
        let mut params = if let Some(add) = &step.add { params.second(add) } else { params };
        params.dispatch.weight_base = step.weights.base();
        params.dispatch.weight_shift = step.weights.shift | step.weights.bytes_from.unwrap_or(0) << SHIFT_BITS;
        params.dispatch.first_slice = step.slices.start;
        params
    }

    /// Starts the parameters of a dispatch with `items` invocations that only writes `rows` of `output`.
    pub fn bare(output: &Operand, rows: &Range<u32>, items: u32) -> Self {
        Self::with_head(StepParams { alphas: [0.0; 2], betas: [0; 2] }, output, rows, items)
    }

    fn with_head(head: StepParams, output: &Operand, rows: &Range<u32>, items: u32) -> Self {
        let mut head = head.words();
        // A kernel's parameters start at a fixed offset, regardless of the operands of its steps.
        head.resize(FAMILY_PARAMS as usize * 4, 0);
        let Range { start: first_row, end: end_row } = *rows;
        let [first, weight_base, weight_shift, first_slice, bias] = [0; 5];
        let dispatch =
            DispatchParams { items, first_row, end_row, first, weight_base, weight_shift, first_slice, bias };
        Self { dispatch, head, kernel: Vec::new(), operands: Vec::new() }.operand(OUTPUT_TENSOR, output)
    }

    /// Sets the number of the first item, for kernels that count items other than rows.
    pub(crate) fn first(mut self, number: u32) -> Self {
        self.dispatch.first = number;
        self
    }

    /// Sets the location of the biases of a step.
    pub(crate) fn biases(mut self, step: &StepContext<'_>) -> Self {
        self.dispatch.bias = step.section(SectionRole::Biases, 1);
        self
    }

    /// Sets the first input.
    pub fn input(self, operand: &Operand) -> Self {
        self.operand(INPUT_TENSOR, operand)
    }

    /// Sets the second input. It is free only if the epilogue adds no tensor.
    pub fn second(self, operand: &Operand) -> Self {
        self.operand(SECOND_TENSOR, operand)
    }

    /// Sets the kernel's parameters.
    pub(crate) fn params(mut self, params: &impl ShaderParams) -> Self {
        self.kernel = params.words();
        self
    }

    /// Appends a table to the kernel's parameters; its length is a multiple of four words.
    pub(crate) fn table(mut self, words: &[u32]) -> Self {
        self.kernel.extend(words);
        self
    }

    fn operand(mut self, at: u32, operand: &Operand) -> Self {
        let tensor = TensorParams::new(operand.shape, operand.shift, operand.pitch, operand.storage);
        self.operands.push((at, tensor, RowPlaces::new(operand)));
        self
    }

    /// Returns the private words of the dispatch and its block. Row tables come last, and each operand's head points
    /// to its table.
    pub(crate) fn finish(self) -> ([u32; DISPATCH_WORDS], Arc<[u32]>) {
        let Self { dispatch, mut head, kernel, operands } = self;
        // Tables come last because their lengths differ between steps, while shaders expect everything else at fixed
        // offsets.
        let begin = head.len() + kernel.len();
        let mut tables: Vec<u32> = Vec::new();
        let mut told: Vec<(u32, RowPlaces)> = Vec::new();
        for (at, tensor, places) in operands {
            let RowPlaces { mask, stride, ref starts } = places;
            // Operands with equal row starts share a table.
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

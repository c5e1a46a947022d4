//! The compute shaders of texpool's operators, as WGSL text: one kernel per file, and functions that several kernels
//! call in `shared/`.
//!
//! A kernel is no complete shader: `texpool-ops` writes the declarations of its parameters and constants before it.

/// Declares one constant per file.
macro_rules! wgsl {
    ($($name:ident = $file:literal;)*) => {
        $(
            #[doc = concat!("Text of `", $file, "`.")]
            pub const $name: &str = include_str!($file);
        )*
    };
}

wgsl! {
    BINARY = "binary.wgsl";
    CONCAT = "concat.wgsl";
    CONV = "conv.wgsl";
    CONV_THIN = "conv_thin.wgsl";
    CUM_SUM = "cum_sum.wgsl";
    DENSE = "dense.wgsl";
    DEPTHWISE = "depthwise.wgsl";
    DYNAMIC_QUANTIZE = "dynamic_quantize.wgsl";
    DYNAMIC_SCALE = "dynamic_scale.wgsl";
    EXTREMES = "extremes.wgsl";
    FILL = "fill.wgsl";
    GATHER = "gather.wgsl";
    GRID_SAMPLE = "grid_sample.wgsl";
    LOCATE = "locate.wgsl";
    LRN = "lrn.wgsl";
    MATMUL = "matmul.wgsl";
    MEAN = "mean.wgsl";
    NON_MAX_SUPPRESSION = "non_max_suppression.wgsl";
    NORMALIZE = "normalize.wgsl";
    POINTWISE = "pointwise.wgsl";
    POOL = "pool.wgsl";
    QUANTIZED_ADD = "quantized_add.wgsl";
    REARRANGE = "rearrange.wgsl";
    RECURRENT = "recurrent.wgsl";
    REDUCE = "reduce.wgsl";
    REDUCE_WIDE = "reduce_wide.wgsl";
    RESAMPLE = "resample.wgsl";
    RESIZE = "resize.wgsl";
    SEGMENT_REDUCE = "segment_reduce.wgsl";
    SEGMENT_REDUCE_SORTED = "segment_reduce_sorted.wgsl";
    SEPARABLE = "separable.wgsl";
    SOFTMAX = "softmax.wgsl";
    SOFTMAX_WIDE = "softmax_wide.wgsl";
    STRIDED = "strided.wgsl";
    TOP_K = "top_k.wgsl";
    TOP_K_WIDE = "top_k_wide.wgsl";
    TRANSPOSE_CONV = "transpose_conv.wgsl";
    UNARY = "unary.wgsl";
    WINOGRAD_INPUT = "winograd_input.wgsl";
    WINOGRAD_OUTPUT = "winograd_output.wgsl";
}

/// Functions that several kernels call.
pub mod shared {
    wgsl! {
        BLOCK = "shared/block.wgsl";
        FORMAT_BYTES = "shared/format_bytes.wgsl";
        FORMAT_F16 = "shared/format_f16.wgsl";
        FORMAT_F32 = "shared/format_f32.wgsl";
        FORMAT_WORDS = "shared/format_words.wgsl";
        ONE_TEXEL = "shared/one_texel.wgsl";
        REDUCTION = "shared/reduction.wgsl";
        REGION = "shared/region.wgsl";
        SEGMENTS = "shared/segments.wgsl";
        SOFTMAX = "shared/softmax.wgsl";
        TEXEL = "shared/texel.wgsl";
        TOP_K = "shared/top_k.wgsl";
        TWO_OPERANDS = "shared/two_operands.wgsl";
        VALUE_RANGE = "shared/value_range.wgsl";
        VALUE_TEXELS = "shared/value_texels.wgsl";
        WEIGHT_BYTES = "shared/weight_bytes.wgsl";
        WEIGHT_HALVES = "shared/weight_halves.wgsl";
        WEIGHT_TEXELS = "shared/weight_texels.wgsl";
        WEIGHTS = "shared/weights.wgsl";
        WINOGRAD = "shared/winograd.wgsl";
    }
}

//! Kernels: for a step and its placements, the shader to run, its constants, its params and its size.
//!
//! One file a family, beside one WGSL file in `shaders/`. A family offers `weights` (what it wants packed into texels,
//! known before any placement; nothing where it has none), `dispatches`, and a CPU reference. Knows no wgpu handle.

pub(crate) mod binary;
mod block;
pub(crate) mod concat;
pub(crate) mod context;
pub(crate) mod conv;
pub(crate) mod depthwise;
mod dispatch;
pub(crate) mod epilogue;
mod family;
mod fill;
pub(crate) mod fully_connected;
pub(crate) mod gather;
mod grid;
pub(crate) mod grid_sample;
pub(crate) mod line;
pub(crate) mod matmul;
mod pack;
mod params;
pub(crate) mod pool;
pub(crate) mod rearrange;
pub(crate) mod reduce;
pub(crate) mod resample;
pub(crate) mod resize;
mod shader;
pub(crate) mod softmax;
mod step;
pub(crate) mod transpose_conv;
pub(crate) mod unary;
mod wgsl;

pub use dispatch::Dispatch;
pub use epilogue::EpilogueParams;
pub(crate) use fill::{fill, pad_border};
pub use params::KernelParams;
pub use shader::Shader;
pub(crate) use step::Reach;
pub use step::{Constants, KernelError, Operand, StepContext, WeightPlace};

/// Every shader family there is, by name.
pub const SHADERS: [Shader; 24] = [
    binary::SHADER,
    concat::SHADER,
    conv::CONV,
    line::CUM_SUM,
    fully_connected::SHADER,
    depthwise::SHADER,
    fill::SHADER,
    gather::SHADER,
    grid_sample::SHADER,
    line::LRN,
    matmul::SHADER,
    reduce::MEAN,
    line::NORMALIZE,
    conv::POINTWISE,
    pool::SHADER,
    rearrange::SHADER,
    reduce::REDUCE,
    resample::SHADER,
    resize::SHADER,
    softmax::NARROW,
    softmax::WIDE,
    line::TOP_K,
    transpose_conv::SHADER,
    unary::SHADER,
];

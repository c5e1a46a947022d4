//! Building blocks of kernels: shaders, the constants and parameters that they share with Rust, the operands of a
//! step, epilogues, work per invocation, and dispatches. Independent of wgpu.
//!
//! A kernel is stored next to its operator (`ops/OPERATOR/kernel.rs`), with its WGSL in `shaders/`. This module
//! contains the kernels that belong to several operators or to none: moving values (`rearrange`, `strided`) and filling
//! texels (`fill`).

pub(crate) mod block;
pub(crate) mod common;
pub(crate) mod context;
mod dispatch;
pub(crate) mod epilogue;
pub mod fill;
pub(crate) mod functions;
pub(crate) mod grid;
pub(crate) mod loops;
pub(crate) mod pack;
pub(crate) mod params;
pub(crate) mod rearrange;
pub(crate) mod shader;
mod step;
pub(crate) mod strided;
mod weights;
pub(crate) mod wgsl;

pub use block::block_reason;
pub use dispatch::Dispatch;
pub use epilogue::{EpilogueParams, fits_epilogue};
pub use loops::Loop;
pub use params::{COUNTS_PER_NODE, DISPATCH_WORDS, KernelParams, UNIFORM_WORDS};
pub use shader::Shader;
pub use step::{Constants, KernelError, Operand, Reach, StepContext, WeightPlace};
pub(crate) use weights::{ChannelWeights, SectionLayout};
pub use weights::{SectionRole, WeightPacking, WeightPieces, WeightSection, WeightSections};

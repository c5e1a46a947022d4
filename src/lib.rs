//! texpool runs neural networks on the GPU out of a fixed pool of textures.
//!
//! Its modules are layers, each of which uses those below it and none above (`ARCHITECTURE.md`).
//! With `--no-default-features` only [`plan`], the memory planner, is built: no GPU, no files, any target.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "import")]
pub mod compile;
#[cfg(feature = "import")]
pub mod dataflow;
#[cfg(feature = "cli")]
pub mod fetch;
#[cfg(feature = "gpu")]
pub mod gpu;
#[cfg(feature = "import")]
pub mod graph;
#[cfg(feature = "import")]
pub mod import;
#[cfg(feature = "cli")]
pub mod io;
#[cfg(feature = "import")]
#[cfg_attr(not(feature = "gpu"), allow(dead_code, unused_imports, reason = "the executor alone reads dispatches"))]
pub mod kernels;
#[cfg(feature = "import")]
#[cfg_attr(not(feature = "gpu"), allow(dead_code, unused_imports, reason = "the executor alone reads dispatches"))]
pub mod ops;
pub mod plan;
#[cfg(feature = "serde")]
pub mod report;
#[cfg(feature = "import")]
pub mod rewrite;
#[cfg(feature = "gpu")]
pub mod runtime;
#[cfg(feature = "import")]
pub mod schedule;
#[cfg(feature = "cli")]
pub mod setup;
#[cfg(feature = "import")]
pub mod tensor;
#[cfg(feature = "gpu")]
pub mod texture;

#[cfg(feature = "import")]
pub use graph::{ElementType, Quantization};
#[cfg(feature = "import")]
pub use tensor::{Element, Tensor, TensorError, TensorView};

#[cfg(feature = "gpu")]
pub use runtime::{
    AdapterSummary, CompileBuilder, CompiledModel, Context, Error, GpuError, GpuOptions, Memory, Model, Outputs, Pool,
    PooledSession, Readback, Session, Submission, TensorInfo, TensorKey, TensorRole, TextureLayout, TextureProblem,
    WantedTensor,
};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use runtime::{DispatchTime, Polling};
#[cfg(feature = "import")]
pub use tensor::ConvertError;

/// half 2: what a tensor of 16-bit floats has as elements must be of this version.
#[cfg(feature = "import")]
pub use half;
/// wgpu 30, whose devices, textures and encoders sessions take and give: what a caller uses must be of this version.
#[cfg(feature = "gpu")]
pub use wgpu;

/// The library code in the README is compiled with the tests, so that it stays true.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../README.md")]
struct Readme;

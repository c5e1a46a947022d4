//! texpool runs neural networks on the GPU, through [wgpu], out of a fixed pool of textures.
//!
//! It reads a `.tflite` or `.onnx` file and turns every operator into a compute shader. A planner decides which tensor
//! lies in which texture at every step, within a given number of bytes, and checks its plan before a texture is created.
//!
#![cfg_attr(feature = "gpu", doc = "```no_run")]
#![cfg_attr(not(feature = "gpu"), doc = "```ignore")]
//! use texpool::{Context, Model, TensorView};
//!
//! let context = Context::open(&Default::default())?;        // or `Context::from_wgpu(device, queue)?`
//! let model = Model::open("mobilenet_v2.tflite")?;
//! let compiled = context.compile(&model).memory_budget(2 << 20).build()?;
//! let mut session = compiled.session()?;
//!
//! let pixels = vec![0.5f32; model.input("image")?.len()];   // inputs and outputs by name, or by index
//! let outputs = session.run([("image", TensorView::from(&pixels))])?;
//! let scores = outputs["scores"].as_slice::<f32>()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Overview
//!
//! | task | items |
//! |---|---|
//! | open a device, or use the one that a program has | [`Context`], [`GpuOptions`] |
//! | read a model; list names, extents and types of its inputs and outputs | [`Model`], [`TensorInfo`], [`ModelMetadata`]; [`import`] for formats, operators and open extents |
//! | limit the memory of a run, and plan it | [`Context::compile`], [`CompileBuilder`]; [`Context::calibrate`] for this device's figures |
//! | take options by name, from a file or from another language | [`NamedOptions`] |
//! | keep a plan in a file, since planning may take seconds | [`CompiledModel::save`], [`Context::load`] |
//! | keep weights off the device, and packed in a file | [`CompileBuilder::stream_weights`], [`Context::with_weights_folder`] |
//! | run on values | [`Session::run`], [`TensorView`] for values with any strides, [`Outputs`] and [`Tensor`] for results; [`Session::run_into`] for results in the caller's memory |
//! | keep frames on the GPU | [`Session::bind_input`], [`Session::encode`], [`Session::output_texture`] |
//! | write an input or read an output in a shader | [`texture`], [`TextureLayout`] |
//! | read outputs later, or without blocking | [`Session::encode_read`], [`Readback`], [`Session::run_async`] |
//! | run several models in the memory of the largest | [`Context::pool`], [`Pool`] |
//! | see the memory of a session, release it, allocate it again | [`Session::memory`], [`Session::trim`], [`Session::restore`] |
//! | find values that a run could not represent: beyond 16 bits, or indices outside an axis | [`Session::warnings`], [`RunWarnings`], [`ClampedValues`], [`NotFiniteOutput`], [`Clamp`] |
//! | distinguish errors | [`Error`], [`Error::is_lost`], [`Error::is_timeout`], [`Error::is_out_of_memory`] |
//! | end a blocking call early | [`GpuOptions::interrupt`], [`Interrupt`] |
//! | build a model without a file | [`graph::GraphBuilder`], [`Model::from_graph`] |
//! | choose how a model is rewritten before it is planned | [`rewrite`], [`CompileBuilder::rules`] |
//! | place buffers in an arena, or tensors in textures, without a model or a GPU | [`plan`] |
//!
//! The repository's [examples] show the shortest program, a loop over a camera's frames, two models in one pool, shaders
//! that write an input and read an output, a saved plan, and the planner on a CSV file.
//!
//! # Blocking, tasks and threads
//!
//! Every call that waits for the device, or plans, has two forms: `run` blocks its thread, and `run_async` returns a
//! future for any executor. On native platforms a thread of texpool polls the device while a future waits, unless
//! [`Polling`] assigns that to the host. Browsers have the futures only. Threads may share contexts, models and compiled
//! models; a session belongs to one thread at a time. Submissions run in their order. Every wait ends, after
//! [`GpuOptions::timeout`] with an error.
//!
//! # wgpu
//!
//! Devices, textures and encoders that go in and out are those of **wgpu 30**, which is re-exported as `texpool::wgpu`, so
//! that a program need not name a version. A device needs WebGPU's default limits and no features, and keeps its callbacks.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none (`default-features = false`) | [`plan`], [`graph`], [`import`], [`rewrite`] and host tensors; the crate `texpool-plan` is [`plan`] alone, for any target |
//! | `gpu` | all the rest of this page, on a device that the caller opens |
//! | `vulkan`, `metal`, `dx12` (default), `webgpu` | `gpu`, and opening a device through this interface, on platforms that have it |
//! | `serde` | serialisation of plans, records and device profiles |
//!
//! # Stability
//!
//! These pages show the public interface, which follows semantic versioning. Other modules are public only for the crates
//! of this repository and its tests, and may change with any version.
//!
//! [wgpu]: https://docs.rs/wgpu/30
//! [examples]: https://docs.rs/crate/texpool/latest/source/examples/

pub mod graph;
pub mod import;

pub mod rewrite;
#[cfg(feature = "gpu")]
pub mod texture;

// The modules that follow are public only for this repository's crates and tests, and are not stable. The exports below
// them are the public part.

#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub mod delegate;
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub mod gpu;
#[cfg_attr(not(feature = "gpu"), allow(dead_code, unused_imports, reason = "the executor alone reads dispatches"))]
#[doc(hidden)]
pub mod kernels;
#[cfg_attr(not(feature = "gpu"), allow(dead_code, unused_imports, reason = "the executor alone reads dispatches"))]
#[doc(hidden)]
pub mod ops;
#[cfg(feature = "gpu")]
#[doc(hidden)]
pub mod runtime;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod tensor;

#[doc(inline)]
pub use plan::{Progress, StopReason, TexelFormat};
/// The memory planner, which is the crate `texpool-plan`.
#[doc(inline)]
pub use texpool_plan as plan;

#[doc(inline)]
pub use compile::WeightFormat;
pub use compile::{Clock, CompileError, DeviceProfile, Rate, SavedPlanError};
#[doc(inline)]
pub use graph::{ElementType, Quantization};
#[doc(inline)]
pub use import::{ImportError, ImportOptions, ModelMetadata};
pub use kernels::KernelError;
pub use ops::CostClass;
pub use schedule::ScheduleError;
pub use tensor::{ConvertError, Element, Tensor, TensorError, TensorView, TensorViewMut};

#[cfg(feature = "gpu")]
pub use runtime::{
    AdapterSummary, Clamp, ClampedValues, CompileBuilder, CompiledModel, Context, Error, GpuError, GpuOptions, Memory,
    MemoryParts, MemoryPeak, Model, NamedOptions, NotFiniteOutput, OptionError, OptionHelp, Outputs, Pool,
    PooledSession, Readback, RunWarnings, Session, Submission, TensorInfo, TensorKey, TensorRole, TextureLayout,
    TextureProblem, Uncomputable, WantedTensor,
};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use runtime::{DispatchTime, Interrupt, Polling};

/// half 2: what a tensor of 16-bit floats has as elements must be of this version.
pub use half;
/// wgpu 30, whose devices, textures and encoders sessions take and give: what a caller uses must be of this version.
#[cfg(feature = "gpu")]
pub use wgpu;

/// The library code in the README is compiled with the tests, so that it stays true.
#[cfg(all(doctest, feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct Readme;

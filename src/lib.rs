//! texpool runs neural networks on the GPU, through [wgpu], out of a fixed pool of textures.
//!
//! It reads a `.tflite` or `.onnx` file and turns every operator into a compute shader. A planner decides which tensor
//! lies in which texture at every step, within a given number of bytes, and checks its plan before a texture is created.
//!
//! ```no_run
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
//! | keep state on the device between runs | [`Session::carry`], [`Session::reset`], [`CarryProblem`] |
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
//! | `vulkan`, `metal`, `dx12` (default), `webgpu` | opening a device through this interface, on platforms that have it; programs that bring their own device need none |
//! | `serde` | serialisation of plans, records and device profiles |
//!
//! # Crates
//!
//! This crate is the interface, which follows semantic versioning. It re-exports parts of `texpool-ops` (graph and
//! operators), `texpool-model` (importers, rewriter), `texpool-compile` (tiling and plans) and `texpool-gpu` (executor).
//! Their own interfaces may change with any version. `texpool-plan` is the planner alone, for any target.
//!
//! [wgpu]: https://docs.rs/wgpu/30
//! [examples]: https://docs.rs/crate/texpool/latest/source/examples/

pub mod graph;
pub mod import;
pub mod rewrite;
mod runtime;
pub mod texture;

/// The memory planner, which is the crate `texpool-plan`.
#[doc(inline)]
pub use texpool_plan as plan;

#[doc(inline)]
pub use graph::{ElementType, Quantization};
#[doc(inline)]
pub use import::{ImportError, ImportOptions, ModelMetadata};
#[doc(inline)]
pub use plan::{Progress, StopReason, TexelFormat};
pub use runtime::{
    CarryProblem, CompileBuilder, CompiledModel, Context, Error, Model, NamedOptions, OptionError, OptionHelp, Outputs,
    Pool, PooledSession, Readback, Session, Submission, TensorInfo, TensorKey, TextureLayout, Uncomputable,
    WantedTensor,
};
#[doc(inline)]
pub use texpool_compile::{
    Clock, CompileError, DeviceProfile, OperatorOrder, Rate, SavedPlanError, Stripes, StripesError, WeightFormat,
    schedule::ScheduleError,
};
#[doc(inline)]
pub use texpool_gpu::{
    AdapterSummary, Clamp, ClampedValues, GpuError, GpuOptions, Memory, MemoryParts, MemoryPeak, NotFiniteOutput,
    RunWarnings, TensorRole, TextureProblem,
};
#[cfg(not(target_arch = "wasm32"))]
#[doc(inline)]
pub use texpool_gpu::{DispatchTime, Interrupt, Polling};
#[doc(inline)]
pub use texpool_model::tensor::{ConvertError, Element, Tensor, TensorError, TensorView, TensorViewMut};
#[doc(inline)]
pub use texpool_ops::{graph::DeviceClass, kernels::KernelError, ops::CostClass};

/// half 2: what a tensor of 16-bit floats has as elements must be of this version.
pub use half;
/// wgpu 30, whose devices, textures and encoders sessions take and give: what a caller uses must be of this version.
pub use wgpu;

/// The library code in the README is compiled with the tests, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

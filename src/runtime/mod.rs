//! The API for programs that embed texpool: contexts, models, compiled models, sessions and pools.

#[cfg(not(target_arch = "wasm32"))]
mod cached_plan;
mod compile_builder;
mod compiled;
mod context;
mod error;
mod info;
mod key;
mod lookup;
mod model;
mod named_options;
mod option_table;
mod outputs;
mod pool;
mod pool_ticket;
mod readback;
#[cfg(not(target_arch = "wasm32"))]
mod report_file;
mod session;
mod texture_layout;
mod texture_wgsl;

pub use compile_builder::CompileBuilder;
pub use compiled::CompiledModel;
pub use context::Context;
pub use error::{Error, Uncomputable};
pub use info::TensorInfo;
pub use key::{TensorKey, WantedTensor};
pub use model::Model;
pub use named_options::{NamedOptions, OptionError, OptionHelp};
pub use outputs::Outputs;
pub use pool::{Pool, PooledSession};
pub use readback::{Readback, Submission};
pub use session::Session;
pub use texture_layout::TextureLayout;

pub use crate::gpu::{
    AdapterSummary, Clamp, ClampedValues, GpuError, GpuOptions, Memory, MemoryParts, MemoryPeak, NotFiniteOutput,
    RunWarnings, TensorRole, TextureProblem,
};
#[cfg(not(target_arch = "wasm32"))]
pub use crate::gpu::{DispatchTime, Interrupt, Polling};

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use crate::gpu::now;
#[cfg(not(target_arch = "wasm32"))]
pub use {cached_plan::CachedPlan, report_file::write_report};

/// Compile-time checks of the types that may move to other threads or be shared between them. In a browser, wgpu's
/// handles stay with their thread.
#[cfg(not(target_arch = "wasm32"))]
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    shared::<Context>();
    shared::<Model>();
    shared::<CompiledModel>();
    shared::<Session>();
    shared::<PooledSession>();
    shared::<Pool>();
    shared::<Outputs>();
    shared::<Error>();
    sent::<CompileBuilder<'static>>();
    sent::<Readback>();
    sent::<Submission>();
};

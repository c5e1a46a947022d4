//! The executor on wgpu: device, textures, pipelines, programs. Independent of file formats.

mod account;
mod allocations;
#[cfg(not(target_arch = "wasm32"))]
mod calibrate;
mod carry;
#[cfg(not(target_arch = "wasm32"))]
mod ceiling;
#[cfg(not(target_arch = "wasm32"))]
mod compare;
mod device;
#[cfg(not(target_arch = "wasm32"))]
mod driver;
mod error;
mod executor;
mod few;
#[cfg(target_os = "linux")]
mod fork_stacks;
#[cfg(not(target_arch = "wasm32"))]
mod interrupt;
#[cfg(not(target_arch = "wasm32"))]
mod kept_weights;
mod loss;
mod lower;
mod memory;
mod pack;
#[cfg(not(target_arch = "wasm32"))]
mod packed_file;
mod packed_weights;
#[cfg(not(target_arch = "wasm32"))]
mod packing_key;
mod param_binding;
mod params;
mod pipelines;
mod poll;
#[cfg(not(target_arch = "wasm32"))]
mod poller;
mod pool;
mod ports;
mod process;
#[cfg(not(target_arch = "wasm32"))]
mod profile;
mod program;
mod rearrange;
mod resident;
mod run_warnings;
#[cfg(not(target_arch = "wasm32"))]
mod specialised;
mod staging;
mod streamed;
mod tensor_memory;
mod tensor_role;
mod texture_format;
mod texture_problem;
mod textures;
mod transfer;
#[cfg(not(target_arch = "wasm32"))]
mod tune;
#[cfg(not(target_arch = "wasm32"))]
mod unrolled;
mod wait;
mod weight_source;
mod weights;

#[cfg(not(target_arch = "wasm32"))]
pub use calibrate::{Stopwatch, calibrate};
#[cfg(not(target_arch = "wasm32"))]
pub use ceiling::measure_ceiling;
#[cfg(not(target_arch = "wasm32"))]
pub use compare::{StepDifference, compare, compare_compiled, largest_difference, largest_magnitude, tolerance};
#[cfg(not(target_arch = "wasm32"))]
pub use device::adapters;
pub use device::{AdapterSummary, Gpu, GpuOptions, TIMEOUT, adapters_async};
pub use error::GpuError;
pub use executor::{Executor, ExecutorOptions};
#[cfg(not(target_arch = "wasm32"))]
pub use executor::{InBuffers, MemoryComparison};
pub use few::Few;
#[cfg(not(target_arch = "wasm32"))]
pub use interrupt::Interrupt;
pub use memory::{Memory, MemoryParts, MemoryPeak};
pub use pack::{lane, pack, unpack};
pub use param_binding::{DispatchBinding, ParamBinding};
pub use pipelines::{PipelineRecipe, Pipelines, SharedPipelines, source};
#[cfg(not(target_arch = "wasm32"))]
pub use poller::Polling;
pub use process::PerProcess;
#[cfg(not(target_arch = "wasm32"))]
pub use profile::DispatchTime;
pub use program::Program;
pub use run_warnings::{Clamp, ClampedValues, NotFiniteOutput, RunWarnings};
#[cfg(not(target_arch = "wasm32"))]
pub use specialised::specialised;
pub use tensor_role::TensorRole;
pub use texture_format::texture_format;
pub use texture_problem::TextureProblem;
pub use textures::{Role, TextureSet};
#[cfg(not(target_arch = "wasm32"))]
pub use tune::{TuneLayer, TunedKind, tune};
pub use wait::Wait;
pub use weights::SharedWeights;

#[cfg(not(target_arch = "wasm32"))]
pub use wait::now;
pub use {
    pool::PoolTextures,
    staging::Readback,
    wait::{Answer, RUN, Submitted},
};

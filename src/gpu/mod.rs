//! The executor on wgpu: device, textures, pipelines, programs. Knows no file format.

mod allocations;
mod calibrate;
mod compare;
mod device;
mod error;
mod external;
mod loss;
mod lower;
mod memory;
mod pack;
mod params;
mod pipelines;
mod profile;
mod program;
mod session;
mod tensor_role;
mod textures;
mod transfer;
mod wait;
mod weights;

pub use calibrate::{Stopwatch, calibrate};
pub use compare::{StepDifference, compare, compare_compiled, largest_difference, largest_magnitude, tolerance};
pub use device::{AdapterSummary, Gpu, GpuOptions, TIMEOUT, adapters};
pub use error::GpuError;
pub use external::ExternalTextures;
pub use memory::Memory;
pub use pipelines::{ParamBinding, PipelineRecipe, Pipelines, SharedPipelines, source};
pub use profile::DispatchTime;
pub use program::Program;
pub use session::{Session, SessionOptions, io_texture};
pub use tensor_role::TensorRole;
pub use textures::{Role, TextureSet};

//! The executor on wgpu: device, textures, pipelines, programs. Knows no file format.

mod calibrate;
mod compare;
mod device;
mod error;
mod lower;
mod pack;
mod params;
mod pipelines;
mod profile;
mod program;
mod session;
mod textures;
mod transfer;
mod wait;
mod weights;

pub use calibrate::{Stopwatch, calibrate};
pub use compare::{StepDifference, compare, compare_compiled, largest_difference, largest_magnitude, tolerance};
pub use device::{AdapterSummary, Gpu, GpuOptions, TIMEOUT, adapters};
pub use error::GpuError;
pub use pipelines::{ParamBinding, PipelineRecipe, Pipelines, SharedPipelines, source};
pub use profile::DispatchTime;
pub use program::Program;
pub use session::{ExternalTextures, Memory, Session, SessionOptions, io_texture};
pub use textures::{Role, TextureSet};

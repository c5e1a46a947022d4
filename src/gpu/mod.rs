//! The executor on wgpu: device, textures, pipelines, programs. Knows no file format.

mod compare;
mod device;
mod error;
mod lower;
mod measure;
mod pack;
mod pipelines;
mod profile;
mod program;
mod session;
mod textures;
mod transfer;
mod wait;
mod weights;
mod words;

pub use compare::{StepDifference, compare, compare_prepared, furthest, largest, tolerance};
pub use device::{AdapterSummary, Gpu, GpuOptions, TIMEOUT, adapters};
pub use error::GpuError;
pub use measure::{Stopwatch, measure_figures};
pub use pipelines::{PipelineCache, PipelineRecipe, Pipelines, Table, source};
pub use profile::DispatchTime;
pub use program::Program;
pub use session::{Brought, Memory, Session, SessionOptions, io_texture};
pub use textures::{Role, TextureSet};

//! The executor on wgpu: device, textures, pipelines, programs. Knows no file format.

mod device;
mod error;
mod pipelines;
mod program;
mod textures;

pub use device::{AdapterSummary, Gpu, GpuOptions, adapters};
pub use error::GpuError;
pub use pipelines::{Pipelines, Table, source};
pub use program::Program;
pub use textures::{Role, TextureSet};

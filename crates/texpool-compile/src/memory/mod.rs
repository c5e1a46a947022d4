//! Counts the memory that a plan takes, without a device: textures, tables, transfer buffers and the blocks of wgpu's
//! allocator.

pub(crate) mod allocator_blocks;
pub(crate) mod device_bytes;
pub(crate) mod device_format;
pub(crate) mod floor;
pub(crate) mod io_texture;
pub(crate) mod placed_steps;
pub(crate) mod tables;
pub(crate) mod transfer_buffers;
pub(crate) mod weight_textures;

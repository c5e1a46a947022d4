//! All tests that need an adapter, in one binary, so that the `witness` module can rerun them: on a second driver,
//! under the validation layer, and without any driver.

#![cfg(test)]

mod account;
mod allocations;
mod budget;
mod bytes;
mod clamped;
mod compare;
mod core_only;
mod device_profile;
mod faults;
mod given;
mod goldens;
mod in_buffers;
mod in_place;
mod invariance;
mod kernels;
mod long;
mod loops;
mod memory;
mod moves;
mod narrow_runs;
mod onnx_nodes;
mod patches;
mod planned;
mod portability;
mod recovery;
mod runtime;
mod scarce;
mod session;
mod shared_weights;
mod soundness;
mod split;
mod stream;
mod streamed_io;
mod support;
mod tasks;
mod texture_layout;
mod tiling;
mod tuned_blocks;
mod volumes;
mod weight_formats;
mod witness;

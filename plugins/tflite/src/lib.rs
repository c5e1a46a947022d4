//! A TensorFlow Lite delegate: a shared library that an unmodified LiteRT or TensorFlow Lite loads. It takes the nodes
//! of a graph that texpool supports and runs them on the GPU; the README says how it is opened and what can be asked of
//! it.
//!
//! From below: `abi` is the runtime's structs, `host` its functions, `graph` its nodes and tensors as copies. `written`
//! makes a `.tflite` file of nodes, `read` has texpool's importer read it, `select` finds out by that which nodes are
//! taken, and `kernel` runs them in the runtime's memory.

mod abi;
mod accelerator;
mod builtin_data;
mod decision;
mod delegate;
mod device;
mod dynamic;
mod flatbuffer;
mod graph;
mod guard;
mod host;
mod kernel;
mod log;
mod options;
mod plugin;
#[path = "../../shared/python_signals.rs"]
mod python_signals;
mod read;
mod ready;
mod report;
mod select;
mod shared;
mod sparsity;
mod values;
mod written;

pub use accelerator::LiteRtAcceleratorImpl;
pub use plugin::{tflite_plugin_create_delegate, tflite_plugin_destroy_delegate};

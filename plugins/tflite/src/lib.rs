//! A TensorFlow Lite delegate: a shared library that an unmodified LiteRT or TensorFlow Lite loads. It takes the
//! nodes of a graph that texpool supports, and runs them on the GPU. The README explains how to load it, and lists
//! the options.
//!
//! From the bottom up: `abi` declares the runtime's structs, `host` wraps its functions, and `graph` copies its nodes
//! and tensors, `other_graph` also those of other graphs that name variables. `written` writes nodes as a `.tflite`
//! file, `read` passes that to texpool's importer, `select` uses it to find out which nodes to take, and `kernel` runs
//! them on the runtime's memory.

mod abi;
mod accelerator;
mod builtin_data;
mod decision;
mod delegate;
mod device;
mod first_values;
mod flatbuffer;
mod graph;
mod guard;
mod host;
mod kernel;
mod log;
mod options;
mod other_graph;
mod plugin;
#[path = "../../shared/python_signals.rs"]
mod python_signals;
mod read;
mod ready;
mod report;
mod runtime_graph;
mod select;
mod shared;
mod sparsity;
mod values;
mod written;

pub use accelerator::LiteRtAcceleratorImpl;
pub use plugin::{tflite_plugin_create_delegate, tflite_plugin_destroy_delegate};

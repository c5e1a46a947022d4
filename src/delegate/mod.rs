//! What a delegate in another runtime would take of a file: the nodes that texpool's importer reads, in the sets in which
//! that runtime hands them over, and what crosses their borders in every run. Found without the runtime and without a
//! device, from an [outline](crate::import::Outline) of the file.

mod boundary;
mod host;
mod onnxruntime;
mod selection;
mod tflite;
mod turns;

use crate::import::GraphOutline;

pub use host::Host;
pub use selection::{Partition, Selection, Standing};

/// What a delegate in a runtime would take of a graph.
pub fn select(graph: &GraphOutline, host: Host) -> Selection {
    match host {
        Host::TfLite => tflite::select(graph),
        Host::OnnxRuntime => onnxruntime::select(graph),
    }
}

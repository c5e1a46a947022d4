//! What a delegate in another runtime would take of a file: the nodes that texpool's importer reads, in the sets in which
//! that runtime hands them over, and what crosses their borders in every run. Found without the runtime and without a
//! device, from an [outline](crate::import::Outline) of the file.

mod boundary;
mod host;
mod onnxruntime;
mod selection;
mod tflite;
mod turns;
mod worth;

use crate::import::GraphOutline;

pub use host::Host;
pub use selection::{Partition, Selection, Standing};
pub use worth::{MIN_OPERATIONS, too_small};

pub use crate::ops::operations;

/// Selects the nodes that a delegate in a runtime takes of a graph. Sets of fewer than `min_operations` are left, by
/// default [`MIN_OPERATIONS`].
pub fn select(graph: &GraphOutline, host: Host, min_operations: u64) -> Selection {
    match host {
        Host::TfLite => tflite::select(graph, min_operations),
        Host::OnnxRuntime => onnxruntime::select(graph, min_operations),
    }
}

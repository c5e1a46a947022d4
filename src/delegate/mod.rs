//! Selects the nodes that a delegate in another runtime takes of a file, in the sets in which that runtime hands them
//! over, with the tensors that cross their borders in every run. Needs neither the runtime nor a device, but only an
//! [outline](crate::import::Outline) of the file.

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
pub use turns::{FirstTurn, sets};
pub use worth::{BYTES_OF_A_CALL, MIN_OPERATIONS, Work, too_small};

/// Selects the nodes that a delegate in a runtime takes of a graph. Sets of fewer than `min_operations` are left, by
/// default [`MIN_OPERATIONS`], and sets of more if they copy much: see [`too_small`].
pub fn select(graph: &GraphOutline, host: Host, min_operations: u64) -> Selection {
    match host {
        Host::TfLite => tflite::select(graph, min_operations),
        Host::OnnxRuntime => onnxruntime::select(graph, min_operations),
    }
}

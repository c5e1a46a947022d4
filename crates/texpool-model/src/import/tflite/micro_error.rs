//! Errors of plans for TensorFlow Lite Micro.

use crate::import::ImportError;
use texpool_plan::{PlanError, printable};

/// Reason why a model has no plan for TensorFlow Lite Micro, or why a plan cannot be written.
///
/// ```
/// use texpool::import::micro::{MicroArena, MicroError};
///
/// assert!(matches!(MicroArena::read(b"no model"), Err(MicroError::NotTfLite)));
/// let error = MicroError::NoOperator { operator: 7, count: 5 };
/// assert_eq!(error.to_string(), "there is no operator 7; the model's 5 are numbered from 0");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MicroError {
    /// The file has another form than that which the runtime reads.
    #[error("it is no .tflite file, and TensorFlow Lite Micro reads no others")]
    NotTfLite,
    /// The file is not a sound `.tflite` model.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A tensor has a type that the runtime gives no place in the arena.
    #[error("tensor `{}` is {type_name}, which TensorFlow Lite Micro does not place in its arena", printable(tensor))]
    Type {
        /// Name of the tensor.
        tensor: String,
        /// Name of its type.
        type_name: &'static str,
    },
    /// A tensor has an extent that is open, or too many bytes.
    #[error(
        "tensor `{}` has extents {extents:?}; TensorFlow Lite Micro needs fixed ones and at most 2 GiB",
        printable(tensor)
    )]
    Extents {
        /// Name of the tensor.
        tensor: String,
        /// Its extents.
        extents: Vec<i32>,
    },
    /// A scratch buffer belongs to an operator that the model does not have.
    #[error("there is no operator {operator}; the model's {count} are numbered from 0")]
    NoOperator {
        /// The operator's number.
        operator: usize,
        /// Number of operators in the first graph.
        count: usize,
    },
    /// The file cannot take another buffer.
    #[error("the file cannot hold a plan: {0}")]
    File(&'static str),
    /// The plan does not place the model's buffers.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

//! The runtimes that texpool has delegates for.

use crate::import::Format;

/// A runtime that hands nodes to a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// TensorFlow Lite.
    TfLite,
    /// ONNX Runtime.
    OnnxRuntime,
}

impl Host {
    /// The name by which users know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TfLite => "tflite",
            Self::OnnxRuntime => "onnxruntime",
        }
    }

    /// The one that reads a format.
    pub const fn of(format: Format) -> Self {
        match format {
            Format::TfLite => Self::TfLite,
            Format::Onnx => Self::OnnxRuntime,
        }
    }
}

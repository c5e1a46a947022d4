//! Hand-written declarations of the structs and functions that TensorFlow Lite shares with a delegate.
//!
//! Based on `tflite/core/c/common.h` of LiteRT at f6745779 (August 2026, after 2.3.0). `ai-edge-litert` 2.3.0 and
//! `tflite-runtime` 2.14.0 have the same layouts in all parts that a delegate accesses. `host.rs` measures the
//! distances between each runtime's structs, and refuses runtimes with different ones.

mod layout;
mod lists;
mod litert;
mod runtime;
mod tensor;

pub(crate) use lists::{FloatArray, IntArray, OwnedIntArray};
pub(crate) use litert::{
    BufferHandlersDef, HW_ACCELERATOR_GPU, LiteRtAbiHeader, LiteRtAcceleratorDef, LiteRtApiVersion,
    LiteRtRuntimeContext, LiteRtStatus,
};
pub(crate) use runtime::{
    TfLiteContext, TfLiteDelegate, TfLiteDelegateParams, TfLiteNode, TfLiteRegistration, TfLiteStatus, code, flags,
};
pub(crate) use tensor::{
    TfLiteAffineQuantization, TfLiteDimensionMetadata, TfLiteQuantization, TfLiteSparsity, TfLiteTensor, allocation,
    quantization, type_of,
};

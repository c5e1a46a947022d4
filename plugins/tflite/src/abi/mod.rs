//! The structs and functions that TensorFlow Lite shares with a delegate, written by hand.
//!
//! Read from `tflite/core/c/common.h` of LiteRT at f6745779 (August 2026, beyond 2.3.0). `ai-edge-litert` 2.3.0 and
//! `tflite-runtime` 2.14.0 have the same layouts where a delegate reads and writes; `host.rs` asks each runtime for the
//! distances between its structs and refuses one that has others.

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

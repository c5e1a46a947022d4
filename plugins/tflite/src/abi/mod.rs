//! The structs and functions that TensorFlow Lite shares with a delegate, written by hand.
//!
//! Read from `tflite/core/c/common.h` of LiteRT at f6745779 (August 2026, beyond 2.3.0). `ai-edge-litert` 2.3.0 and
//! `tflite-runtime` 2.14.0 have the same layouts where a delegate reads and writes; `host.rs` asks each runtime for the
//! distances between its structs and refuses one that has others.

mod context;
mod delegate;
mod lists;
pub(crate) mod litert;
mod node;
mod tensor;

pub(crate) use context::TfLiteContext;
pub(crate) use delegate::{TfLiteDelegate, TfLiteDelegateParams, flags};
pub(crate) use lists::{FloatArray, IntArray, OwnedIntArray};
pub(crate) use node::{TfLiteNode, TfLiteRegistration, code};
pub(crate) use tensor::{
    TfLiteAffineQuantization, TfLiteDimensionMetadata, TfLiteQuantization, TfLiteSparsity, TfLiteTensor, allocation,
    quantization, type_of,
};

/// How a call ended.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TfLiteStatus(pub(crate) i32);

impl TfLiteStatus {
    pub(crate) const OK: Self = Self(0);
    /// An error of a delegate.
    pub(crate) const DELEGATE_ERROR: Self = Self(2);
}

/// Compares the size of a struct, and where its fields lie, with the header's.
macro_rules! layout {
    ($type:ty, $size:literal, $($field:ident: $offset:literal),* $(,)?) => {
        #[cfg(target_pointer_width = "64")]
        const _: () = {
            assert!(size_of::<$type>() == $size);
            $(assert!(std::mem::offset_of!($type, $field) == $offset);)*
        };
    };
}
use layout;

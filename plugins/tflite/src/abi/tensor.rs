//! Tensors of the runtime.

use std::ffi::{c_char, c_void};

use super::{FloatArray, IntArray, layout};

/// `TfLiteTensor`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteTensor {
    pub(crate) element_type: i32,
    pub(crate) data: *mut c_void,
    pub(crate) dims: *const IntArray,
    pub(crate) params: TfLiteQuantizationParams,
    pub(crate) allocation_type: i32,
    pub(crate) bytes: usize,
    allocation: *const c_void,
    pub(crate) name: *const c_char,
    delegate: *mut c_void,
    buffer_handle: i32,
    data_is_stale: bool,
    pub(crate) is_variable: bool,
    pub(crate) quantization: TfLiteQuantization,
    pub(crate) sparsity: *const c_void,
    dims_signature: *const IntArray,
}

/// What integers of one scale stand for: `scale * (integer - zero_point)`; a scale of zero says nothing.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfLiteQuantizationParams {
    pub(crate) scale: f32,
    pub(crate) zero_point: i32,
}

/// What a tensor's integers stand for, by its kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfLiteQuantization {
    pub(crate) kind: i32,
    pub(crate) params: *const c_void,
}

/// The parameters of the kind [`quantization::AFFINE`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteAffineQuantization {
    pub(crate) scale: *const FloatArray,
    pub(crate) zero_point: *const IntArray,
    pub(crate) quantized_dimension: i32,
}

layout!(TfLiteTensor, 112, element_type: 0, data: 8, dims: 16, params: 24, allocation_type: 32, bytes: 40, name: 56,
    buffer_handle: 72, data_is_stale: 76, is_variable: 77, quantization: 80, sparsity: 96, dims_signature: 104);
layout!(TfLiteQuantizationParams, 8, scale: 0, zero_point: 4);
layout!(TfLiteQuantization, 16, kind: 0, params: 8);
layout!(TfLiteAffineQuantization, 24, scale: 0, zero_point: 8, quantized_dimension: 16);

/// Kinds of quantisation (`TfLiteQuantizationType`).
pub(crate) mod quantization {
    pub(crate) const NONE: i32 = 0;
    pub(crate) const AFFINE: i32 = 1;
}

/// Where a tensor's values lie (`TfLiteAllocationType`).
pub(crate) mod allocation {
    /// In the model's file: they never change.
    pub(crate) const MMAP_RO: i32 = 1;
    /// In memory that the operator takes while it runs, because the extents are only known then.
    pub(crate) const DYNAMIC: i32 = 4;
    /// In no memory that a processor reaches.
    pub(crate) const NON_CPU: i32 = 8;
}

/// Element types (`TfLiteType`, of `tflite/converter/core/c/tflite_types.h`) as the numbers of a file
/// (`TensorType`, of `tflite/converter/schema/schema.fbs`).
pub(crate) mod type_of {
    /// By the runtime's number, the file's.
    const FILE: [i8; 20] = [-1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18];
    /// A number that is no type's.
    const UNKNOWN: i8 = 127;

    /// The file's number of a type.
    pub(crate) fn file(runtime: i32) -> i8 {
        let known = usize::try_from(runtime).ok().and_then(|index| FILE.get(index).copied());
        known.filter(|&number| number >= 0).unwrap_or(UNKNOWN)
    }
}

//! The runtime's tensors.

use std::ffi::{c_char, c_void};

use super::{
    layout::layout,
    lists::{FloatArray, IntArray},
};

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
    /// A `bool` in C, like the next field. Declared as a byte, because with an unknown layout the byte may be an
    /// invalid `bool`.
    data_is_stale: u8,
    is_variable: u8,
    pub(crate) quantization: TfLiteQuantization,
    pub(crate) sparsity: *const TfLiteSparsity,
    dims_signature: *const IntArray,
}

impl TfLiteTensor {
    pub(crate) fn is_variable(&self) -> bool {
        self.is_variable != 0
    }

    /// Returns whether the fields have plausible values, which is unlikely in a struct of another layout. The buffer
    /// handle, for example, is -1 unless a delegate owns the tensor.
    pub(crate) fn is_plausible(&self) -> bool {
        let handle = self.buffer_handle == -1 || (self.buffer_handle >= 0 && !self.delegate.is_null());
        let numbers = (0..64).contains(&self.element_type) && (0..16).contains(&self.allocation_type);
        handle && numbers && self.data_is_stale < 2 && self.is_variable < 2 && self.dims.is_aligned()
    }
}

/// Quantization with a single scale: an integer represents `scale * (integer - zero_point)`. A scale of zero means
/// that the tensor is not quantized this way.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfLiteQuantizationParams {
    pub(crate) scale: f32,
    pub(crate) zero_point: i32,
}

/// Quantization parameters of a tensor, and their kind.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfLiteQuantization {
    pub(crate) kind: i32,
    pub(crate) params: *const c_void,
}

/// Parameters of the kind [`quantization::AFFINE`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteAffineQuantization {
    pub(crate) scale: *const FloatArray,
    pub(crate) zero_point: *const IntArray,
    pub(crate) quantized_dimension: i32,
}

/// Layout of a sparse constant.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteSparsity {
    pub(crate) traversal_order: *const IntArray,
    pub(crate) block_map: *const IntArray,
    pub(crate) dim_metadata: *const TfLiteDimensionMetadata,
    pub(crate) dim_metadata_size: i32,
}

/// One level of a sparse layout: dense, or compressed (CSR).
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteDimensionMetadata {
    pub(crate) format: i32,
    pub(crate) dense_size: i32,
    pub(crate) array_segments: *const IntArray,
    pub(crate) array_indices: *const IntArray,
}

layout!(TfLiteTensor, 112, element_type: 0, data: 8, dims: 16, params: 24, allocation_type: 32, bytes: 40, name: 56,
    buffer_handle: 72, data_is_stale: 76, is_variable: 77, quantization: 80, sparsity: 96, dims_signature: 104);
layout!(TfLiteQuantizationParams, 8, scale: 0, zero_point: 4);
layout!(TfLiteQuantization, 16, kind: 0, params: 8);
layout!(TfLiteAffineQuantization, 24, scale: 0, zero_point: 8, quantized_dimension: 16);

layout!(TfLiteSparsity, 32, traversal_order: 0, block_map: 8, dim_metadata: 16, dim_metadata_size: 24);
layout!(TfLiteDimensionMetadata, 24, format: 0, dense_size: 4, array_segments: 8, array_indices: 16);

/// Kinds of quantization (`TfLiteQuantizationType`).
pub(crate) mod quantization {
    pub(crate) const NONE: i32 = 0;
    pub(crate) const AFFINE: i32 = 1;
}

/// Memory types of tensors (`TfLiteAllocationType`).
pub(crate) mod allocation {
    /// In the model's file; the values never change.
    pub(crate) const MMAP_RO: i32 = 1;
    /// Allocated by the operator while it runs, because only then the extents are known.
    pub(crate) const DYNAMIC: i32 = 4;
    /// In memory that the CPU cannot access.
    pub(crate) const NON_CPU: i32 = 8;
}

/// Conversion of element types (`TfLiteType` in `tflite/converter/core/c/tflite_types.h`) into the numbers used in
/// files (`TensorType` in `tflite/converter/schema/schema.fbs`).
pub(crate) mod type_of {
    /// The file's numbers, indexed by the runtime's.
    const FILE: [i8; 20] = [-1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18];
    /// A number that no type has.
    const UNKNOWN: i8 = 127;

    /// Returns the file's number of a type.
    pub(crate) fn file(runtime: i32) -> i8 {
        let number = usize::try_from(runtime).ok().and_then(|index| FILE.get(index).copied());
        number.filter(|&number| number >= 0).unwrap_or(UNKNOWN)
    }
}

//! What a delegate is to the runtime.

use std::ffi::c_void;

use super::{IntArray, TfLiteContext, TfLiteStatus, layout};

/// `TfLiteDelegate`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteDelegate {
    pub(crate) data: *mut c_void,
    pub(crate) prepare: Option<unsafe extern "C" fn(*mut TfLiteContext, *mut Self) -> TfLiteStatus>,
    pub(crate) copy_from_buffer_handle: *mut c_void,
    pub(crate) copy_to_buffer_handle: *mut c_void,
    pub(crate) free_buffer_handle: *mut c_void,
    pub(crate) flags: i64,
    pub(crate) opaque_delegate_builder: *mut c_void,
}

/// `TfLiteDelegateParams`: a set of nodes that one kernel replaces.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteDelegateParams {
    pub(crate) delegate: *mut TfLiteDelegate,
    pub(crate) nodes_to_replace: *const IntArray,
    pub(crate) input_tensors: *const IntArray,
    pub(crate) output_tensors: *const IntArray,
}

layout!(TfLiteDelegate, 56, data: 0, prepare: 8, copy_from_buffer_handle: 16, copy_to_buffer_handle: 24,
    free_buffer_handle: 32, flags: 40, opaque_delegate_builder: 48);
layout!(TfLiteDelegateParams, 32, delegate: 0, nodes_to_replace: 8, input_tensors: 16, output_tensors: 24);

/// `TfLiteDelegateFlags`.
pub(crate) mod flags {
    /// Extents may change after the delegate was applied.
    pub(crate) const ALLOW_DYNAMIC_TENSORS: i64 = 1;
    /// Where they do, the runtime works out those of all tensors before kernels are prepared.
    pub(crate) const REQUIRE_PROPAGATED_SHAPES: i64 = 2;
    /// The delegate takes all nodes.
    pub(crate) const FULLY_DELEGATED: i64 = 8;
}

//! The runtime's contexts, nodes, registrations and delegates. They refer to each other, as in their header.

use std::ffi::{c_char, c_int, c_void};

use super::{layout::layout, lists::IntArray, tensor::TfLiteTensor};

/// Result of a call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TfLiteStatus(pub(crate) i32);

impl TfLiteStatus {
    pub(crate) const OK: Self = Self(0);
    /// An error of a delegate.
    pub(crate) const DELEGATE_ERROR: Self = Self(2);
}

/// `TfLiteContext`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteContext {
    pub(crate) tensors_size: usize,
    pub(crate) get_execution_plan: Option<unsafe extern "C" fn(*mut Self, *mut *const IntArray) -> TfLiteStatus>,
    pub(crate) tensors: *mut TfLiteTensor,
    implementation: *mut c_void,
    resize_tensor: *mut c_void,
    pub(crate) report_error: Option<unsafe extern "C" fn(*mut Self, *const c_char, ...)>,
    add_tensors: *mut c_void,
    pub(crate) get_node_and_registration: Option<
        unsafe extern "C" fn(*mut Self, c_int, *mut *mut TfLiteNode, *mut *mut TfLiteRegistration) -> TfLiteStatus,
    >,
    pub(crate) replace_node_subsets: Option<
        unsafe extern "C" fn(*mut Self, TfLiteRegistration, *const IntArray, *mut TfLiteDelegate) -> TfLiteStatus,
    >,
    recommended_num_threads: c_int,
    get_external_context: *mut c_void,
    set_external_context: *mut c_void,
    allow_fp32_relax_to_fp16: bool,
    profiler: *mut c_void,
    allocate_persistent_buffer: *mut c_void,
    allocate_buffer_for_eval: *mut c_void,
    request_scratch_buffer_in_arena: *mut c_void,
    get_scratch_buffer: *mut c_void,
    pub(crate) resize_tensor_explicit:
        Option<unsafe extern "C" fn(*mut Self, *mut TfLiteTensor, c_int, *const c_int) -> TfLiteStatus>,
    pub(crate) preview_delegate_partitioning: Option<
        unsafe extern "C" fn(*mut Self, *const IntArray, *mut *mut TfLiteDelegateParams, *mut c_int) -> TfLiteStatus,
    >,
    get_tensor: *mut c_void,
    get_eval_tensor: *mut c_void,
    get_model_metadata: *mut c_void,
    pub(crate) acquire_subgraph_context: Option<unsafe extern "C" fn(*mut Self, c_int, *mut *mut Self) -> TfLiteStatus>,
    pub(crate) release_subgraph_context: Option<unsafe extern "C" fn(*mut Self, c_int) -> TfLiteStatus>,
}

layout!(TfLiteContext, 200, tensors_size: 0, get_execution_plan: 8, tensors: 16, implementation: 24, resize_tensor: 32,
    report_error: 40, add_tensors: 48, get_node_and_registration: 56, replace_node_subsets: 64,
    recommended_num_threads: 72, get_external_context: 80, set_external_context: 88, allow_fp32_relax_to_fp16: 96,
    profiler: 104, allocate_persistent_buffer: 112, allocate_buffer_for_eval: 120, request_scratch_buffer_in_arena: 128,
    get_scratch_buffer: 136, resize_tensor_explicit: 144, preview_delegate_partitioning: 152, get_tensor: 160,
    get_eval_tensor: 168, get_model_metadata: 176, acquire_subgraph_context: 184, release_subgraph_context: 192);

/// `TfLiteNode`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TfLiteNode {
    pub(crate) inputs: *const IntArray,
    pub(crate) outputs: *const IntArray,
    intermediates: *const IntArray,
    temporaries: *const IntArray,
    pub(crate) user_data: *mut c_void,
    pub(crate) builtin_data: *const c_void,
    pub(crate) custom_initial_data: *const c_void,
    pub(crate) custom_initial_data_size: i32,
    delegate: *mut c_void,
    might_have_side_effect: bool,
}

/// `TfLiteRegistration`. Older runtimes lack the last one or two fields. It is passed by value on the stack or by
/// address, so an older runtime finds the fields that it knows in the expected places.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TfLiteRegistration {
    pub(crate) init: Option<unsafe extern "C" fn(*mut TfLiteContext, *const c_char, usize) -> *mut c_void>,
    pub(crate) free: Option<unsafe extern "C" fn(*mut TfLiteContext, *mut c_void)>,
    pub(crate) prepare: Option<unsafe extern "C" fn(*mut TfLiteContext, *mut TfLiteNode) -> TfLiteStatus>,
    pub(crate) invoke: Option<unsafe extern "C" fn(*mut TfLiteContext, *mut TfLiteNode) -> TfLiteStatus>,
    pub(crate) profiling_string: Option<unsafe extern "C" fn(*const TfLiteContext, *const TfLiteNode) -> *const c_char>,
    pub(crate) builtin_code: i32,
    pub(crate) custom_name: *const c_char,
    pub(crate) version: i32,
    pub(crate) registration_external: *mut c_void,
    pub(crate) async_kernel: *mut c_void,
    pub(crate) inplace_operator: u64,
}

layout!(TfLiteNode, 80, inputs: 0, outputs: 8, intermediates: 16, temporaries: 24, user_data: 32, builtin_data: 40,
    custom_initial_data: 48, custom_initial_data_size: 56, delegate: 64, might_have_side_effect: 72);
layout!(TfLiteRegistration, 88, init: 0, free: 8, prepare: 16, invoke: 24, profiling_string: 32, builtin_code: 40,
    custom_name: 48, version: 56, registration_external: 64, async_kernel: 72, inplace_operator: 80);

/// Operator codes (`TfLiteBuiltinOperator` in `tflite/builtin_ops.h`).
pub(crate) mod code {
    pub(crate) const CUSTOM: i32 = 32;
    /// A node that a delegate has substituted for others.
    pub(crate) const DELEGATE: i32 = 51;
    pub(crate) const CALL_ONCE: i32 = 129;
    pub(crate) const VAR_HANDLE: i32 = 142;
}

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
    /// If they change, the runtime computes the extents of all tensors before it prepares kernels.
    pub(crate) const REQUIRE_PROPAGATED_SHAPES: i64 = 2;
    /// The delegate takes all nodes.
    pub(crate) const FULLY_DELEGATED: i64 = 8;
}

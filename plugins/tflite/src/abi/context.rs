//! What the runtime offers to those who look at a graph or run a part of it.

use std::ffi::{c_char, c_int, c_void};

use super::{
    IntArray, TfLiteDelegate, TfLiteDelegateParams, TfLiteNode, TfLiteRegistration, TfLiteStatus, TfLiteTensor, layout,
};

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
    acquire_subgraph_context: *mut c_void,
    release_subgraph_context: *mut c_void,
}

layout!(TfLiteContext, 200, tensors_size: 0, get_execution_plan: 8, tensors: 16, implementation: 24, resize_tensor: 32,
    report_error: 40, add_tensors: 48, get_node_and_registration: 56, replace_node_subsets: 64,
    recommended_num_threads: 72, get_external_context: 80, set_external_context: 88, allow_fp32_relax_to_fp16: 96,
    profiler: 104, allocate_persistent_buffer: 112, allocate_buffer_for_eval: 120, request_scratch_buffer_in_arena: 128,
    get_scratch_buffer: 136, resize_tensor_explicit: 144, preview_delegate_partitioning: 152, get_tensor: 160,
    get_eval_tensor: 168, get_model_metadata: 176, acquire_subgraph_context: 184, release_subgraph_context: 192);

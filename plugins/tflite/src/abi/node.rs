//! Nodes of the runtime, and what runs them.

use std::ffi::{c_char, c_void};

use super::{IntArray, TfLiteContext, TfLiteStatus, layout};

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

/// `TfLiteRegistration`. Older runtimes have the last one or two fields not; they are handed over by value, on the stack
/// or by address, so an older runtime finds the fields that it knows where it expects them.
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

/// Codes of operators (`TfLiteBuiltinOperator`, of `tflite/builtin_ops.h`).
pub(crate) mod code {
    pub(crate) const CUSTOM: i32 = 32;
    /// A node that a delegate has put in place of others.
    pub(crate) const DELEGATE: i32 = 51;
}

//! Declarations of the structs that LiteRT shares with an accelerator.
//!
//! Based on `litert/c/internal/litert_accelerator_def.h`, `litert_runtime_context.h`, `litert_abi_header.h` and
//! `litert_custom_tensor_buffer_handlers_def.h` of LiteRT at f6745779 (August 2026); v2.2.0 has the same sizes and
//! offsets. Versions before 2.2 have a different struct.

use std::ffi::{c_char, c_int, c_void};

use super::{layout::layout, runtime::TfLiteDelegate};

/// Result of a call (`LiteRtStatus`).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiteRtStatus(pub(crate) c_int);

impl LiteRtStatus {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const INVALID_ARGUMENT: Self = Self(1);
    pub(crate) const RUNTIME_FAILURE: Self = Self(3);
    pub(crate) const WRONG_VERSION: Self = Self(8);
}

/// `LiteRtAbiHeader`, the first member of all these structs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiteRtAbiHeader {
    pub(crate) struct_size: u16,
    pub(crate) major_version: u16,
    pub(crate) minor_version: u16,
    pub(crate) reserved: u16,
}

/// `LiteRtApiVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiteRtApiVersion {
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) patch: c_int,
}

/// The beginning of `LiteRtRuntimeContext`, a table of functions, up to the last one that is used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct LiteRtRuntimeContext {
    pub(crate) abi_header: LiteRtAbiHeader,
    before: [*const c_void; 17],
    pub(crate) wrap_delegate: Option<
        unsafe extern "C" fn(
            *mut TfLiteDelegate,
            Option<unsafe extern "C" fn(*mut TfLiteDelegate)>,
            *mut *mut c_void,
        ) -> LiteRtStatus,
    >,
}

/// `LiteRtAcceleratorDefV1`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct LiteRtAcceleratorDef {
    pub(crate) abi_header: LiteRtAbiHeader,
    pub(crate) get_name: unsafe extern "C" fn(*const c_void, *mut *const c_char) -> LiteRtStatus,
    pub(crate) get_version: unsafe extern "C" fn(*const c_void, *mut LiteRtApiVersion) -> LiteRtStatus,
    pub(crate) get_hardware_support: unsafe extern "C" fn(*const c_void, *mut c_int) -> LiteRtStatus,
    pub(crate) is_tflite_delegate_responsible_for_jit_compilation:
        unsafe extern "C" fn(*const c_void, *mut u8) -> LiteRtStatus,
    pub(crate) create_delegate: unsafe extern "C" fn(
        *mut LiteRtRuntimeContext,
        *mut c_void,
        *const c_void,
        *mut c_void,
        *mut *mut c_void,
    ) -> LiteRtStatus,
    pub(crate) start_metrics_collection: *const c_void,
    pub(crate) stop_metrics_collection: *const c_void,
    pub(crate) buffer_handlers: BufferHandlersDef,
}

// SAFETY: it is never modified, and its pointers are NULL.
unsafe impl Sync for LiteRtAcceleratorDef {}

/// `LiteRtCustomTensorBufferHandlersDef`, for accelerators that have custom buffers.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct BufferHandlersDef {
    pub(crate) abi_header: LiteRtAbiHeader,
    pub(crate) functions: [*const c_void; 6],
    pub(crate) device_tag: c_int,
    pub(crate) queue_tag: c_int,
    pub(crate) num_supported_buffer_types: usize,
    pub(crate) supported_buffer_types: [c_int; 16],
}

layout!(LiteRtAbiHeader, 8, struct_size: 0, major_version: 2, minor_version: 4, reserved: 6);
layout!(LiteRtApiVersion, 12, major: 0, minor: 4, patch: 8);
layout!(LiteRtRuntimeContext, 152, abi_header: 0, before: 8, wrap_delegate: 144);
layout!(LiteRtAcceleratorDef, 200, abi_header: 0, get_name: 8, get_version: 16, get_hardware_support: 24,
    is_tflite_delegate_responsible_for_jit_compilation: 32, create_delegate: 40, start_metrics_collection: 48,
    stop_metrics_collection: 56, buffer_handlers: 64);
layout!(BufferHandlersDef, 136, abi_header: 0, functions: 8, device_tag: 56, queue_tag: 60,
    num_supported_buffer_types: 64, supported_buffer_types: 72);

/// `kLiteRtHwAcceleratorGpu`.
pub(crate) const HW_ACCELERATOR_GPU: c_int = 2;

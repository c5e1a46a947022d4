//! The structs that the runtime calls, laid out as in `onnxruntime_ep_c_api.h` of API version 29. They end with the
//! last member of version 24, which `ort_version_supported` declares to the runtime.
//!
//! Optional members are NULL, with one exception: functions for allocators, transfers and streams must exist even if
//! the provider has none. The runtime calls `CreateDataTransfer` without checking for NULL (seen with 1.32).

use std::{
    ffi::{c_char, c_void},
    mem::{offset_of, size_of},
};

use super::types::{
    OrtAllocator, OrtDataTransferImpl, OrtEpDevice, OrtEpGraphSupportInfo, OrtGraph, OrtHardwareDevice,
    OrtKernelContext, OrtKeyValuePairs, OrtLogger, OrtMemoryInfo, OrtNode, OrtNodeComputeContext, OrtSessionOptions,
    OrtStatus,
};

/// An optional member that this provider does not have.
type Absent = *const c_void;

/// `OrtEpFactory`: describes the provider and its devices, and creates a provider for a session.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtEpFactory {
    pub(crate) ort_version_supported: u32,
    pub(crate) get_name: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub(crate) get_vendor: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub(crate) get_supported_devices: unsafe extern "system" fn(
        factory: *mut OrtEpFactory,
        devices: *const *const OrtHardwareDevice,
        device_count: usize,
        ep_devices: *mut *mut OrtEpDevice,
        room: usize,
        ep_device_count: *mut usize,
    ) -> *mut OrtStatus,
    pub(crate) create_ep: unsafe extern "system" fn(
        factory: *mut OrtEpFactory,
        devices: *const *const OrtHardwareDevice,
        metadata: *const *const OrtKeyValuePairs,
        count: usize,
        options: *const OrtSessionOptions,
        logger: *const OrtLogger,
        ep: *mut *mut OrtEp,
    ) -> *mut OrtStatus,
    pub(crate) release_ep: unsafe extern "system" fn(*mut OrtEpFactory, *mut OrtEp),
    pub(crate) get_vendor_id: unsafe extern "system" fn(*const OrtEpFactory) -> u32,
    pub(crate) get_version: unsafe extern "system" fn(*const OrtEpFactory) -> *const c_char,
    pub(crate) validate_compiled_model_compatibility_info: Absent,
    pub(crate) create_allocator: unsafe extern "system" fn(
        factory: *mut OrtEpFactory,
        memory: *const OrtMemoryInfo,
        options: *const OrtKeyValuePairs,
        allocator: *mut *mut OrtAllocator,
    ) -> *mut OrtStatus,
    pub(crate) release_allocator: unsafe extern "system" fn(*mut OrtEpFactory, *mut OrtAllocator),
    pub(crate) create_data_transfer:
        unsafe extern "system" fn(*mut OrtEpFactory, *mut *mut OrtDataTransferImpl) -> *mut OrtStatus,
    pub(crate) is_stream_aware: unsafe extern "system" fn(*const OrtEpFactory) -> bool,
    pub(crate) create_sync_stream_for_device: Absent,
    pub(crate) get_hardware_device_incompatibility_details: Absent,
    pub(crate) create_external_resource_importer_for_device: Absent,
    pub(crate) get_num_custom_op_domains: Absent,
    pub(crate) get_custom_op_domains: Absent,
}

/// `OrtEp`: the provider of a session.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtEp {
    pub(crate) ort_version_supported: u32,
    pub(crate) get_name: unsafe extern "system" fn(*const OrtEp) -> *const c_char,
    pub(crate) get_capability:
        unsafe extern "system" fn(*mut OrtEp, *const OrtGraph, *mut OrtEpGraphSupportInfo) -> *mut OrtStatus,
    pub(crate) compile: unsafe extern "system" fn(
        ep: *mut OrtEp,
        graphs: *const *const OrtGraph,
        fused_nodes: *const *const OrtNode,
        count: usize,
        compute_infos: *mut *mut OrtNodeComputeInfo,
        ep_context_nodes: *mut *mut OrtNode,
    ) -> *mut OrtStatus,
    pub(crate) release_node_compute_infos: unsafe extern "system" fn(*mut OrtEp, *mut *mut OrtNodeComputeInfo, usize),
    pub(crate) get_preferred_data_layout: Absent,
    pub(crate) should_convert_data_layout_for_op: Absent,
    pub(crate) set_dynamic_options: Absent,
    pub(crate) on_run_start: Absent,
    pub(crate) on_run_end: Absent,
    pub(crate) create_allocator: Absent,
    pub(crate) create_sync_stream_for_device: Absent,
    pub(crate) get_compiled_model_compatibility_info: Absent,
    pub(crate) get_kernel_registry: Absent,
    pub(crate) is_concurrent_run_supported: Absent,
}

/// `OrtNodeComputeInfo`: runs a partition.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtNodeComputeInfo {
    pub(crate) ort_version_supported: u32,
    pub(crate) create_state: unsafe extern "system" fn(
        info: *mut OrtNodeComputeInfo,
        context: *mut OrtNodeComputeContext,
        state: *mut *mut c_void,
    ) -> *mut OrtStatus,
    pub(crate) compute:
        unsafe extern "system" fn(*mut OrtNodeComputeInfo, *mut c_void, *mut OrtKernelContext) -> *mut OrtStatus,
    pub(crate) release_state: unsafe extern "system" fn(*mut OrtNodeComputeInfo, *mut c_void),
}

/// `OrtNodeFusionOptions`: options for fusing nodes.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtNodeFusionOptions {
    pub(crate) ort_version_supported: u32,
    pub(crate) drop_constant_initializers: bool,
}

const POINTER: usize = size_of::<Absent>();

const _: () = {
    assert!(offset_of!(OrtEpFactory, get_name) == POINTER);
    assert!(offset_of!(OrtEpFactory, get_vendor) == 2 * POINTER);
    assert!(offset_of!(OrtEpFactory, get_supported_devices) == 3 * POINTER);
    assert!(offset_of!(OrtEpFactory, create_ep) == 4 * POINTER);
    assert!(offset_of!(OrtEpFactory, release_ep) == 5 * POINTER);
    assert!(offset_of!(OrtEpFactory, get_vendor_id) == 6 * POINTER);
    assert!(offset_of!(OrtEpFactory, get_version) == 7 * POINTER);
    assert!(offset_of!(OrtEpFactory, create_allocator) == 9 * POINTER);
    assert!(offset_of!(OrtEpFactory, release_allocator) == 10 * POINTER);
    assert!(offset_of!(OrtEpFactory, create_data_transfer) == 11 * POINTER);
    assert!(offset_of!(OrtEpFactory, is_stream_aware) == 12 * POINTER);
    assert!(offset_of!(OrtEpFactory, create_sync_stream_for_device) == 13 * POINTER);
    assert!(size_of::<OrtEpFactory>() == 18 * POINTER);
    assert!(offset_of!(OrtEp, get_name) == POINTER);
    assert!(offset_of!(OrtEp, get_capability) == 2 * POINTER);
    assert!(offset_of!(OrtEp, compile) == 3 * POINTER);
    assert!(offset_of!(OrtEp, release_node_compute_infos) == 4 * POINTER);
    assert!(offset_of!(OrtEp, get_kernel_registry) == 13 * POINTER);
    assert!(offset_of!(OrtEp, is_concurrent_run_supported) == 14 * POINTER);
    assert!(size_of::<OrtEp>() == 15 * POINTER);
    assert!(offset_of!(OrtNodeComputeInfo, create_state) == POINTER);
    assert!(offset_of!(OrtNodeComputeInfo, compute) == 2 * POINTER);
    assert!(offset_of!(OrtNodeComputeInfo, release_state) == 3 * POINTER);
    assert!(size_of::<OrtNodeComputeInfo>() == 4 * POINTER);
    assert!(offset_of!(OrtNodeFusionOptions, drop_constant_initializers) == 4);
    assert!(size_of::<OrtNodeFusionOptions>() == 8);
};

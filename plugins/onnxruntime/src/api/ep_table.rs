//! The table of functions for providers, laid out as in `onnxruntime_ep_c_api.h` of API version 29.

use std::{
    ffi::c_void,
    mem::{offset_of, size_of},
};

use super::{
    provider::{OrtEpFactory, OrtNodeFusionOptions},
    types::{OrtEpDevice, OrtEpGraphSupportInfo, OrtHardwareDevice, OrtKeyValuePairs, OrtNode, OrtStatus},
};

/// `OrtEpApi`, up to the last member that is used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtEpApi {
    pub(crate) create_ep_device: unsafe extern "system" fn(
        factory: *mut OrtEpFactory,
        device: *const OrtHardwareDevice,
        metadata: *const OrtKeyValuePairs,
        options: *const OrtKeyValuePairs,
        out: *mut *mut OrtEpDevice,
    ) -> *mut OrtStatus,
    _release_ep_device: *const c_void,
    pub(crate) ep_graph_support_info_add_nodes_to_fuse: unsafe extern "system" fn(
        info: *mut OrtEpGraphSupportInfo,
        nodes: *const *const OrtNode,
        count: usize,
        options: *const OrtNodeFusionOptions,
    ) -> *mut OrtStatus,
}

const POINTER: usize = size_of::<*const c_void>();

const _: () = {
    assert!(offset_of!(OrtEpApi, create_ep_device) == 0);
    assert!(offset_of!(OrtEpApi, ep_graph_support_info_add_nodes_to_fuse) == 2 * POINTER);
};

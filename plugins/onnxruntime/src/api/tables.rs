//! The table of functions that the runtime provides, laid out as in `onnxruntime_c_api.h` of API version 29. Tables
//! only grow at the end, so the members of version 24 have the same offset in every later version.
//!
//! Members that are not used here are declared as gaps. The numbers in the assertions come from `offsetof` in C.

use std::{
    ffi::{c_char, c_void},
    mem::{offset_of, size_of},
};

use super::ep_table::OrtEpApi;
use super::types::{
    OrtGraph, OrtHardwareDevice, OrtKernelContext, OrtKeyValuePairs, OrtLogger, OrtNode, OrtOpAttr, OrtPathChar,
    OrtSessionOptions, OrtStatus, OrtTensorTypeAndShapeInfo, OrtTypeInfo, OrtValue, OrtValueInfo,
};

/// A member that is not used.
type Unused = *const c_void;

/// `OrtApiBase`, returned by `OrtGetApiBase` and passed to `CreateEpFactories`. It never changes.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtApiBase {
    pub(crate) get_api: unsafe extern "system" fn(version: u32) -> *const OrtApi,
    pub(crate) get_version_string: unsafe extern "system" fn() -> *const c_char,
}

/// `OrtApi`, up to the last member that is used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OrtApi {
    pub(crate) create_status: unsafe extern "system" fn(code: i32, message: *const c_char) -> *mut OrtStatus,
    pub(crate) get_error_code: unsafe extern "system" fn(status: *const OrtStatus) -> i32,
    pub(crate) get_error_message: unsafe extern "system" fn(status: *const OrtStatus) -> *const c_char,
    _before_get_tensor_mutable_data: [Unused; 48],
    pub(crate) get_tensor_mutable_data:
        unsafe extern "system" fn(value: *mut OrtValue, data: *mut *mut c_void) -> *mut OrtStatus,
    _before_cast_type_info_to_tensor_info: [Unused; 3],
    pub(crate) cast_type_info_to_tensor_info: unsafe extern "system" fn(
        info: *const OrtTypeInfo,
        tensor: *mut *const OrtTensorTypeAndShapeInfo,
    ) -> *mut OrtStatus,
    _before_get_tensor_element_type: [Unused; 4],
    pub(crate) get_tensor_element_type:
        unsafe extern "system" fn(info: *const OrtTensorTypeAndShapeInfo, element_type: *mut i32) -> *mut OrtStatus,
    pub(crate) get_dimensions_count:
        unsafe extern "system" fn(info: *const OrtTensorTypeAndShapeInfo, count: *mut usize) -> *mut OrtStatus,
    pub(crate) get_dimensions: unsafe extern "system" fn(
        info: *const OrtTensorTypeAndShapeInfo,
        dims: *mut i64,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) get_symbolic_dimensions: unsafe extern "system" fn(
        info: *const OrtTensorTypeAndShapeInfo,
        names: *mut *const c_char,
        count: usize,
    ) -> *mut OrtStatus,
    _before_kernel_context_get_input: [Unused; 26],
    pub(crate) kernel_context_get_input: unsafe extern "system" fn(
        context: *const OrtKernelContext,
        index: usize,
        value: *mut *const OrtValue,
    ) -> *mut OrtStatus,
    pub(crate) kernel_context_get_output: unsafe extern "system" fn(
        context: *mut OrtKernelContext,
        index: usize,
        dims: *const i64,
        rank: usize,
        value: *mut *mut OrtValue,
    ) -> *mut OrtStatus,
    _before_release_status: [Unused; 1],
    pub(crate) release_status: unsafe extern "system" fn(status: *mut OrtStatus),
    _before_release_value: [Unused; 2],
    pub(crate) release_value: unsafe extern "system" fn(value: *mut OrtValue),
    _before_logger_log_message: [Unused; 150],
    pub(crate) logger_log_message: unsafe extern "system" fn(
        logger: *const OrtLogger,
        severity: i32,
        message: *const c_char,
        file: *const OrtPathChar,
        line: i32,
        function: *const c_char,
    ) -> *mut OrtStatus,
    _before_read_op_attr: [Unused; 24],
    pub(crate) read_op_attr: unsafe extern "system" fn(
        attribute: *const OrtOpAttr,
        kind: i32,
        data: *mut c_void,
        room: usize,
        bytes: *mut usize,
    ) -> *mut OrtStatus,
    _before_get_value_info_name: [Unused; 16],
    pub(crate) get_value_info_name:
        unsafe extern "system" fn(value: *const OrtValueInfo, name: *mut *const c_char) -> *mut OrtStatus,
    pub(crate) get_value_info_type_info:
        unsafe extern "system" fn(value: *const OrtValueInfo, info: *mut *const OrtTypeInfo) -> *mut OrtStatus,
    _before_create_key_value_pairs: [Unused; 4],
    pub(crate) create_key_value_pairs: unsafe extern "system" fn(out: *mut *mut OrtKeyValuePairs),
    pub(crate) add_key_value_pair:
        unsafe extern "system" fn(pairs: *mut OrtKeyValuePairs, key: *const c_char, value: *const c_char),
    pub(crate) get_key_value:
        unsafe extern "system" fn(pairs: *const OrtKeyValuePairs, key: *const c_char) -> *const c_char,
    pub(crate) get_key_value_pairs: unsafe extern "system" fn(
        pairs: *const OrtKeyValuePairs,
        keys: *mut *const *const c_char,
        values: *mut *const *const c_char,
        count: *mut usize,
    ),
    _before_release_key_value_pairs: [Unused; 1],
    pub(crate) release_key_value_pairs: unsafe extern "system" fn(pairs: *mut OrtKeyValuePairs),
    _before_hardware_device_type: [Unused; 6],
    pub(crate) hardware_device_type: unsafe extern "system" fn(device: *const OrtHardwareDevice) -> i32,
    _before_hardware_device_metadata: [Unused; 3],
    pub(crate) hardware_device_metadata:
        unsafe extern "system" fn(device: *const OrtHardwareDevice) -> *const OrtKeyValuePairs,
    _before_get_ep_api: [Unused; 5],
    pub(crate) get_ep_api: unsafe extern "system" fn() -> *const OrtEpApi,
    pub(crate) get_tensor_size_in_bytes:
        unsafe extern "system" fn(value: *const OrtValue, bytes: *mut usize) -> *mut OrtStatus,
    _before_value_info_get_initializer_value: [Unused; 7],
    pub(crate) value_info_get_initializer_value:
        unsafe extern "system" fn(value: *const OrtValueInfo, initializer: *mut *const OrtValue) -> *mut OrtStatus,
    _before_value_info_is_constant_initializer: [Unused; 4],
    pub(crate) value_info_is_constant_initializer:
        unsafe extern "system" fn(value: *const OrtValueInfo, is: *mut bool) -> *mut OrtStatus,
    _before_graph_get_name: [Unused; 1],
    pub(crate) graph_get_name:
        unsafe extern "system" fn(graph: *const OrtGraph, name: *mut *const c_char) -> *mut OrtStatus,
    _before_graph_get_num_operator_sets: [Unused; 2],
    pub(crate) graph_get_num_operator_sets:
        unsafe extern "system" fn(graph: *const OrtGraph, count: *mut usize) -> *mut OrtStatus,
    pub(crate) graph_get_operator_sets: unsafe extern "system" fn(
        graph: *const OrtGraph,
        domains: *mut *const c_char,
        versions: *mut i64,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) graph_get_num_inputs:
        unsafe extern "system" fn(graph: *const OrtGraph, count: *mut usize) -> *mut OrtStatus,
    pub(crate) graph_get_inputs: unsafe extern "system" fn(
        graph: *const OrtGraph,
        inputs: *mut *const OrtValueInfo,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) graph_get_num_outputs:
        unsafe extern "system" fn(graph: *const OrtGraph, count: *mut usize) -> *mut OrtStatus,
    pub(crate) graph_get_outputs: unsafe extern "system" fn(
        graph: *const OrtGraph,
        outputs: *mut *const OrtValueInfo,
        count: usize,
    ) -> *mut OrtStatus,
    _before_graph_get_num_nodes: [Unused; 2],
    pub(crate) graph_get_num_nodes:
        unsafe extern "system" fn(graph: *const OrtGraph, count: *mut usize) -> *mut OrtStatus,
    pub(crate) graph_get_nodes:
        unsafe extern "system" fn(graph: *const OrtGraph, nodes: *mut *const OrtNode, count: usize) -> *mut OrtStatus,
    pub(crate) graph_get_parent_node:
        unsafe extern "system" fn(graph: *const OrtGraph, node: *mut *const OrtNode) -> *mut OrtStatus,
    _before_node_get_name: [Unused; 2],
    pub(crate) node_get_name:
        unsafe extern "system" fn(node: *const OrtNode, name: *mut *const c_char) -> *mut OrtStatus,
    pub(crate) node_get_operator_type:
        unsafe extern "system" fn(node: *const OrtNode, operator: *mut *const c_char) -> *mut OrtStatus,
    pub(crate) node_get_domain:
        unsafe extern "system" fn(node: *const OrtNode, domain: *mut *const c_char) -> *mut OrtStatus,
    _before_node_get_num_inputs: [Unused; 1],
    pub(crate) node_get_num_inputs:
        unsafe extern "system" fn(node: *const OrtNode, count: *mut usize) -> *mut OrtStatus,
    pub(crate) node_get_inputs: unsafe extern "system" fn(
        node: *const OrtNode,
        inputs: *mut *const OrtValueInfo,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) node_get_num_outputs:
        unsafe extern "system" fn(node: *const OrtNode, count: *mut usize) -> *mut OrtStatus,
    pub(crate) node_get_outputs: unsafe extern "system" fn(
        node: *const OrtNode,
        outputs: *mut *const OrtValueInfo,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) node_get_num_implicit_inputs:
        unsafe extern "system" fn(node: *const OrtNode, count: *mut usize) -> *mut OrtStatus,
    pub(crate) node_get_implicit_inputs: unsafe extern "system" fn(
        node: *const OrtNode,
        inputs: *mut *const OrtValueInfo,
        count: usize,
    ) -> *mut OrtStatus,
    pub(crate) node_get_num_attributes:
        unsafe extern "system" fn(node: *const OrtNode, count: *mut usize) -> *mut OrtStatus,
    pub(crate) node_get_attributes: unsafe extern "system" fn(
        node: *const OrtNode,
        attributes: *mut *const OrtOpAttr,
        count: usize,
    ) -> *mut OrtStatus,
    _before_op_attr_get_tensor_attribute_as_ort_value: [Unused; 1],
    pub(crate) op_attr_get_tensor_attribute_as_ort_value:
        unsafe extern "system" fn(attribute: *const OrtOpAttr, value: *mut *mut OrtValue) -> *mut OrtStatus,
    pub(crate) op_attr_get_type:
        unsafe extern "system" fn(attribute: *const OrtOpAttr, kind: *mut i32) -> *mut OrtStatus,
    pub(crate) op_attr_get_name:
        unsafe extern "system" fn(attribute: *const OrtOpAttr, name: *mut *const c_char) -> *mut OrtStatus,
    _before_node_get_ep_name: [Unused; 3],
    pub(crate) node_get_ep_name:
        unsafe extern "system" fn(node: *const OrtNode, name: *mut *const c_char) -> *mut OrtStatus,
    _before_get_tensor_data: [Unused; 9],
    pub(crate) get_tensor_data:
        unsafe extern "system" fn(value: *const OrtValue, data: *mut *const c_void) -> *mut OrtStatus,
    pub(crate) get_session_options_config_entries:
        unsafe extern "system" fn(options: *const OrtSessionOptions, out: *mut *mut OrtKeyValuePairs) -> *mut OrtStatus,
    _before_tensor_type_and_shape_has_shape: [Unused; 10],
    pub(crate) tensor_type_and_shape_has_shape:
        unsafe extern "system" fn(info: *const OrtTensorTypeAndShapeInfo) -> bool,
    _before_get_tensor_element_type_and_shape_data_reference: [Unused; 23],
    pub(crate) get_tensor_element_type_and_shape_data_reference: unsafe extern "system" fn(
        value: *const OrtValue,
        element_type: *mut i32,
        dims: *mut *const i64,
        rank: *mut usize,
    ) -> *mut OrtStatus,
}

/// Returns the offset of the member with this index.
const fn at(member: usize) -> usize {
    member * size_of::<Unused>()
}

const _: () = {
    assert!(size_of::<OrtApiBase>() == at(2));
    assert!(offset_of!(OrtApi, create_status) == at(0));
    assert!(offset_of!(OrtApi, get_error_code) == at(1));
    assert!(offset_of!(OrtApi, get_error_message) == at(2));
    assert!(offset_of!(OrtApi, get_tensor_mutable_data) == at(51));
    assert!(offset_of!(OrtApi, cast_type_info_to_tensor_info) == at(55));
    assert!(offset_of!(OrtApi, get_tensor_element_type) == at(60));
    assert!(offset_of!(OrtApi, get_dimensions_count) == at(61));
    assert!(offset_of!(OrtApi, get_dimensions) == at(62));
    assert!(offset_of!(OrtApi, get_symbolic_dimensions) == at(63));
    assert!(offset_of!(OrtApi, kernel_context_get_input) == at(90));
    assert!(offset_of!(OrtApi, kernel_context_get_output) == at(91));
    assert!(offset_of!(OrtApi, release_status) == at(93));
    assert!(offset_of!(OrtApi, release_value) == at(96));
    assert!(offset_of!(OrtApi, logger_log_message) == at(247));
    assert!(offset_of!(OrtApi, read_op_attr) == at(272));
    assert!(offset_of!(OrtApi, get_value_info_name) == at(289));
    assert!(offset_of!(OrtApi, get_value_info_type_info) == at(290));
    assert!(offset_of!(OrtApi, create_key_value_pairs) == at(295));
    assert!(offset_of!(OrtApi, add_key_value_pair) == at(296));
    assert!(offset_of!(OrtApi, get_key_value) == at(297));
    assert!(offset_of!(OrtApi, get_key_value_pairs) == at(298));
    assert!(offset_of!(OrtApi, release_key_value_pairs) == at(300));
    assert!(offset_of!(OrtApi, hardware_device_type) == at(307));
    assert!(offset_of!(OrtApi, hardware_device_metadata) == at(311));
    assert!(offset_of!(OrtApi, get_ep_api) == at(317));
    assert!(offset_of!(OrtApi, get_tensor_size_in_bytes) == at(318));
    assert!(offset_of!(OrtApi, value_info_get_initializer_value) == at(326));
    assert!(offset_of!(OrtApi, value_info_is_constant_initializer) == at(331));
    assert!(offset_of!(OrtApi, graph_get_name) == at(333));
    assert!(offset_of!(OrtApi, graph_get_num_operator_sets) == at(336));
    assert!(offset_of!(OrtApi, graph_get_operator_sets) == at(337));
    assert!(offset_of!(OrtApi, graph_get_num_inputs) == at(338));
    assert!(offset_of!(OrtApi, graph_get_inputs) == at(339));
    assert!(offset_of!(OrtApi, graph_get_num_outputs) == at(340));
    assert!(offset_of!(OrtApi, graph_get_outputs) == at(341));
    assert!(offset_of!(OrtApi, graph_get_num_nodes) == at(344));
    assert!(offset_of!(OrtApi, graph_get_nodes) == at(345));
    assert!(offset_of!(OrtApi, graph_get_parent_node) == at(346));
    assert!(offset_of!(OrtApi, node_get_name) == at(349));
    assert!(offset_of!(OrtApi, node_get_operator_type) == at(350));
    assert!(offset_of!(OrtApi, node_get_domain) == at(351));
    assert!(offset_of!(OrtApi, node_get_num_inputs) == at(353));
    assert!(offset_of!(OrtApi, node_get_inputs) == at(354));
    assert!(offset_of!(OrtApi, node_get_num_outputs) == at(355));
    assert!(offset_of!(OrtApi, node_get_outputs) == at(356));
    assert!(offset_of!(OrtApi, node_get_num_implicit_inputs) == at(357));
    assert!(offset_of!(OrtApi, node_get_implicit_inputs) == at(358));
    assert!(offset_of!(OrtApi, node_get_num_attributes) == at(359));
    assert!(offset_of!(OrtApi, node_get_attributes) == at(360));
    assert!(offset_of!(OrtApi, op_attr_get_tensor_attribute_as_ort_value) == at(362));
    assert!(offset_of!(OrtApi, op_attr_get_type) == at(363));
    assert!(offset_of!(OrtApi, op_attr_get_name) == at(364));
    assert!(offset_of!(OrtApi, node_get_ep_name) == at(368));
    assert!(offset_of!(OrtApi, get_tensor_data) == at(378));
    assert!(offset_of!(OrtApi, get_session_options_config_entries) == at(379));
    assert!(offset_of!(OrtApi, tensor_type_and_shape_has_shape) == at(390));
    assert!(offset_of!(OrtApi, get_tensor_element_type_and_shape_data_reference) == at(414));
};

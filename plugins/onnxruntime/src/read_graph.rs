//! Reads graphs of the runtime, which exist only while the runtime queries the provider about them.

use std::{collections::HashMap, ffi::c_char, ptr};

use crate::{
    api::{
        tables::OrtApi,
        types::{OrtGraph, OrtNode, OrtValueInfo},
    },
    attribute::attribute_message,
    failure::Failure,
    graph::{Extent, Graph, Node, Value, ValueId},
    host::{Host, string},
    tensors::tensor,
};

/// A graph, with the runtime's nodes in the same order.
pub(crate) struct ReadGraph<'g> {
    pub(crate) graph: Graph<'g>,
    pub(crate) nodes: Vec<*const OrtNode>,
    /// The control flow node whose body this graph is, if it is one.
    pub(crate) parent: Option<String>,
}

/// # Safety
/// The graph exists during `'g`.
pub(crate) unsafe fn read_graph<'g>(host: Host, graph: *const OrtGraph) -> Result<ReadGraph<'g>, Failure> {
    let mut reader = Reader { host, graph: Graph::default(), ids: HashMap::new() };
    // SAFETY: as the caller promises; what the runtime lists is there as long as the graph.
    unsafe {
        let Host { api, .. } = host;
        let mut parent = ptr::null();
        host.check((api.graph_get_parent_node)(graph, &mut parent))?;
        let parent = if parent.is_null() { None } else { Some(host.text_of(api.node_get_name, parent)?) };
        reader.graph.name = host.text_of(api.graph_get_name, graph)?;
        reader.graph.opsets = opsets(host, graph)?;
        let inputs = host.list(api.graph_get_num_inputs, api.graph_get_inputs, graph)?;
        reader.graph.inputs = reader.values(&inputs)?.into_iter().flatten().collect();
        let outputs = host.list(api.graph_get_num_outputs, api.graph_get_outputs, graph)?;
        reader.graph.outputs = reader.values(&outputs)?.into_iter().flatten().collect();
        let nodes = host.list(api.graph_get_num_nodes, api.graph_get_nodes, graph)?;
        for &node in &nodes {
            let node = reader.node(node)?;
            reader.graph.nodes.push(node);
        }
        Ok(ReadGraph { graph: reader.graph, nodes, parent })
    }
}

/// Returns the names of the inputs and outputs of a fused node, in the order of a run's arguments.
///
/// # Safety
/// The node exists.
pub(crate) unsafe fn ports(host: Host, node: *const OrtNode) -> Result<[Vec<String>; 2], Failure> {
    let OrtApi { get_value_info_name, .. } = host.api;
    let names = |values: Vec<*const OrtValueInfo>| {
        // SAFETY: the values of a node exist as long as the node.
        let name = |value| unsafe { host.text_of(*get_value_info_name, value) };
        values.into_iter().map(name).collect::<Result<Vec<_>, _>>()
    };
    // SAFETY: as the caller promises.
    unsafe {
        let inputs = host.list(host.api.node_get_num_inputs, host.api.node_get_inputs, node)?;
        let outputs = host.list(host.api.node_get_num_outputs, host.api.node_get_outputs, node)?;
        Ok([names(inputs)?, names(outputs)?])
    }
}

unsafe fn opsets(host: Host, graph: *const OrtGraph) -> Result<Vec<(String, i64)>, Failure> {
    let mut count = 0;
    // SAFETY: the graph exists, and both arrays have room for `count` entries.
    unsafe {
        host.check((host.api.graph_get_num_operator_sets)(graph, &mut count))?;
        let (mut domains, mut versions) = (vec![ptr::null(); count], vec![0; count]);
        let (to_domains, to_versions) = (domains.as_mut_ptr(), versions.as_mut_ptr());
        host.check((host.api.graph_get_operator_sets)(graph, to_domains, to_versions, count))?;
        Ok(domains.into_iter().map(|domain| string(domain)).zip(versions).collect())
    }
}

struct Reader<'g> {
    host: Host,
    graph: Graph<'g>,
    ids: HashMap<String, ValueId>,
}

impl<'g> Reader<'g> {
    /// # Safety
    /// The values exist during `'g`.
    unsafe fn values(&mut self, values: &[*const OrtValueInfo]) -> Result<Vec<Option<ValueId>>, Failure> {
        // SAFETY: as the caller promises.
        values.iter().map(|&value| unsafe { self.value(value) }).collect()
    }

    /// # Safety
    /// The value is NULL, or it exists during `'g`.
    unsafe fn value(&mut self, info: *const OrtValueInfo) -> Result<Option<ValueId>, Failure> {
        if info.is_null() {
            return Ok(None);
        }
        let Host { api, .. } = self.host;
        // SAFETY: as the caller promises.
        let name = unsafe { self.host.text_of(api.get_value_info_name, info)? };
        if name.is_empty() {
            return Ok(None);
        }
        if let Some(&id) = self.ids.get(&name) {
            return Ok(Some(id));
        }
        // SAFETY: as above; the bytes of a constant exist as long as the graph.
        let value = unsafe {
            let (kind, dims) = self.tensor_type(info)?;
            let mut value = Value { name: name.clone(), kind, dims, constant: None, overridable: false };
            let (mut constant, mut initializer) = (false, ptr::null());
            self.host.check((api.value_info_is_constant_initializer)(info, &mut constant))?;
            self.host.check((api.value_info_get_initializer_value)(info, &mut initializer))?;
            if !initializer.is_null() {
                let (kind, dims, bytes) = tensor(self.host, initializer)?;
                let dims = Some(dims.into_iter().map(Extent::Known).collect());
                value = Value { kind, dims, constant: Some(bytes), overridable: !constant, ..value };
            }
            value
        };
        self.graph.values.push(value);
        self.ids.insert(name, self.graph.values.len() - 1);
        Ok(Some(self.graph.values.len() - 1))
    }

    /// # Safety
    /// The value exists.
    unsafe fn tensor_type(&self, info: *const OrtValueInfo) -> Result<(i32, Option<Vec<Extent>>), Failure> {
        let Host { api, .. } = self.host;
        let (mut of_value, mut of_tensor) = (ptr::null(), ptr::null());
        // SAFETY: as the caller promises; the type information exists as long as the value, and the array has room
        // for all extents.
        unsafe {
            self.host.check((api.get_value_info_type_info)(info, &mut of_value))?;
            if of_value.is_null() {
                return Ok((0, None));
            }
            self.host.check((api.cast_type_info_to_tensor_info)(of_value, &mut of_tensor))?;
            if of_tensor.is_null() {
                return Ok((0, None));
            }
            let mut kind = 0;
            self.host.check((api.get_tensor_element_type)(of_tensor, &mut kind))?;
            if !(api.tensor_type_and_shape_has_shape)(of_tensor) {
                return Ok((kind, None));
            }
            let mut rank = 0;
            self.host.check((api.get_dimensions_count)(of_tensor, &mut rank))?;
            let (mut dims, mut names) = (vec![0; rank], vec![ptr::null(); rank]);
            self.host.check((api.get_dimensions)(of_tensor, dims.as_mut_ptr(), rank))?;
            self.host.check((api.get_symbolic_dimensions)(of_tensor, names.as_mut_ptr(), rank))?;
            let extent = |(dim, name): (i64, *const c_char)| match (usize::try_from(dim), string(name)) {
                (Ok(extent), _) => Extent::Known(extent),
                (Err(_), name) if name.is_empty() => Extent::Unknown,
                (Err(_), name) => Extent::Named(name),
            };
            Ok((kind, Some(dims.into_iter().zip(names).map(extent).collect())))
        }
    }

    /// # Safety
    /// The node exists during `'g`.
    unsafe fn node(&mut self, node: *const OrtNode) -> Result<Node, Failure> {
        let Host { api, .. } = self.host;
        // SAFETY: as the caller promises; everything that the runtime lists for the node exists as long as the node.
        unsafe {
            let inputs = self.host.list(api.node_get_num_inputs, api.node_get_inputs, node)?;
            let outputs = self.host.list(api.node_get_num_outputs, api.node_get_outputs, node)?;
            let implicit = self.host.list(api.node_get_num_implicit_inputs, api.node_get_implicit_inputs, node)?;
            let mut read = Node {
                name: self.host.text_of(api.node_get_name, node)?,
                operator: self.host.text_of(api.node_get_operator_type, node)?,
                domain: self.host.text_of(api.node_get_domain, node)?,
                inputs: self.values(&inputs)?,
                outputs: self.values(&outputs)?,
                implicit: self.values(&implicit)?.into_iter().flatten().collect(),
                assigned: !self.host.text_of(api.node_get_ep_name, node)?.is_empty(),
                ..Node::default()
            };
            for attribute in self.host.list(api.node_get_num_attributes, api.node_get_attributes, node)? {
                match attribute_message(self.host, attribute) {
                    Ok(message) => read.attributes.push(message),
                    Err(failure) => read.unreadable = Some(failure.message),
                }
            }
            Ok(read)
        }
    }
}

//! Writes nodes of a graph as an ONNX file in memory, for texpool's importer.
//!
//! Field numbers are those of `onnx.proto` in ONNX 1.18.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use crate::graph::{Extent, Graph, Part, Value, ValueId};

/// Version of the format (`IR_VERSION`) that allows initializers that are not inputs.
const IR_VERSION: i64 = 8;

/// A protobuf message under construction: a sequence of fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(pub(crate) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn number(&mut self, field: u64, value: i64) {
        self.varint(field << 3);
        // Negative numbers take ten bytes in this format.
        self.varint(value as u64);
    }

    pub(crate) fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    /// Writes the key and length of a byte field, whose contents must follow.
    fn announce(&mut self, field: u64, length: usize) {
        self.varint(field << 3 | 2);
        self.varint(length as u64);
    }

    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.announce(field, value.len());
        self.0.extend(value);
    }
}

/// Returns a `TensorProto` up to its values, which must follow.
pub(crate) fn tensor_header(name: &str, kind: i32, dims: &[usize], bytes: usize) -> Vec<u8> {
    let mut tensor = Message::default();
    dims.iter().for_each(|&extent| tensor.number(1, extent as i64));
    tensor.number(2, kind.into());
    if !name.is_empty() {
        tensor.bytes(8, name.as_bytes());
    }
    tensor.announce(9, bytes);
    tensor.0
}

/// Returns the `ValueInfoProto` of a value. Unknown extents are left open.
fn port(value: &Value<'_>) -> Vec<u8> {
    let mut tensor = Message::default();
    tensor.number(1, value.kind.into());
    if let Some(dims) = &value.dims {
        let mut shape = Message::default();
        for extent in dims {
            let mut dim = Message::default();
            match extent {
                Extent::Known(extent) => dim.number(1, *extent as i64),
                Extent::Named(name) => dim.bytes(2, name.as_bytes()),
                Extent::Unknown => {}
            }
            shape.bytes(1, &dim.0);
        }
        tensor.bytes(2, &shape.0);
    }
    let (mut kind, mut port) = (Message::default(), Message::default());
    kind.bytes(1, &tensor.0);
    port.bytes(1, value.name.as_bytes());
    port.bytes(2, &kind.0);
    port.0
}

/// Returns a `NodeProto`.
fn node(graph: &Graph<'_>, index: usize) -> Vec<u8> {
    let node = &graph.nodes[index];
    let name = |value: &Option<ValueId>| value.map_or("", |value| &graph.values[value].name);
    let mut message = Message::default();
    node.inputs.iter().for_each(|value| message.bytes(1, name(value).as_bytes()));
    node.outputs.iter().for_each(|value| message.bytes(2, name(value).as_bytes()));
    message.bytes(3, node.name.as_bytes());
    message.bytes(4, node.operator.as_bytes());
    node.attributes.iter().for_each(|attribute| message.bytes(5, attribute));
    message.bytes(7, node.domain.as_bytes());
    message.0
}

/// A model, with the position of each constant's values in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
    pub(crate) constants: Vec<(ValueId, Range<usize>)>,
}

/// Writes a whole graph as a `ModelProto`, with all that the runtime knows of its values.
pub(crate) fn whole(graph: &Graph<'_>) -> Vec<u8> {
    let inputs = graph.inputs.iter().copied().filter(|&input| graph.values[input].constant.is_none());
    let part =
        Part { nodes: (0..graph.nodes.len()).collect(), inputs: inputs.collect(), outputs: graph.outputs.clone() };
    let between = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten().copied());
    written(graph, &part, between).bytes
}

/// Writes a part of a graph as a `ModelProto`, including the constants that it reads. The values of constants are
/// copied once.
pub(crate) fn model(graph: &Graph<'_>, part: &Part) -> Written {
    written(graph, part, std::iter::empty())
}

/// Writes a part of a graph, which describes the values `between` its nodes.
fn written(graph: &Graph<'_>, part: &Part, between: impl Iterator<Item = ValueId>) -> Written {
    let mut body: Vec<Cow<'_, [u8]>> = Vec::new();
    // Pairs each constant with the index of its piece in `body`.
    let mut pieces = Vec::new();
    let mut fields = Message::default();
    part.nodes.iter().for_each(|&index| fields.bytes(1, &node(graph, index)));
    fields.bytes(2, graph.name.as_bytes());
    part.inputs.iter().for_each(|&value| fields.bytes(11, &port(&graph.values[value])));
    part.outputs.iter().for_each(|&value| fields.bytes(12, &port(&graph.values[value])));
    between.for_each(|value| fields.bytes(13, &port(&graph.values[value])));
    body.push(fields.0.into());
    let mut seen: HashSet<ValueId> = part.inputs.iter().copied().collect();
    for value in part.nodes.iter().flat_map(|&index| graph.nodes[index].inputs.iter().flatten()).copied() {
        let Value { name, kind, dims, constant: Some(bytes), .. } = &graph.values[value] else { continue };
        if seen.insert(value) {
            let dims: Vec<usize> = dims.iter().flatten().filter_map(Extent::known).collect();
            let tensor = tensor_header(name, *kind, &dims, bytes.len());
            let mut key = Message::default();
            key.announce(5, tensor.len() + bytes.len());
            body.extend([key.0.into(), tensor.into(), Cow::Borrowed(*bytes)]);
            pieces.push((value, body.len() - 1));
        }
    }

    let mut model = Message::default();
    model.number(1, IR_VERSION);
    for (domain, version) in &graph.opsets {
        let mut opset = Message::default();
        opset.bytes(1, domain.as_bytes());
        opset.number(2, *version);
        model.bytes(8, &opset.0);
    }
    let length = body.iter().map(|piece| piece.len()).sum();
    model.announce(7, length);
    model.0.reserve_exact(length);
    let mut ranges = Vec::with_capacity(body.len());
    for piece in &body {
        ranges.push(model.0.len()..model.0.len() + piece.len());
        model.0.extend_from_slice(piece);
    }
    let constants = pieces.into_iter().map(|(value, piece)| (value, ranges[piece].clone())).collect();
    Written { bytes: model.0, constants }
}

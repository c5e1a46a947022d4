//! Writes small `.onnx` files for tests: fields of the wire format, and a model put together from messages.

/// A field of a message: its number, its wire type and its bytes.
pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub(crate) fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(value as u64)].concat()
}

pub(crate) fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

/// The number of 32-bit floats among the format's element types.
pub(crate) const FLOAT: i64 = 1;

/// Message of an input or output: its name, type and extents, the latter as messages.
pub(crate) fn typed(name: &str, kind: i64, dims: &[Vec<u8>]) -> Vec<u8> {
    let shape: Vec<u8> = dims.iter().flat_map(|dim| bytes(1, dim)).collect();
    let tensor = [number(1, kind), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

pub(crate) fn names(field: u64, list: &[&str]) -> Vec<u8> {
    list.iter().flat_map(|name| bytes(field, name.as_bytes())).collect()
}

pub(crate) fn all(field: u64, list: &[Vec<u8>]) -> Vec<u8> {
    list.iter().flat_map(|message| bytes(field, message)).collect()
}

/// A model under construction.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) opset: i64,
    pub(crate) nodes: Vec<Vec<u8>>,
    initializers: Vec<Vec<u8>>,
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) outputs: Vec<Vec<u8>>,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self { opset: 18, nodes: vec![], initializers: vec![], inputs: vec![], outputs: vec![] }
    }

    pub(crate) fn input(&mut self, name: &str, dims: &[i64]) {
        let dims: Vec<Vec<u8>> = dims.iter().map(|&d| number(1, d)).collect();
        self.raw_input(name, FLOAT, &dims);
    }

    /// An input whose extents are messages already.
    pub(crate) fn raw_input(&mut self, name: &str, kind: i64, dims: &[Vec<u8>]) {
        self.inputs.push(typed(name, kind, dims));
    }

    pub(crate) fn output(&mut self, name: &str) {
        self.outputs.push(bytes(1, name.as_bytes()));
    }

    /// Adds a constant given as a message, which may be malformed.
    pub(crate) fn tensor(&mut self, name: &str, kind: i64, dims: &[i64], values: &[u8]) {
        let dims: Vec<u8> = dims.iter().flat_map(|&d| number(1, d)).collect();
        self.initializers.push([dims, number(2, kind), bytes(8, name.as_bytes()), values.to_vec()].concat());
    }

    pub(crate) fn floats(&mut self, name: &str, dims: &[i64], values: &[f32]) {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, FLOAT, dims, &bytes(9, &raw));
    }

    /// A node whose attributes are fields already.
    pub(crate) fn raw_node(&mut self, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[Vec<u8>]) {
        let attributes = attributes.concat();
        let (domain, op) = op.rsplit_once('.').unwrap_or(("", op));
        let kind = [bytes(4, op.as_bytes()), bytes(7, domain.as_bytes())].concat();
        self.nodes.push([names(1, inputs), names(2, outputs), kind, attributes].concat());
    }

    /// The graph alone, as a message.
    pub(crate) fn graph(&self) -> Vec<u8> {
        let graph = [
            all(1, &self.nodes),
            bytes(2, b"main"),
            all(5, &self.initializers),
            all(11, &self.inputs),
            all(12, &self.outputs),
        ];
        graph.concat()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        [number(1, 8), bytes(7, &self.graph()), bytes(8, &number(2, self.opset))].concat()
    }
}

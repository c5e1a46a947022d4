//! Additions to the plain model of `onnx_model.rs` for importer tests: attributes of every type, integers, and
//! symbolic extents.

#[path = "onnx_model.rs"]
mod onnx_model;

pub(crate) use onnx_model::{FLOAT, Model, bytes, number, typed, varint};
use onnx_model::{all, names};

fn float(field: u64, value: f32) -> Vec<u8> {
    [varint(field << 3 | 5), value.to_le_bytes().to_vec()].concat()
}

/// Element types by their number in the format.
pub(crate) const INT64: i64 = 7;
pub(crate) const DOUBLE: i64 = 11;

/// An attribute's value.
#[derive(Clone, Debug)]
pub(crate) enum Attr {
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Floats(Vec<f32>),
    Text(&'static str),
    Texts(&'static [&'static str]),
    Graph,
    Branch(Model),
    /// The value that a call of the function gives this attribute.
    Of(&'static str),
}

/// The field of a message that is an attribute.
pub(crate) fn attribute(field: u64, name: &str, value: &Attr) -> Vec<u8> {
    let value = match value {
        Attr::Int(v) => number(3, *v),
        Attr::Ints(list) => list.iter().flat_map(|&v| number(8, v)).collect(),
        Attr::Float(v) => float(2, *v),
        Attr::Floats(list) => list.iter().flat_map(|&v| float(7, v)).collect(),
        Attr::Text(v) => bytes(4, v.as_bytes()),
        Attr::Texts(v) => v.iter().flat_map(|text| bytes(9, text.as_bytes())).collect(),
        Attr::Graph => bytes(6, &[]),
        Attr::Branch(branch) => bytes(6, &branch.graph()),
        Attr::Of(name) => bytes(21, name.as_bytes()),
    };
    bytes(field, &[bytes(1, name.as_bytes()), value].concat())
}

/// An extent of an input.
#[derive(Clone, Debug)]
pub(crate) enum Dim {
    Is(i64),
    Named(&'static str),
    Open,
}

impl Model {
    /// An input some of whose extents may be open.
    pub(crate) fn open_input(&mut self, name: &str, kind: i64, dims: &[Dim]) {
        let dim = |dim: &Dim| match dim {
            Dim::Is(n) => number(1, *n),
            Dim::Named(name) => bytes(2, name.as_bytes()),
            Dim::Open => vec![],
        };
        let dims: Vec<Vec<u8>> = dims.iter().map(dim).collect();
        self.raw_input(name, kind, &dims);
    }

    pub(crate) fn ints(&mut self, name: &str, values: &[i64]) {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, INT64, &[values.len() as i64], &bytes(9, &raw));
    }

    /// A node of an operator, its domain in front if it has one.
    pub(crate) fn node(&mut self, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[(&str, Attr)]) {
        let attributes: Vec<Vec<u8>> = attributes.iter().map(|(name, value)| attribute(5, name, value)).collect();
        self.raw_node(op, inputs, outputs, &attributes);
    }

    /// The nodes as a function, its domain in front of its name: a field of a file. `fields` are more fields of it.
    pub(crate) fn function(&self, name: &str, inputs: &[&str], outputs: &[&str], fields: &[u8]) -> Vec<u8> {
        let (domain, name) = name.rsplit_once('.').unwrap_or(("", name));
        let own = [bytes(1, name.as_bytes()), bytes(10, domain.as_bytes()), bytes(9, &number(2, self.opset))].concat();
        let body = [names(4, inputs), names(5, outputs), all(7, &self.nodes)].concat();
        bytes(25, &[own, body, fields.to_vec()].concat())
    }
}

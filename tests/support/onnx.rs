//! Additions to the plain model of `onnx_model.rs` for importer tests: attributes of every type, integers, and
//! symbolic extents.

#[path = "onnx_model.rs"]
mod onnx_model;

pub(crate) use onnx_model::{FLOAT, Model, bytes, number, typed, varint};

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
    Text(&'static str),
    Texts(&'static [&'static str]),
    Graph,
    Branch(Model),
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
        let attribute = |(name, value): &(&str, Attr)| {
            let value = match value {
                Attr::Int(v) => number(3, *v),
                Attr::Ints(list) => list.iter().flat_map(|&v| number(8, v)).collect(),
                Attr::Float(v) => float(2, *v),
                Attr::Text(v) => bytes(4, v.as_bytes()),
                Attr::Texts(v) => v.iter().flat_map(|text| bytes(9, text.as_bytes())).collect(),
                Attr::Graph => bytes(6, &[]),
                Attr::Branch(branch) => bytes(6, &branch.graph()),
            };
            bytes(5, &[bytes(1, name.as_bytes()), value].concat())
        };
        let attributes: Vec<Vec<u8>> = attributes.iter().map(attribute).collect();
        self.raw_node(op, inputs, outputs, &attributes);
    }
}

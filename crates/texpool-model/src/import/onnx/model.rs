//! Parses the messages of an ONNX file, limited to the fields that inference needs. Of the bodies of control flow,
//! those of `If`, `Loop` and `Scan` are parsed; the positions of the others are recorded.

use std::ops::Range;

use super::wire::{FieldValue, Message, Read};

/// Maximum depth of bodies within bodies. Chosen: a chain of conditions as long as this is rare, and every level
/// takes stack.
pub(super) const MAX_DEPTH: usize = 32;

/// `ModelProto`.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Versions of operator sets, by domain.
    pub(super) opsets: Vec<(String, i64)>,
    pub(super) graph: Option<Graph>,
    /// Operators that the file defines.
    pub(super) functions: Vec<Function>,
}

/// `FunctionProto`: an operator that the file defines by other operators.
#[derive(Debug, Default)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) domain: String,
    /// Distinguishes functions of the same name.
    pub(super) overload: String,
    /// The nodes, with the names of operands and results. They have no types.
    pub(super) body: Graph,
    /// Attributes with a value for calls that state none.
    pub(super) defaults: Vec<Attribute>,
    /// Versions of operator sets, by domain.
    pub(super) opsets: Vec<(String, i64)>,
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) name: String,
    pub(super) nodes: Vec<Node>,
    pub(super) initializers: Vec<Tensor>,
    /// Names of sparse initializers.
    pub(super) sparse: Vec<String>,
    pub(super) inputs: Vec<GraphIo>,
    pub(super) outputs: Vec<GraphIo>,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) op: String,
    pub(super) domain: String,
    /// Selects one of several functions of the same name.
    pub(super) overload: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
    /// Places along the first axis of the first result that readers take at most, where these are fewer than all. Found
    /// for `NonMaxSuppression` (`taken.rs`).
    pub(super) taken: Option<usize>,
}

/// `AttributeProto`.
#[derive(Debug, Default)]
pub(super) struct Attribute {
    pub(super) name: String,
    /// The attribute of the function's call that has the value. Empty outside functions.
    pub(super) reference: String,
    pub(super) float: Option<f32>,
    pub(super) int: Option<i64>,
    pub(super) text: Option<String>,
    pub(super) tensor: Option<Box<Tensor>>,
    pub(super) floats: Vec<f32>,
    pub(super) ints: Vec<i64>,
    pub(super) texts: Vec<String>,
    /// Bodies of a control flow operator.
    pub(super) bodies: Vec<Body>,
}

/// A body of a control flow operator.
#[derive(Debug)]
pub(super) struct Body {
    /// Byte range in the file.
    pub(super) range: Range<usize>,
    /// `None` for an operator that is not supported, or if it is nested too deep.
    pub(super) graph: Option<Graph>,
}

/// `TensorProto`, with the location of its values.
#[derive(Clone, Debug, Default)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dims: Vec<i64>,
    pub(super) kind: i64,
    /// Byte range of the values in the file, dense and little-endian.
    pub(super) raw: Option<Range<usize>>,
    pub(super) floats: Vec<f32>,
    pub(super) doubles: Vec<f64>,
    /// Integers of up to 64 bits, or the bits of 16-bit floats.
    pub(super) ints: Vec<i64>,
    /// Entries that name the external file and the range of the values.
    pub(super) external: Vec<(String, String)>,
    pub(super) is_external: bool,
}

/// `ValueInfoProto`: a graph input or output.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphIo {
    pub(super) name: String,
    pub(super) kind: IoType,
}

/// `TypeProto`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum IoType {
    /// The file states no type.
    #[default]
    Unstated,
    /// A tensor with an element type, and with extents if any are stated.
    Tensor(i64, Option<Vec<Extent>>),
    /// A sequence, map, optional or sparse tensor.
    Other(&'static str),
}

/// An extent as stated in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Unknown,
    Known(i64),
    Named(String),
}

/// Calls `field` for every field of a message.
pub(super) fn each<'a>(
    mut message: Message<'a>,
    mut field: impl FnMut(&Message<'a>, u64, &FieldValue) -> Read<()>,
) -> Read<()> {
    while let Some((number, value)) = message.next()? {
        field(&message, number, &value)?;
    }
    Ok(())
}

impl Model {
    pub(super) fn read(message: Message<'_>) -> Read<Self> {
        let mut model = Self::default();
        each(message, |m, number, value| {
            match number {
                7 => model.graph = Some(Graph::read(m.message(value)?, MAX_DEPTH)?),
                8 => model.opsets.push(opset(m.message(value)?)?),
                25 => model.functions.push(Function::read(m.message(value)?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(model)
    }
}

impl Function {
    /// The operator that it defines, spelled as nodes are.
    pub(super) fn operator(&self) -> String {
        spelled(&self.domain, &self.name)
    }

    fn read(message: Message<'_>) -> Read<Self> {
        // Also for its place in the table of functions, whose key has the bytes of the names once more.
        message.makes(2 * size_of::<Self>())?;
        let mut function = Self::default();
        let port = |m: &Message<'_>, value: &FieldValue| {
            m.makes(size_of::<GraphIo>())?;
            Ok(GraphIo { name: m.text(value)?, kind: IoType::Unstated })
        };
        each(message, |m, number, value| {
            match number {
                1 => function.name = m.text(value)?,
                4 => function.body.inputs.push(port(m, value)?),
                5 => function.body.outputs.push(port(m, value)?),
                7 => function.body.nodes.push(Node::read(m.message(value)?, MAX_DEPTH)?),
                9 => function.opsets.push(opset(m.message(value)?)?),
                10 => function.domain = m.text(value)?,
                11 => function.defaults.push(Attribute::read(m.message(value)?)?),
                13 => function.overload = m.text(value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(function)
    }
}

/// Spells an operator as ONNX does.
fn spelled(domain: &str, op: &str) -> String {
    if domain.is_empty() { op.to_owned() } else { format!("{domain}.{op}") }
}

fn opset(message: Message<'_>) -> Read<(String, i64)> {
    message.makes(size_of::<(String, i64)>())?;
    let mut opset = (String::new(), 0);
    each(message, |m, number, value| {
        match number {
            1 => opset.0 = m.text(value)?,
            2 => opset.1 = m.int(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(opset)
}

/// Returns the text of the field with the number `field`.
fn first_text(message: Message<'_>, field: u64) -> Read<String> {
    message.makes(size_of::<String>())?;
    let mut text = String::new();
    each(message, |m, number, value| {
        if number == field {
            text = m.text(value)?;
        }
        Ok(())
    })?;
    Ok(text)
}

/// Normalises a domain: ONNX's own has two names.
pub(super) fn own_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

impl Graph {
    /// Parses a graph with bodies of up to `depth` levels.
    fn read(message: Message<'_>, depth: usize) -> Read<Self> {
        message.makes(size_of::<Self>())?;
        let mut graph = Self::default();
        each(message, |m, number, value| {
            match number {
                1 => graph.nodes.push(Node::read(m.message(value)?, depth)?),
                2 => graph.name = m.loose_text(value)?,
                5 => graph.initializers.push(Tensor::read(m.message(value)?)?),
                11 => graph.inputs.push(GraphIo::read(m.message(value)?)?),
                12 => graph.outputs.push(GraphIo::read(m.message(value)?)?),
                15 => each(m.message(value)?, |m, number, value| {
                    if number == 1 {
                        graph.sparse.push(first_text(m.message(value)?, 8)?);
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(graph)
    }
}

impl Node {
    /// The operator, spelled as in ONNX.
    pub(super) fn operator(&self) -> String {
        spelled(&self.domain, &self.op)
    }

    /// Returns the name of the node, or else of its result, and the name of its first result.
    pub(super) fn called(&self) -> [&str; 2] {
        let result = self.outputs.first().map(String::as_str).unwrap_or_default();
        [if self.name.is_empty() { result } else { &self.name }, result]
    }

    /// Returns whether the node is an `If` of ONNX's own domain.
    pub(super) fn is_branch(&self) -> bool {
        self.op == "If" && own_domain(&self.domain).is_empty()
    }

    /// Returns whether the node has bodies that are lowered.
    fn has_bodies(&self) -> bool {
        match own_domain(&self.domain) {
            "" => matches!(self.op.as_str(), "If" | "Loop" | "Scan"),
            "ai.onnx.preview" => self.op == "FlexAttention",
            _ => false,
        }
    }

    fn read(message: Message<'_>, depth: usize) -> Read<Self> {
        message.makes(size_of::<Self>())?;
        let mut node = Self::default();
        each(message.clone(), |m, number, value| {
            match number {
                1 => node.inputs.push(m.text(value)?),
                2 => node.outputs.push(m.text(value)?),
                3 => node.name = m.loose_text(value)?,
                4 => node.op = m.text(value)?,
                5 => node.attributes.push(Attribute::read(m.message(value)?)?),
                7 => node.domain = m.text(value)?,
                8 => node.overload = m.text(value)?,
                _ => {}
            }
            Ok(())
        })?;
        // At the end, because the operator may follow its attributes.
        if let Some(depth) = depth.checked_sub(1).filter(|_| node.has_bodies()) {
            for body in node.attributes.iter_mut().flat_map(|attribute| &mut attribute.bodies) {
                body.graph = Some(Graph::read(message.at(body.range.clone()), depth)?);
            }
        }
        Ok(node)
    }
}

impl Attribute {
    fn read(message: Message<'_>) -> Read<Self> {
        message.makes(size_of::<Self>())?;
        let mut attribute = Self::default();
        each(message, |m, number, value| {
            match number {
                1 => attribute.name = m.text(value)?,
                2 => attribute.float = Some(m.float(value)?),
                3 => attribute.int = Some(m.int(value)?),
                4 => attribute.text = Some(m.loose_text(value)?),
                5 => attribute.tensor = Some(Box::new(Tensor::read(m.message(value)?)?)),
                6 | 11 => {
                    m.makes(size_of::<Body>())?;
                    attribute.bodies.push(Body { range: m.bytes(value)?, graph: None });
                }
                7 => m.floats(value, &mut attribute.floats)?,
                8 => m.ints(value, &mut attribute.ints)?,
                9 => attribute.texts.push(m.loose_text(value)?),
                21 => attribute.reference = m.text(value)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(attribute)
    }
}

impl Tensor {
    pub(super) fn read(message: Message<'_>) -> Read<Self> {
        message.makes(size_of::<Self>())?;
        let mut tensor = Self::default();
        each(message, |m, number, value| {
            match number {
                1 => m.ints(value, &mut tensor.dims)?,
                2 => tensor.kind = m.int(value)?,
                4 => m.floats(value, &mut tensor.floats)?,
                // `int32_data`, `int64_data` and `uint64_data` are all stored as varints.
                5 | 7 | 11 => m.ints(value, &mut tensor.ints)?,
                8 => tensor.name = m.text(value)?,
                9 => tensor.raw = Some(m.bytes(value)?),
                10 => m.doubles(value, &mut tensor.doubles)?,
                13 => tensor.external.push(pair(m.message(value)?)?),
                14 => tensor.is_external = m.int(value)? == 1,
                _ => {}
            }
            Ok(())
        })?;
        Ok(tensor)
    }
}

fn pair(message: Message<'_>) -> Read<(String, String)> {
    message.makes(size_of::<(String, String)>())?;
    let mut pair = (String::new(), String::new());
    each(message, |m, number, value| {
        match number {
            1 => pair.0 = m.text(value)?,
            2 => pair.1 = m.text(value)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(pair)
}

impl GraphIo {
    /// Memory that it takes, in bytes.
    pub(super) fn size(&self) -> usize {
        let extents = match &self.kind {
            IoType::Tensor(_, Some(extents)) => size_of_val(&extents[..]),
            _ => 0,
        };
        size_of::<Self>() + self.name.len() + extents
    }

    pub(super) fn read(message: Message<'_>) -> Read<Self> {
        message.makes(size_of::<Self>())?;
        let mut port = Self::default();
        each(message, |m, number, value| {
            match number {
                1 => port.name = m.text(value)?,
                2 => port.kind = IoType::read(m.message(value)?)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(port)
    }
}

impl IoType {
    fn read(message: Message<'_>) -> Read<Self> {
        let mut kind = Self::Unstated;
        each(message, |m, number, value| {
            kind = match number {
                1 => Self::tensor(m.message(value)?)?,
                4 => Self::Other("sequence"),
                5 => Self::Other("map"),
                8 => Self::Other("sparse tensor"),
                9 => Self::Other("optional"),
                _ => return Ok(()),
            };
            Ok(())
        })?;
        Ok(kind)
    }

    fn tensor(message: Message<'_>) -> Read<Self> {
        let (mut kind, mut extents) = (0, None);
        each(message, |m, number, value| {
            match number {
                1 => kind = m.int(value)?,
                2 => {
                    // An empty shape means a scalar; a missing shape leaves everything open.
                    let extents = extents.insert(Vec::new());
                    each(m.message(value)?, |m, number, value| {
                        if number == 1 {
                            extents.push(extent(m.message(value)?)?);
                        }
                        Ok(())
                    })?;
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self::Tensor(kind, extents))
    }
}

fn extent(message: Message<'_>) -> Read<Extent> {
    message.makes(size_of::<Extent>())?;
    let mut extent = Extent::Unknown;
    each(message, |m, number, value| {
        match number {
            1 => extent = Extent::Known(m.int(value)?),
            2 => extent = Extent::Named(m.text(value)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(extent)
}

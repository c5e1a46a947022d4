//! A copy of the runtime's graph with all that is needed to write its nodes as a model: names, types, extents,
//! constants. Independent of the runtime's pointers.

use texpool::ElementType;

/// Knowledge about an extent before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Known(usize),
    Named(String),
    Unknown,
}

impl Extent {
    pub(crate) fn known(&self) -> Option<usize> {
        match self {
            Self::Known(extent) => Some(*extent),
            Self::Named(_) | Self::Unknown => None,
        }
    }
}

/// A value of a graph. Constants are borrowed from the runtime's memory.
#[derive(Clone, Debug)]
pub(crate) struct Value<'g> {
    pub(crate) name: String,
    /// ONNX's number of the element type; 0 if the value is not a tensor.
    pub(crate) kind: i32,
    /// `None` if not even the rank is known.
    pub(crate) dims: Option<Vec<Extent>>,
    pub(crate) constant: Option<&'g [u8]>,
    /// True if a caller may pass another value for a run, so that the constant is only a default.
    pub(crate) overridable: bool,
}

/// The index of a value in its graph.
pub(crate) type ValueId = usize;
/// The index of a node in its graph.
pub(crate) type NodeIndex = usize;

/// A node of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) operator: String,
    pub(crate) domain: String,
    /// Omitted operands are `None`.
    pub(crate) inputs: Vec<Option<ValueId>>,
    pub(crate) outputs: Vec<Option<ValueId>>,
    /// Values of the outer graph that bodies of control flow read.
    pub(crate) implicit: Vec<ValueId>,
    /// Attributes, as messages of an ONNX file.
    pub(crate) attributes: Vec<Vec<u8>>,
    /// Reason why the node cannot be written into a model, if there is one.
    pub(crate) unreadable: Option<String>,
    /// True if another provider has already taken the node.
    pub(crate) assigned: bool,
}

impl Node {
    /// Returns the operator, prefixed with its domain unless that is ONNX's default.
    pub(crate) fn full_operator(&self) -> String {
        if self.domain.is_empty() { self.operator.clone() } else { format!("{}.{}", self.domain, self.operator) }
    }

    /// Returns all values that must be available before the node runs.
    pub(crate) fn reads(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs.iter().flatten().chain(&self.implicit).copied()
    }
}

/// A graph, with nodes in topological order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'g> {
    pub(crate) name: String,
    /// Version of each operator set, by domain.
    pub(crate) opsets: Vec<(String, i64)>,
    pub(crate) values: Vec<Value<'g>>,
    pub(crate) nodes: Vec<Node>,
    /// Inputs of the graph, including those that are constants.
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
}

/// Nodes to be fused, with their inputs and outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// Sorted in the graph's order.
    pub(crate) nodes: Vec<NodeIndex>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) outputs: Vec<ValueId>,
}

impl Graph<'_> {
    /// Returns a part of the given nodes: its inputs are values they read but do not compute, its outputs are results
    /// that others read.
    pub(crate) fn part(&self, nodes: Vec<NodeIndex>) -> Part {
        let mut inside = vec![false; self.nodes.len()];
        nodes.iter().for_each(|&node| inside[node] = true);
        let mut computed = vec![false; self.values.len()];
        let results = nodes.iter().flat_map(|&node| self.nodes[node].outputs.iter().flatten());
        results.for_each(|&value| computed[value] = true);
        let mut is_read = vec![false; self.values.len()];
        self.outputs.iter().for_each(|&value| is_read[value] = true);
        let others = self.nodes.iter().enumerate().filter(|(index, _)| !inside[*index]);
        others.flat_map(|(_, node)| node.reads()).for_each(|value| is_read[value] = true);

        let mut part = Part { nodes, ..Part::default() };
        let mut seen = vec![false; self.values.len()];
        for &node in &part.nodes {
            for value in self.nodes[node].reads() {
                let is_input = !computed[value] && self.values[value].constant.is_none();
                if is_input && !std::mem::replace(&mut seen[value], true) {
                    part.inputs.push(value);
                }
            }
            part.outputs.extend(self.nodes[node].outputs.iter().flatten().filter(|&&value| is_read[value]));
        }
        part
    }
}

/// Returns the element type for ONNX's number, or `None` if texpool does not compute with that type.
pub(crate) fn element_type(kind: i32) -> Option<ElementType> {
    Some(match kind {
        1 => ElementType::F32,
        2 => ElementType::U8,
        3 => ElementType::I8,
        4 => ElementType::U16,
        5 => ElementType::I16,
        6 => ElementType::I32,
        7 => ElementType::I64,
        9 => ElementType::Bool,
        10 => ElementType::F16,
        12 => ElementType::U32,
        13 => ElementType::U64,
        _ => return None,
    })
}

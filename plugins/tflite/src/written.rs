//! Writes nodes as a `.tflite` file in memory, for texpool's importer.

use std::collections::{BTreeMap, BTreeSet};

use texpool_model::import::Refusal;

use crate::{
    flatbuffer::{Field, Table, file},
    graph::{Node, Quantization, Tensor, Tensors},
    other_graph::OtherGraph,
};

/// A file, with the correspondence between its tensors and those of the runtime's graph.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
    /// Indices of the file's tensors among the graph's, in the file's order.
    pub(crate) tensors: Vec<i32>,
    /// Indices of the file's inputs among the graph's tensors, in the file's order.
    pub(crate) inputs: Vec<i32>,
    /// Indices of the file's outputs among the graph's tensors, in the file's order.
    pub(crate) outputs: Vec<i32>,
    /// Nodes that a file cannot describe, by position, with the reasons.
    pub(crate) indescribable: Vec<(usize, Refusal)>,
}

const IDENTIFIER: &str = "TFL3";
const VERSION: u32 = 3;
/// Alignment of constants, the same as in files written by TensorFlow's tools.
const ALIGNMENT: usize = 16;
/// Index that marks an omitted operand.
const NONE: i32 = -1;

/// Writes nodes, which must be in execution order, as the first graph of a model with the given outputs. Tensors that
/// are neither computed by the nodes nor constant become inputs. The other graphs follow.
pub(crate) fn write(nodes: &[&Node], tensors: &Tensors<'_>, outputs: &[i32], others: &[OtherGraph]) -> Written {
    let (first, mut written) = graph(nodes, tensors, outputs);
    let tensors_of_others: Vec<Tensors<'_>> = others.iter().map(OtherGraph::tensors).collect();
    let mut file = File { graphs: vec![first], others: others.iter().map(|other| other.index).collect() };
    for (other, tensors) in others.iter().zip(&tensors_of_others) {
        file.graphs.push(graph(&other.nodes.iter().collect::<Vec<_>>(), tensors, &[]).0);
    }
    written.bytes = file.bytes();
    written
}

/// Puts nodes together as a graph.
fn graph<'a>(nodes: &[&'a Node], tensors: &'a Tensors<'_>, outputs: &[i32]) -> (Graph<'a>, Written) {
    let computed: BTreeSet<i32> = nodes.iter().flat_map(|node| node.outputs.iter().copied()).collect();
    let mut numbers: BTreeMap<i32, i32> = BTreeMap::new();
    let (mut used, mut indices, mut inputs, mut indescribable) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let refusal = |reason: String, hint: &str| Refusal { reason, hint: hint.to_owned() };
    for (position, node) in nodes.iter().enumerate() {
        for &index in node.inputs.iter().chain(&node.outputs).filter(|&&index| index >= 0) {
            let Some(tensor) = tensors.get(index) else {
                let reason = format!("tensor {index} is not there");
                indescribable.push((position, refusal(reason, "the runtime's graph is damaged")));
                continue;
            };
            if tensor.quantization.unknown {
                let reason = format!("tensor `{}` is quantised in blocks", tensor.name);
                indescribable.push((position, refusal(reason, "convert it with scales per tensor or channel")));
            }
            let next = i32::try_from(numbers.len()).unwrap_or(NONE);
            if let std::collections::btree_map::Entry::Vacant(place) = numbers.entry(index) {
                place.insert(next);
                indices.push(index);
                used.push(tensor);
                // An empty list has no values to be given.
                let is_given = tensor.constant.is_none() && tensor.dims != [0];
                if is_given && !computed.contains(&index) {
                    inputs.push(index);
                }
            }
        }
        if let Err(why) = &node.options {
            indescribable.push((position, refusal(why.clone(), "update the delegate")));
        }
    }
    let number = |index: &i32| numbers.get(index).copied().unwrap_or(NONE);
    let outputs: Vec<i32> = outputs.iter().copied().filter(|index| computed.contains(index)).collect();
    let [of_inputs, of_outputs] = [&inputs, &outputs].map(|list| list.iter().map(number).collect());
    let graph = Graph { tensors: used, inputs: of_inputs, outputs: of_outputs, nodes: nodes.to_vec(), numbers };
    (graph, Written { bytes: Vec::new(), tensors: indices, inputs, outputs, indescribable })
}

/// A file. Constants are stored behind the tables, so that they are copied only once.
struct File<'a> {
    graphs: Vec<Graph<'a>>,
    /// Indices in the runtime's model of all graphs but the first.
    others: Vec<i32>,
}

/// A graph of a file.
struct Graph<'a> {
    tensors: Vec<&'a Tensor<'a>>,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    nodes: Vec<&'a Node>,
    /// Numbers in the file of the runtime's tensors.
    numbers: BTreeMap<i32, i32>,
}

impl File<'_> {
    fn bytes(&self) -> Vec<u8> {
        // The size of the tables does not depend on the offsets of the constants.
        let tables = file(&self.root(ALIGNMENT), IDENTIFIER).len();
        let start = tables.next_multiple_of(ALIGNMENT);
        let mut bytes =
            Vec::with_capacity(start + self.constants().map(|c| c.len().next_multiple_of(ALIGNMENT)).sum::<usize>());
        bytes.extend(file(&self.root(start), IDENTIFIER));
        for constant in self.constants() {
            bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
            bytes.extend(constant);
        }
        bytes
    }

    fn constants(&self) -> impl Iterator<Item = &[u8]> {
        self.graphs.iter().flat_map(|graph| &graph.tensors).filter_map(|tensor| tensor.constant)
    }

    /// Returns the root table, for constants that begin at `start`.
    fn root(&self, mut start: usize) -> Table {
        // Buffer 0 is for tensors without values.
        let (mut buffers, mut codes, mut graphs) = (vec![Table::default()], Vec::new(), Vec::new());
        for graph in &self.graphs {
            let mut tensors = Vec::with_capacity(graph.tensors.len());
            for tensor in &graph.tensors {
                let mut buffer = 0;
                if let Some(constant) = tensor.constant {
                    buffer = buffers.len() as u32;
                    buffers.push(Table(vec![(6, Field::U64(start as u64)), (8, Field::U64(constant.len() as u64))]));
                    start += constant.len().next_multiple_of(ALIGNMENT);
                }
                tensors.push(tensor_table(tensor, buffer));
            }
            let mut operators = Vec::with_capacity(graph.nodes.len());
            for node in &graph.nodes {
                operators.push(self.operator(graph, node, codes.len() as u32));
                codes.push(operator_code(node));
            }
            graphs.push(Table(vec![
                (4, Field::Tables(tensors)),
                (6, Field::Ints(graph.inputs.clone())),
                (8, Field::Ints(graph.outputs.clone())),
                (10, Field::Tables(operators)),
            ]));
        }
        Table(vec![
            (4, Field::U32(VERSION)),
            (6, Field::Tables(codes)),
            (8, Field::Tables(graphs)),
            (12, Field::Tables(buffers)),
        ])
    }

    fn operator(&self, graph: &Graph<'_>, node: &Node, code: u32) -> Table {
        let number = |index: &i32| graph.numbers.get(index).copied().unwrap_or(NONE);
        let mut fields = vec![
            (4, Field::U32(code)),
            (6, Field::Ints(node.inputs.iter().map(number).collect())),
            (8, Field::Ints(node.outputs.iter().map(number).collect())),
        ];
        if let Ok(Some((tag, options))) = node.options.clone() {
            let renumbered = node.calls_once().map(|called| Table(vec![(4, Field::I32(self.position(called)))]));
            fields.extend([(10, Field::I8(tag as i8)), (12, Field::Table(renumbered.unwrap_or(options)))]);
        }
        if node.custom.is_some() {
            fields.push((14, Field::Bytes(node.custom_options.clone())));
        }
        Table(fields)
    }

    /// Returns the position in the file of a graph of the model.
    fn position(&self, index: i32) -> i32 {
        let position = self.others.iter().zip(1..).find(|(other, _)| **other == index);
        position.map_or(NONE, |(_, position)| position)
    }
}

fn tensor_table(tensor: &Tensor<'_>, buffer: u32) -> Table {
    let Quantization { scale, zero_point, axis, .. } = &tensor.quantization;
    let mut fields = vec![
        (4, Field::Ints(tensor.dims.clone())),
        (6, Field::I8(tensor.dtype)),
        (8, Field::U32(buffer)),
        (10, Field::Text(tensor.name.clone())),
        (14, Field::Bool(tensor.variable)),
    ];
    if !scale.is_empty() {
        let stated =
            vec![(8, Field::Floats(scale.clone())), (10, Field::Longs(zero_point.clone())), (16, Field::I32(*axis))];
        fields.push((12, Field::Table(Table(stated))));
    }
    if let Some(sparsity) = &tensor.sparsity {
        fields.push((16, Field::Table(sparsity.clone())));
    }
    Table(fields)
}

/// Codes above 126 only fit into the newer field.
fn operator_code(node: &Node) -> Table {
    let mut fields = vec![(4, Field::I8(node.code.clamp(0, 127) as i8)), (10, Field::I32(node.code))];
    if let Some(custom) = &node.custom {
        fields.push((6, Field::Text(custom.clone())));
    }
    Table(fields)
}

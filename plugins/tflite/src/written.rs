//! Writes nodes as a `.tflite` file in memory, for texpool's importer.

use std::collections::{BTreeMap, BTreeSet};

use texpool_model::import::Refusal;

use crate::{
    flatbuffer::{Field, Table, file},
    graph::{Node, Quantization, Tensor, Tensors},
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

/// Writes nodes, which must be in execution order, as a model with the given outputs. Tensors that are neither
/// computed by the nodes nor constant become inputs.
pub(crate) fn write(nodes: &[&Node], tensors: &Tensors<'_>, outputs: &[i32]) -> Written {
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
    let graph = Graph {
        tensors: used,
        inputs: inputs.iter().map(number).collect(),
        outputs: outputs.iter().map(number).collect(),
        operators: nodes.iter().zip(0..).map(|(node, code)| operator(node, code, &number)).collect(),
        codes: nodes.iter().map(|node| operator_code(node)).collect(),
    };
    Written { bytes: graph.bytes(), tensors: indices, inputs, outputs, indescribable }
}

/// The only graph of a file. Constants are stored behind the tables, so that they are copied only once.
struct Graph<'a> {
    tensors: Vec<&'a Tensor<'a>>,
    inputs: Vec<i32>,
    outputs: Vec<i32>,
    operators: Vec<Table>,
    codes: Vec<Table>,
}

impl Graph<'_> {
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
        self.tensors.iter().filter_map(|tensor| tensor.constant)
    }

    /// Returns the root table, for constants that begin at `start`.
    fn root(&self, mut start: usize) -> Table {
        // Buffer 0 is for tensors without values.
        let mut buffers = vec![Table::default()];
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for tensor in &self.tensors {
            let mut buffer = 0;
            if let Some(constant) = tensor.constant {
                buffer = buffers.len() as u32;
                buffers.push(Table(vec![(6, Field::U64(start as u64)), (8, Field::U64(constant.len() as u64))]));
                start += constant.len().next_multiple_of(ALIGNMENT);
            }
            tensors.push(tensor_table(tensor, buffer));
        }
        let graph = Table(vec![
            (4, Field::Tables(tensors)),
            (6, Field::Ints(self.inputs.clone())),
            (8, Field::Ints(self.outputs.clone())),
            (10, Field::Tables(self.operators.clone())),
        ]);
        Table(vec![
            (4, Field::U32(VERSION)),
            (6, Field::Tables(self.codes.clone())),
            (8, Field::Tables(vec![graph])),
            (12, Field::Tables(buffers)),
        ])
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

fn operator(node: &Node, code: u32, number: &impl Fn(&i32) -> i32) -> Table {
    let mut fields = vec![
        (4, Field::U32(code)),
        (6, Field::Ints(node.inputs.iter().map(number).collect())),
        (8, Field::Ints(node.outputs.iter().map(number).collect())),
    ];
    if let Ok(Some((tag, options))) = node.options.clone() {
        fields.extend([(10, Field::I8(tag as i8)), (12, Field::Table(options))]);
    }
    if node.custom.is_some() {
        fields.push((14, Field::Bytes(node.custom_options.clone())));
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

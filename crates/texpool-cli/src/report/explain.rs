//! Report on a delegate's selection: the nodes of a model that it takes, the reasons against the others, and the
//! tensors that cross partition borders.

use serde::{Deserialize, Serialize};
use texpool_model::{
    delegate::{Host, NodeStanding, Partition, Selection},
    import::{GraphOutline, OpenExtent, TensorOutline},
};

/// The selection for a model. The text form groups the entries that the data lists one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainReport {
    /// Name of the model.
    pub model: String,
    /// Name of the runtime.
    pub host: String,
    /// The graphs of the file; the first one is run, others are bodies of control flow.
    pub graphs: Vec<GraphReport>,
}

/// The selection for a graph. Numbers of nodes and tensors are those in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphReport {
    /// Its name in the file.
    pub graph: String,
    /// Number of nodes taken.
    pub taken: usize,
    /// Number of nodes left to the runtime.
    pub left: usize,
    /// Number of nodes whose results follow from the file, so that no run computes them.
    pub known: usize,
    /// Number of nodes for which the file lacks information.
    pub unknown: usize,
    /// Descriptions of open input extents, with the values that they were tried with. Extents that depend on these are not known before a run.
    pub open_extents: Vec<String>,
    /// All nodes, in the file's order.
    pub nodes: Vec<NodeReport>,
    /// The partitions, in an order in which they can run.
    pub partitions: Vec<PartitionReport>,
}

/// Verdict on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its index in the file.
    pub node: usize,
    /// The operator, spelled as in the file's format.
    pub operator: String,
    /// Its name, or that of its result.
    pub name: String,
    /// The verdict.
    pub verdict: NodeVerdict,
    /// Index of its partition, if it is taken.
    pub partition: Option<usize>,
    /// Reason why it is not taken.
    pub reason: Option<String>,
    /// Advice for the model's owner.
    pub hint: Option<String>,
}

/// Verdict on a node, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeVerdict {
    /// It is taken.
    Taken,
    /// It is left to the runtime.
    Left,
    /// Results follow from the file, so no run computes them.
    Known,
    /// The file lacks the necessary information.
    Unknown,
}

/// Nodes that are handed over together as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionReport {
    /// Indices of its nodes.
    pub nodes: Vec<usize>,
    /// Tensors that are copied in before each run.
    pub inputs: Vec<BoundaryReport>,
    /// Tensors that are copied out after each run.
    pub outputs: Vec<BoundaryReport>,
    /// Bytes of all inputs; null if the size of one is not known before a run.
    pub input_bytes: Option<u64>,
    /// Bytes of all outputs; null if the size of one is not known before a run.
    pub output_bytes: Option<u64>,
}

/// A tensor that crosses the border of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundaryReport {
    /// Its name in the file.
    pub name: String,
    /// Type of its elements in the file; null if it is not known before a run.
    pub element_type: Option<String>,
    /// Its extents; null for each that is not known before a run. Null as a whole if their number is not known
    /// either.
    pub dims: Option<Vec<Option<usize>>>,
    /// Bytes of its elements; null if not known before a run.
    pub bytes: Option<u64>,
}

impl ExplainReport {
    /// Creates the report of a file's graphs with their selections.
    pub fn new(model: &str, host: Host, graphs: &[GraphOutline], selections: &[Selection]) -> Self {
        let graphs = graphs.iter().zip(selections).map(|(graph, selection)| GraphReport::new(graph, selection));
        Self { model: model.to_owned(), host: host.name().to_owned(), graphs: graphs.collect() }
    }
}

impl GraphReport {
    fn new(graph: &GraphOutline, selection: &Selection) -> Self {
        let nodes: Vec<NodeReport> = graph
            .nodes
            .iter()
            .zip(&selection.standings)
            .enumerate()
            .map(|(index, (node, standing))| NodeReport::new(index, [&node.operator, &node.name], standing))
            .collect();
        let count = |verdict| nodes.iter().filter(|node| node.verdict == verdict).count();
        let [taken, left, known, unknown] =
            [NodeVerdict::Taken, NodeVerdict::Left, NodeVerdict::Known, NodeVerdict::Unknown].map(count);
        let partitions = selection.partitions.iter().map(|partition| PartitionReport::new(graph, partition)).collect();
        let open = |open: &OpenExtent| format!("{}, tried as {}", open.place, open.tried);
        let (graph, open_extents) = (graph.name.clone(), graph.open.iter().map(open).collect());
        Self { graph, taken, left, known, unknown, open_extents, nodes, partitions }
    }

    /// Returns true if no node is left to the runtime.
    pub fn is_whole(&self) -> bool {
        self.left == 0 && self.unknown == 0
    }
}

impl NodeReport {
    fn new(node: usize, [operator, name]: [&String; 2], standing: &NodeStanding) -> Self {
        let (verdict, partition, refusal) = match standing {
            NodeStanding::Taken(partition) => (NodeVerdict::Taken, Some(*partition), None),
            NodeStanding::Known => (NodeVerdict::Known, None, None),
            NodeStanding::Left(refusal) => (NodeVerdict::Left, None, Some(refusal.clone())),
            NodeStanding::Unknown(refusal) => (NodeVerdict::Unknown, None, Some(refusal.clone())),
        };
        let (reason, hint) = refusal.map(|refusal| (refusal.reason, refusal.hint)).unzip();
        Self { node, operator: operator.clone(), name: name.clone(), verdict, partition, reason, hint }
    }
}

impl PartitionReport {
    fn new(graph: &GraphOutline, partition: &Partition) -> Self {
        let [inputs, outputs] = [&partition.inputs, &partition.outputs].map(|tensors| {
            tensors.iter().map(|&tensor| BoundaryReport::new(&graph.tensors[tensor])).collect::<Vec<_>>()
        });
        let [input_bytes, output_bytes] = [&inputs, &outputs]
            .map(|tensors| tensors.iter().try_fold(0u64, |sum, tensor| sum.checked_add(tensor.bytes?)));
        Self { nodes: partition.nodes.clone(), inputs, outputs, input_bytes, output_bytes }
    }
}

impl BoundaryReport {
    fn new(tensor: &TensorOutline) -> Self {
        Self {
            name: tensor.name.clone(),
            element_type: tensor.element_type.map(|element_type| element_type.to_string()),
            dims: tensor.dims.clone(),
            bytes: tensor.bytes(),
        }
    }
}

//! The result of a selection: taken nodes in partitions, and reasons for the others.

use crate::import::Refusal;

/// The nodes that a delegate takes of a graph.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Verdict on each node.
    pub standings: Vec<NodeStanding>,
    /// Partitions, in an order in which they can run.
    pub partitions: Vec<Partition>,
}

/// Verdict on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeStanding {
    /// The node is taken, in the partition of this index.
    Taken(usize),
    /// No run computes the node, because its results follow from the file.
    Known,
    /// The node is left to the runtime.
    Left(Refusal),
    /// The verdict depends on information that the file lacks.
    Unknown(Refusal),
}

/// Nodes that are handed over together, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Partition {
    /// The nodes, in the file's order.
    pub nodes: Vec<usize>,
    /// The nodes that the delegate computes, in the file's order: these, and nodes of constants that they read.
    pub computed: Vec<usize>,
    /// Tensors that are copied in before each run.
    pub inputs: Vec<usize>,
    /// Further tensors of which nodes of constants read the extents.
    pub extents: Vec<usize>,
    /// Tensors that are copied out after each run.
    pub outputs: Vec<usize>,
}

/// Returns the reason for a node that is in no set.
pub(super) fn circular() -> Refusal {
    Refusal {
        reason: "it waits for its own result".to_owned(),
        hint: "the file is not as its format asks; convert the model again".to_owned(),
    }
}

impl Selection {
    /// Creates a selection from the partitions, with the verdicts on all other nodes.
    pub(super) fn new(partitions: Vec<Partition>, others: Vec<NodeStanding>) -> Self {
        let mut standings = others;
        for (number, partition) in partitions.iter().enumerate() {
            partition.nodes.iter().for_each(|&node| standings[node] = NodeStanding::Taken(number));
        }
        Self { standings, partitions }
    }

    /// Creates the selection in a graph of first values, which the caller's partition holds.
    pub(super) fn of_first_values(count: usize) -> Self {
        let partition = Partition { nodes: (0..count).collect(), ..Partition::default() };
        Self::new(vec![partition], vec![NodeStanding::Known; count])
    }

    /// Returns the number of nodes that are left.
    pub(super) fn left_count(&self) -> usize {
        let is_left = |standing: &&NodeStanding| matches!(standing, NodeStanding::Left(_) | NodeStanding::Unknown(_));
        self.standings.iter().filter(is_left).count()
    }
}

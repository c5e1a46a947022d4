//! What is taken of a graph, and what is left.

use crate::import::Refusal;

/// What is taken of a graph.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// What becomes of each node.
    pub standings: Vec<Standing>,
    /// In an order in which they can run.
    pub partitions: Vec<Partition>,
}

/// What becomes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is taken, in the partition of that index.
    Taken(usize),
    /// Nobody computes it in a run: its results follow from the file.
    Known,
    /// It is left to the runtime.
    Left(Refusal),
    /// It depends on what the file does not say.
    Unknown(Refusal),
}

/// Nodes that are handed over as one, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// In the file's order.
    pub nodes: Vec<usize>,
    /// Tensors that are copied in before each run.
    pub inputs: Vec<usize>,
    /// Tensors that are copied out after each run.
    pub outputs: Vec<usize>,
}

/// Why a node is left that is in no set.
pub(super) fn circular() -> Refusal {
    Refusal {
        reason: "it waits for its own result".to_owned(),
        hint: "the file is not as its format asks; convert the model again".to_owned(),
    }
}

impl Selection {
    /// Nodes in sets, each of which is taken, and what becomes of those in none.
    pub(super) fn new(partitions: Vec<Partition>, others: Vec<Standing>) -> Self {
        let mut standings = others;
        for (number, partition) in partitions.iter().enumerate() {
            partition.nodes.iter().for_each(|&node| standings[node] = Standing::Taken(number));
        }
        Self { standings, partitions }
    }
}

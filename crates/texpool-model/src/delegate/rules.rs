//! The rules of a runtime for the nodes of a graph.

use super::selection::{Partition, Selection};
use crate::import::Refusal;

/// Decisions about the nodes of a graph, by the rules of a runtime.
pub(super) trait Rules {
    /// Leaves the nodes that follow from others that are left. Returns which nodes are taken.
    fn taken_nodes(&mut self) -> Vec<bool>;

    /// Returns the sets in which the runtime hands over the taken nodes.
    fn sets(&self, is_taken: &[bool]) -> Vec<Vec<usize>>;

    /// Returns a set with the tensors that cross its border.
    fn partition(&self, nodes: Vec<usize>) -> Partition;

    /// Returns the reason if a partition is not worth a call of the device.
    fn unworthy(&self, partition: &Partition) -> Option<Refusal>;

    /// Leaves nodes that must not be divided among partitions, but are. Returns whether there are any.
    fn leave_divided(&mut self, _partitions: &[Partition]) -> bool {
        false
    }

    /// Leaves a node. Returns false if this was decided before.
    fn leave(&mut self, node: usize, refusal: Refusal) -> bool;

    /// Leaves a node that cannot be read or compiled. Returns false if this was decided before.
    fn refuse(&mut self, node: usize, refusal: Refusal) -> bool {
        self.leave(node, refusal)
    }

    /// Returns the decisions.
    fn selection(&self, partitions: Vec<Partition>) -> Selection;
}

//! Facts that only a delegate knows that is loaded: those of the runtime's graph, and those of the device.

use super::selection::Partition;
use crate::import::{GraphOutline, ImportError, Refusal};
use texpool_ops::graph::Graph;

/// A delegate that is loaded. By default it knows no more than the file.
pub trait Live {
    /// Errors other than refusals. They end the selection.
    type Error: From<ImportError>;

    /// Returns whether the runtime computes nodes of constants before it asks for nodes.
    fn folds_constants(&self) -> bool {
        true
    }

    /// Completes the outline of a graph.
    fn complete(&mut self, _graph: &mut GraphOutline) {}

    /// Returns the sets in which the runtime hands over the taken nodes. `None` if it follows the known rule.
    ///
    /// # Errors
    /// If the runtime does not answer.
    fn sets(&mut self, _taken: &[bool]) -> Result<Option<Vec<Vec<usize>>>, Self::Error> {
        Ok(None)
    }

    /// Drops what was compiled for all partitions but these.
    fn keep(&mut self, _partitions: &[Partition]) {}

    /// Compiles a partition, which was read as a graph. Returns the nodes that the device cannot compute.
    ///
    /// # Errors
    /// If the device cannot be used at all.
    fn compile(&mut self, _partition: &Partition, _graph: Graph) -> Result<Vec<(usize, Refusal)>, Self::Error> {
        Ok(Vec::new())
    }
}

/// No delegate is loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Live for Offline {
    type Error = ImportError;
}

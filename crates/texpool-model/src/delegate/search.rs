//! Searches for the nodes to take of a graph, by the rules of a runtime: leaves nodes until all that remain can be read
//! and compiled in the sets in which the runtime hands them over.

use std::collections::HashSet;

use super::{
    host::Host,
    live::Live,
    onnxruntime::OnnxRuntimeRules,
    reading::{Refused, read},
    rules::Rules,
    selection::{Partition, Selection},
    tflite::TfLiteRules,
};
use crate::import::{GraphOutline, Refusal};
use texpool_ops::graph::Graph;

/// Limit on the partitions that are refused. Chosen beyond any real model: each takes a reading of all nodes.
const MOST_REFUSED: usize = 256;

/// The search in a graph.
pub(super) struct Search<'g> {
    graph: &'g GraphOutline,
    rules: Box<dyn Rules + 'g>,
    /// Partitions that can be read.
    readable: HashSet<Partition>,
    /// Partitions that can be compiled.
    compiled: HashSet<Partition>,
    refused: usize,
}

impl<'g> Search<'g> {
    pub(super) fn new(graph: &'g GraphOutline, host: Host, min_operations: u64, folds_constants: bool) -> Self {
        let rules: Box<dyn Rules> = match host {
            Host::TfLite => Box::new(TfLiteRules::new(graph, min_operations)),
            Host::OnnxRuntime => Box::new(OnnxRuntimeRules::new(graph, min_operations, folds_constants)),
        };
        Self { graph, rules, readable: HashSet::new(), compiled: HashSet::new(), refused: 0 }
    }

    /// Leaves nodes until the importer reads all partitions and, if `compiles` is set, until they are compiled. Returns the
    /// selection. Terminates, because each round leaves at least one more node.
    pub(super) fn run<L: Live>(&mut self, live: &mut L, compiles: bool) -> Result<Selection, L::Error> {
        loop {
            let is_taken = self.rules.taken_nodes();
            let sets = live.sets(&is_taken)?.unwrap_or_else(|| self.rules.sets(&is_taken));
            let partitions: Vec<Partition> = sets.into_iter().map(|nodes| self.rules.partition(nodes)).collect();
            if self.rules.leave_divided(&partitions) || self.leave_unworthy(&partitions) {
                continue;
            }
            let refused = match (self.read(&partitions, compiles), compiles) {
                (Err(refused), _) => refused,
                (Ok(graphs), true) => {
                    live.keep(&partitions);
                    self.compile(&partitions, graphs, live)?
                }
                (Ok(_), false) => Vec::new(),
            };
            if refused.is_empty() {
                return Ok(self.rules.selection(partitions));
            }
            for (partition, refused) in refused {
                self.refused += 1;
                let refuse = |any, (node, refusal): (usize, Refusal)| self.rules.refuse(node, refusal) || any;
                if !refused.into_iter().fold(false, refuse) || self.refused > MOST_REFUSED {
                    self.leave_all(&partitions[partition]);
                }
            }
        }
    }

    /// Leaves partitions that are not worth a call of the device. Returns whether there are any.
    fn leave_unworthy(&mut self, partitions: &[Partition]) -> bool {
        let mut any = false;
        for partition in partitions {
            if let Some(refusal) = self.rules.unworthy(partition) {
                any = true;
                partition.nodes.iter().for_each(|&node| _ = self.rules.leave(node, refusal.clone()));
            }
        }
        any
    }

    /// Reads partitions that were not read before or, if they are to be compiled, not compiled before. Returns their graphs,
    /// or the nodes that are refused, by partition.
    fn read(&mut self, partitions: &[Partition], compiles: bool) -> Result<Vec<Option<Graph>>, Vec<(usize, Refused)>> {
        let (mut graphs, mut refused) = (Vec::new(), Vec::new());
        for (index, partition) in partitions.iter().enumerate() {
            let done = if compiles { &self.compiled } else { &self.readable }.contains(partition);
            // There is nothing to compute if the runtime reads no result.
            let needed = !done && !partition.outputs.is_empty();
            let Some(reader) = self.graph.reader.as_ref().filter(|_| needed) else {
                graphs.push(None);
                continue;
            };
            match read(self.graph, reader, partition, &|node| self.rules.partition(vec![node])) {
                Ok(graph) => {
                    self.readable.insert(partition.clone());
                    graphs.push(Some(graph));
                }
                Err(nodes) => refused.push((index, nodes)),
            }
        }
        if refused.is_empty() { Ok(graphs) } else { Err(refused) }
    }

    /// Compiles partitions. Returns the nodes that are refused, by partition.
    fn compile<L: Live>(
        &mut self,
        partitions: &[Partition],
        graphs: Vec<Option<Graph>>,
        live: &mut L,
    ) -> Result<Vec<(usize, Refused)>, L::Error> {
        let mut refused = Vec::new();
        for (index, (partition, graph)) in partitions.iter().zip(graphs).enumerate() {
            let Some(graph) = graph else { continue };
            let nodes = live.compile(partition, graph)?;
            if nodes.is_empty() {
                self.compiled.insert(partition.clone());
            } else {
                refused.push((index, nodes));
            }
        }
        Ok(refused)
    }

    fn leave_all(&mut self, partition: &Partition) {
        let refusal = Refusal {
            reason: "the graph has too many nodes that cannot be taken to look at them all".to_owned(),
            hint: "see what the others are left for".to_owned(),
        };
        partition.nodes.iter().for_each(|&node| _ = self.rules.leave(node, refusal.clone()));
    }
}

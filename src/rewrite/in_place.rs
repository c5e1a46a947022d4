//! Concatenations that need no step, because the nodes that compute their parts can write them in place, and pads whose
//! step writes the border alone. Only says where that is possible; whether it is worth the memory depends on the
//! schedule (`schedule::phases::select_in_place`).

use std::collections::BTreeSet;

use super::{
    context::RewriteContext,
    report::{Location, Missed, Report},
    skip_reason::SkipReason,
};
use crate::graph::{IdVec, Node, NodeId, NodeSet, TensorId, may_be_in_place, subtensor_offsets};

/// The name by which `--rules` switches the search on and off.
pub(super) const NAME: &str = "in-place";

/// Finds the concatenations and pads whose parts can be written in place, the last first: of two that want the same
/// part the later one gets it.
pub(super) fn find(ctx: &RewriteContext, views: &NodeSet, report: &mut Report) -> NodeSet {
    let mut search = Search::new(ctx, views);
    let mut in_place = BTreeSet::new();
    for (id, node) in ctx.graph.nodes.iter_enumerated().rev() {
        if !may_be_in_place(&node.op) {
            continue;
        }
        match search.try_in_place(id, node) {
            Ok(()) => {
                in_place.insert(id);
            }
            Err(why) => report.missed.push(Missed { rule: NAME, location: Location::new(&ctx.graph, node), why }),
        }
    }
    tracing::debug!(
        looked = search.all - search.visits_left,
        of = search.all,
        in_place = in_place.len(),
        "searched for what can be written in place"
    );
    in_place.into_iter().collect()
}

/// Runs of texels that a part may have in each row, and how deep parts may lie inside each other: a plan looks at every
/// run of every row. Both are chosen: no network of the catalogue comes near, and a small file could ask for thousands.
const MAX_RUNS: usize = 256;
const MAX_DEPTH: u32 = 32;

struct Search<'a> {
    ctx: &'a RewriteContext,
    /// How many tensors each is inside of.
    depth: IdVec<TensorId, u32>,
    /// For each tensor another one that shares its storage, as in a union-find forest; the root names itself.
    shared: IdVec<TensorId, TensorId>,
    /// Tensors whose place is settled: operands and results of views, and parts written in place.
    taken: IdVec<TensorId, bool>,
    /// The nodes that need no step, or whose step reads nothing.
    stepless: IdVec<NodeId, bool>,
    /// For the root of each storage, the nodes that write tensors in it.
    writers: IdVec<TensorId, Vec<NodeId>>,
    /// Visits of nodes that the search may make in all, and those that are left.
    all: usize,
    visits_left: usize,
}

/// Visits of nodes in search of a step that reads what it writes, for each node and operand of the graph. Every join
/// goes through the writers of the storages joined, which is quadratic where concatenations are nested by the thousand,
/// as a small file may have them. DenseNet-121 takes most in the catalogue, 3.5 (`looked` and `of` in the log of
/// `TEXPOOL_LOG=texpool=debug texpool plan light_densenet121`).
const VISITS_PER_NODE: usize = 64;

impl<'a> Search<'a> {
    fn new(ctx: &'a RewriteContext, views: &NodeSet) -> Self {
        let tensors = &ctx.graph.tensors;
        let mut search = Self {
            ctx,
            depth: IdVec::from_elem(0, tensors),
            shared: tensors.ids().collect(),
            taken: IdVec::from_elem(false, tensors),
            stepless: IdVec::from_elem(false, &ctx.graph.nodes),
            writers: IdVec::from_elem(Vec::new(), tensors),
            all: 0,
            visits_left: 0,
        };
        for id in views.iter() {
            let node = ctx.node(id);
            search.stepless[id] = true;
            for tensor in node.inputs.iter().take(1).copied().chain([node.output]) {
                search.taken[tensor] = true;
                search.shared[tensor] = search.storage_root(node.inputs[0]);
            }
        }
        for (id, node) in ctx.graph.nodes.iter_enumerated() {
            search.visits_left += VISITS_PER_NODE * (1 + node.inputs.len());
            let first = search.storage_root(node.output);
            search.writers[first].push(id);
        }
        search.all = search.visits_left;
        search
    }

    /// Refuses to write parts in place where a step would then read the texture that it writes, which WebGPU forbids.
    fn check_neighbours(&mut self, id: NodeId, group: &BTreeSet<TensorId>) -> Result<(), SkipReason> {
        let ctx = self.ctx;
        let many = || SkipReason::TooManyNeighbours;
        // Reports the first such node of the graph, so that the reason does not depend on the order of earlier joins.
        let mut found: Option<(NodeId, TensorId)> = None;
        for &writer in group.iter().flat_map(|&first| &self.writers[first]) {
            let step = ctx.node(writer);
            self.visits_left = self.visits_left.checked_sub(1 + step.inputs.len()).ok_or_else(many)?;
            if writer == id || self.stepless[writer] || found.is_some_and(|(node, _)| node <= writer) {
                continue;
            }
            if let Some(read) = step.operands().find(|&tensor| group.contains(&self.storage_root(tensor))) {
                found = Some((writer, read));
            }
        }
        match found {
            Some((node, read)) => {
                Err(SkipReason::ReadsWrittenTexture { op: ctx.node(node).op.name(), tensor: ctx.name(read) })
            }
            None => Ok(()),
        }
    }

    fn storage_root(&self, mut tensor: TensorId) -> TensorId {
        while self.shared[tensor] != tensor {
            tensor = self.shared[tensor];
        }
        tensor
    }

    fn try_in_place(&mut self, id: NodeId, node: &Node) -> Result<(), SkipReason> {
        let ctx = self.ctx;
        subtensor_offsets(&ctx.graph, node)?;
        let to = node.output;
        if !node.epilogue.is_empty() {
            return Err(SkipReason::EpilogueTaken { op: node.op.name() });
        }
        let (width, depth) = (ctx.graph.shape(to).w, self.depth[to]);
        let many = |&&part: &&TensorId| {
            let shape = ctx.graph.shape(part);
            // The slices of a part as wide as the whole lie one behind the other: a single run.
            shape.w != width && shape.slices() > MAX_RUNS || depth >= MAX_DEPTH
        };
        if let Some(&part) = node.inputs.iter().find(many) {
            return Err(SkipReason::TooManyRuns { tensor: ctx.name(part) });
        }
        let mut seen = BTreeSet::new();
        for &part in &node.inputs {
            let tensor = || ctx.name(part);
            if ctx.graph.is_constant(part) {
                return Err(SkipReason::IsConstant { tensor: tensor() });
            } else if ctx.is_output(part) {
                return Err(SkipReason::IsOutput { tensor: tensor() });
            } else if ctx.producer(part).is_none() {
                return Err(SkipReason::NotComputed { tensor: tensor() });
            // A part that the concatenation takes twice cannot lie in two places.
            } else if self.taken[part] || !seen.insert(part) {
                return Err(SkipReason::StoredElsewhere { tensor: tensor() });
            }
        }
        let group: BTreeSet<TensorId> =
            node.inputs.iter().chain([&to]).map(|&tensor| self.storage_root(tensor)).collect();
        self.check_neighbours(id, &group)?;
        let first = self.storage_root(to);
        for &part in &node.inputs {
            self.taken[part] = true;
            // Going backwards, all that the whole is inside of has been settled.
            self.depth[part] = self.depth[to] + 1;
            let part = self.storage_root(part);
            if part != first {
                self.shared[part] = first;
                let writers = std::mem::take(&mut self.writers[part]);
                self.writers[first].extend(writers);
            }
        }
        self.stepless[id] = true;
        Ok(())
    }
}

//! Finds concatenations that need no step, because the nodes that compute their parts can write them in place, and
//! pads whose step only writes the border. Decides only whether this is possible. Whether it is worth the memory
//! depends on the schedule (`schedule::tiling::select_in_place`).

use std::collections::BTreeSet;

use super::{
    context::RewriteContext,
    report::{Location, Report, Skipped},
    skip_reason::SkipReason,
};
use texpool_ops::graph::{IdVec, Node, NodeId, NodeSet, TensorId, may_be_in_place, subtensor_offsets};

/// Name by which `--rules` switches the search on and off.
pub(super) const NAME: &str = "in-place";

/// Finds the concatenations and pads whose parts can be written in place. Goes from last to first, so if two want the
/// same part, the later one gets it.
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
            Err(why) => report.missed.push(Skipped { rule: NAME, location: Location::new(&ctx.graph, node), why }),
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

/// Limits on the runs of texels of a part per row, and on the nesting depth of parts. A plan examines every run of
/// every row. Both are chosen, not tuned: no network of the catalogue comes near them, but a small file could ask for
/// thousands.
const MAX_RUNS: usize = 256;
const MAX_DEPTH: u32 = 32;

struct Search<'a> {
    ctx: &'a RewriteContext,
    /// Nesting depth: number of tensors that contain each tensor.
    depth: IdVec<TensorId, u32>,
    /// For each tensor another one that shares its storage, as in a union-find forest. A root refers to itself.
    shared: IdVec<TensorId, TensorId>,
    /// Tensors that already have a place: operands and results of views, and parts written in place.
    has_place: IdVec<TensorId, bool>,
    /// The nodes that need no step, or whose step reads nothing.
    stepless: IdVec<NodeId, bool>,
    /// Nodes that write into each storage, listed at the root of the storage.
    writers: IdVec<TensorId, Vec<NodeId>>,
    /// Number of node visits that the search may make in total, and the number left.
    all: usize,
    visits_left: usize,
}

/// Limit on node visits, per node and operand of the graph, in the search for a step that reads what it writes. Every
/// join goes through the writers of the joined storages. This is quadratic if concatenations are nested by the
/// thousand, which a small file could contain. In the catalogue DenseNet-121 needs most, 3.5 (`looked` and `of` in
/// the log of `TEXPOOL_LOG=texpool=debug texpool plan light_densenet121`).
const VISITS_PER_NODE: usize = 64;

impl<'a> Search<'a> {
    fn new(ctx: &'a RewriteContext, views: &NodeSet) -> Self {
        let tensors = &ctx.graph.tensors;
        let mut search = Self {
            ctx,
            depth: IdVec::from_elem(0, tensors),
            shared: tensors.ids().collect(),
            has_place: IdVec::from_elem(false, tensors),
            stepless: IdVec::from_elem(false, &ctx.graph.nodes),
            writers: IdVec::from_elem(Vec::new(), tensors),
            all: 0,
            visits_left: 0,
        };
        for id in views.iter() {
            let node = ctx.node(id);
            search.stepless[id] = true;
            for tensor in node.inputs.iter().take(1).copied().chain([node.output]) {
                search.has_place[tensor] = true;
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

    /// Refuses to write parts in place if a step would then read the texture that it writes, which WebGPU forbids.
    fn check_neighbours(&mut self, id: NodeId, group: &BTreeSet<TensorId>) -> Result<(), SkipReason> {
        let ctx = self.ctx;
        let many = || SkipReason::TooManyNeighbours;
        // Reports the first such node of the graph, so that the reason does not depend on the order of earlier joins.
        let mut conflict: Option<(NodeId, TensorId)> = None;
        for &writer in group.iter().flat_map(|&first| &self.writers[first]) {
            let step = ctx.node(writer);
            self.visits_left = self.visits_left.checked_sub(1 + step.inputs.len()).ok_or_else(many)?;
            if writer == id || self.stepless[writer] || conflict.is_some_and(|(node, _)| node <= writer) {
                continue;
            }
            if let Some(read) = step.operands().find(|&tensor| group.contains(&self.storage_root(tensor))) {
                conflict = Some((writer, read));
            }
        }
        match conflict {
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
            // If a part is as wide as the whole, its slices are adjacent and form a single run.
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
            // A part that occurs twice in the concatenation would have to lie in two places.
            } else if self.has_place[part] || !seen.insert(part) {
                return Err(SkipReason::StoredElsewhere { tensor: tensor() });
            }
        }
        let group: BTreeSet<TensorId> =
            node.inputs.iter().chain([&to]).map(|&tensor| self.storage_root(tensor)).collect();
        self.check_neighbours(id, &group)?;
        let first = self.storage_root(to);
        for &part in &node.inputs {
            self.has_place[part] = true;
            // The search goes backwards, so the depth of the whole is already final.
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

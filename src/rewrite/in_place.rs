//! Joins: concatenations that need no step, because the nodes that compute their parts can write them in place, and pads
//! whose step writes the border alone. Knows shapes, not placements; whether a join is worth its memory is for those who
//! know the schedule.

use std::collections::BTreeSet;

use super::{
    report::{Missed, Place, Report},
    site::Site,
    skip_reason::SkipReason,
};
use crate::graph::{Node, NodeId, NodeSet, TensorId, may_be_in_place, subtensor_offsets};

/// What the search is switched on and off by.
pub(super) const NAME: &str = "in-place";

/// Finds the concatenations and pads whose parts can be written in place, the last first: of two that want the same part
/// the later one gets it.
pub(super) fn find(site: &Site, views: &NodeSet, report: &mut Report) -> NodeSet {
    let mut search = Search::new(site, views);
    let mut in_place = BTreeSet::new();
    for (id, node) in site.graph.nodes.iter().enumerate().rev() {
        if !may_be_in_place(&node.op) {
            continue;
        }
        match search.join(id, node) {
            Ok(()) => {
                in_place.insert(id);
            }
            Err(why) => report.missed.push(Missed { rule: NAME, place: Place::of(&site.graph, node), why }),
        }
    }
    tracing::debug!(
        looked = search.all - search.looks,
        of = search.all,
        in_place = in_place.len(),
        "searched for what can be written in place"
    );
    in_place.into_iter().collect()
}

/// Runs of texels that a part may be in each row, and parts inside each other: plans look at every one.
const MOST_RUNS: usize = 256;
const DEEPEST: u32 = 32;

struct Search<'a> {
    site: &'a Site,
    /// How many tensors each is inside of.
    depth: Vec<u32>,
    /// For each tensor one that it shares its storage with; itself for the first of them.
    shared: Vec<TensorId>,
    /// The tensors that a reshape looks at or yields without a step, and the parts written in place.
    taken: Vec<bool>,
    /// The nodes that need no step, or whose step reads nothing.
    free: Vec<bool>,
    /// For the first of each storage, the nodes that write tensors in it.
    writers: Vec<Vec<NodeId>>,
    /// Nodes that may be looked at for their neighbours, and that may still be.
    all: usize,
    looks: usize,
}

/// Nodes that are looked at for their neighbours, for each node of the graph and each operand: what is joined is looked
/// through once for each of the tensors it comes to lie inside of, of which there are few. Of the catalogue's networks
/// DenseNet-121 looks at most, 3.5 for each.
const LOOKS: usize = 64;

impl<'a> Search<'a> {
    fn new(site: &'a Site, views: &NodeSet) -> Self {
        let tensors = site.graph.tensors.len();
        let mut search = Self {
            site,
            depth: vec![0; tensors],
            shared: (0..tensors).collect(),
            taken: vec![false; tensors],
            free: vec![false; site.graph.nodes.len()],
            writers: vec![Vec::new(); tensors],
            all: 0,
            looks: 0,
        };
        for id in views.iter() {
            let node = site.node(id);
            search.free[id] = true;
            for tensor in node.inputs.iter().take(1).copied().chain([node.output]) {
                search.taken[tensor] = true;
                search.shared[tensor] = search.first(node.inputs[0]);
            }
        }
        for (id, node) in site.graph.nodes.iter().enumerate() {
            search.looks += LOOKS * (1 + node.inputs.len());
            let first = search.first(node.output);
            search.writers[first].push(id);
        }
        search.all = search.looks;
        search
    }

    /// Refuses a join where a step would read the texture that it writes.
    fn check_neighbours(&mut self, id: NodeId, group: &BTreeSet<TensorId>) -> Result<(), SkipReason> {
        let site = self.site;
        let many = || SkipReason::ManyNeighbours;
        // The first in the graph, so that the answer does not depend on what was joined before.
        let mut found: Option<(NodeId, TensorId)> = None;
        for &writer in group.iter().flat_map(|&first| &self.writers[first]) {
            let step = site.node(writer);
            self.looks = self.looks.checked_sub(1 + step.inputs.len()).ok_or_else(many)?;
            if writer == id || self.free[writer] || found.is_some_and(|(node, _)| node <= writer) {
                continue;
            }
            if let Some(read) = step.operands().find(|&tensor| group.contains(&self.first(tensor))) {
                found = Some((writer, read));
            }
        }
        match found {
            Some((node, read)) => {
                Err(SkipReason::ReadsNeighbour { op: site.node(node).op.name(), tensor: site.name(read) })
            }
            None => Ok(()),
        }
    }

    fn first(&self, mut tensor: TensorId) -> TensorId {
        while self.shared[tensor] != tensor {
            tensor = self.shared[tensor];
        }
        tensor
    }

    fn join(&mut self, id: NodeId, node: &Node) -> Result<(), SkipReason> {
        let site = self.site;
        subtensor_offsets(&site.graph, node)?;
        let to = node.output;
        if !node.epilogue.is_empty() {
            return Err(SkipReason::EpilogueTaken { op: node.op.name() });
        }
        let (width, depth) = (site.graph.shape(to).w, self.depth[to]);
        let many = |&&part: &&TensorId| {
            let shape = site.graph.shape(part);
            shape.w != width && shape.slices() > MOST_RUNS || depth >= DEEPEST
        };
        if let Some(&part) = node.inputs.iter().find(many) {
            return Err(SkipReason::ManyPieces { tensor: site.name(part) });
        }
        let mut seen = BTreeSet::new();
        for &part in &node.inputs {
            let tensor = || site.name(part);
            if site.graph.is_constant(part) {
                return Err(SkipReason::IsConstant { tensor: tensor() });
            } else if site.goes_out(part) {
                return Err(SkipReason::GoesOut { tensor: tensor() });
            } else if site.maker(part).is_none() {
                return Err(SkipReason::NotComputed { tensor: tensor() });
            } else if self.taken[part] || !seen.insert(part) {
                return Err(SkipReason::LiesElsewhere { tensor: tensor() });
            }
        }
        let group: BTreeSet<TensorId> = node.inputs.iter().chain([&to]).map(|&tensor| self.first(tensor)).collect();
        self.check_neighbours(id, &group)?;
        let first = self.first(to);
        for &part in &node.inputs {
            self.taken[part] = true;
            self.depth[part] = self.depth[to] + 1;
            let part = self.first(part);
            if part != first {
                self.shared[part] = first;
                let writers = std::mem::take(&mut self.writers[part]);
                self.writers[first].extend(writers);
            }
        }
        self.free[id] = true;
        Ok(())
    }
}

//! Joins: concatenations that need no step, because the nodes that compute their parts can write them in place, and pads
//! whose step writes the border alone. Knows shapes, not placements; whether a join is worth its memory is for those who
//! know the schedule.

use std::collections::BTreeSet;

use super::{
    report::{Missed, Place, Report},
    site::{Site, operands},
    views::Views,
    why_not::WhyNot,
};
use crate::graph::{Graph, Node, NodeId, Op, PadMode, TensorId};

/// What the search is switched on and off by.
pub(super) const NAME: &str = "joins";

/// Where a part of a tensor begins in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Corner {
    pub(crate) row: usize,
    /// Slice of each row.
    pub(crate) slice: usize,
    /// Pixel of each slice.
    pub(crate) x: usize,
}

/// Whether a node's operands may be parts of its result.
pub(crate) const fn may_join(op: &Op) -> bool {
    matches!(op, Op::Concat { .. } | Op::Pad { .. })
}

/// Where the parts of a concatenation, or what a pad surrounds, lie in the result. A part of the channels must begin with
/// a texel, and all but the last fill theirs; a part must have its rows one after another.
pub(crate) fn corners(graph: &Graph, node: &Node) -> Result<Vec<Corner>, WhyNot> {
    let &[to] = &node.outputs[..] else { return Err(WhyNot::Neighbour { op: node.op.name() }) };
    let whole = graph.shape(to);
    let between = |part: TensorId| WhyNot::Between { tensor: graph.tensors[part].name.clone() };
    match (&node.op, &node.inputs[..]) {
        (&Op::Concat { axis }, parts) => {
            let mut begin = 0;
            let mut corner = |&part: &TensorId| {
                let first = begin;
                begin += graph.shape(part).dims()[axis];
                match axis {
                    0 => Ok(Corner { row: first * whole.h, ..Corner::default() }),
                    1 if whole.b == 1 => Ok(Corner { row: first, ..Corner::default() }),
                    2 => Ok(Corner { x: first, ..Corner::default() }),
                    3 if first.is_multiple_of(4) => Ok(Corner { slice: first / 4, ..Corner::default() }),
                    _ => Err(between(part)),
                }
            };
            parts.iter().map(&mut corner).collect()
        }
        (Op::Pad { before, after, mode: PadMode::Constant(value) }, &[part]) => {
            let shape = graph.shape(part);
            let [b, y, x, c] = before.map(usize::try_from);
            let (Ok(b), Ok(y), Ok(x), Ok(c), true) = (b, y, x, c, after.iter().all(|&n| n >= 0)) else {
                return Err(WhyNot::NotABorder);
            };
            // What follows in the part's last texel is zero.
            let follows = shape.c.is_multiple_of(4) || after[3] == 0 || value.to_bits() == 0;
            match (shape.b == 1 || shape.h == whole.h) && c.is_multiple_of(4) && follows {
                true => Ok(vec![Corner { row: b * whole.h + y, slice: c / 4, x }]),
                false => Err(between(part)),
            }
        }
        (Op::Pad { .. }, _) => Err(WhyNot::NotABorder),
        _ => Err(WhyNot::Neighbour { op: node.op.name() }),
    }
}

/// Finds the concatenations and pads whose parts can be written in place, the last first: of two that want the same part
/// the later one gets it.
pub(super) fn find(site: &Site, views: &Views, report: &mut Report) -> Views {
    let mut search = Search::new(site, views);
    let mut joins = BTreeSet::new();
    for (id, node) in site.graph.nodes.iter().enumerate().rev() {
        if !may_join(&node.op) {
            continue;
        }
        match search.join(id, node) {
            Ok(()) => {
                joins.insert(id);
            }
            Err(why) => report.missed.push(Missed { rule: NAME, place: Place::of(&site.graph, node), why }),
        }
    }
    tracing::debug!(looked = search.all - search.looks, of = search.all, joins = joins.len(), "joined");
    joins.into_iter().collect()
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
    /// The tensors that a reshape looks at or yields without a step, and the parts of joins.
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
    fn new(site: &'a Site, views: &Views) -> Self {
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
            for tensor in node.inputs.iter().take(1).chain(&node.outputs).copied() {
                search.taken[tensor] = true;
                search.shared[tensor] = search.first(node.inputs[0]);
            }
        }
        for (id, node) in site.graph.nodes.iter().enumerate() {
            search.looks += LOOKS * (1 + node.inputs.len());
            for &tensor in &node.outputs {
                let first = search.first(tensor);
                search.writers[first].push(id);
            }
        }
        search.all = search.looks;
        search
    }

    /// Refuses a join where a step would read the texture that it writes.
    fn check_neighbours(&mut self, id: NodeId, group: &BTreeSet<TensorId>) -> Result<(), WhyNot> {
        let site = self.site;
        let many = || WhyNot::ManyNeighbours;
        // The first in the graph, so that the answer does not depend on what was joined before.
        let mut found: Option<(NodeId, TensorId)> = None;
        for &writer in group.iter().flat_map(|&first| &self.writers[first]) {
            let step = site.node(writer);
            self.looks = self.looks.checked_sub(1 + step.inputs.len()).ok_or_else(many)?;
            if writer == id || self.free[writer] || found.is_some_and(|(node, _)| node <= writer) {
                continue;
            }
            if let Some(read) = operands(step).find(|&tensor| group.contains(&self.first(tensor))) {
                found = Some((writer, read));
            }
        }
        match found {
            Some((node, read)) => {
                Err(WhyNot::ReadsNeighbour { op: site.node(node).op.name(), tensor: site.name(read) })
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

    fn join(&mut self, id: NodeId, node: &Node) -> Result<(), WhyNot> {
        let site = self.site;
        corners(&site.graph, node)?;
        let &[to] = &node.outputs[..] else { return Err(WhyNot::Neighbour { op: node.op.name() }) };
        if !node.tail.is_empty() {
            return Err(WhyNot::TailTaken { op: node.op.name() });
        }
        let (width, depth) = (site.graph.shape(to).w, self.depth[to]);
        let many = |&&part: &&TensorId| {
            let shape = site.graph.shape(part);
            shape.w != width && shape.slices() > MOST_RUNS || depth >= DEEPEST
        };
        if let Some(&part) = node.inputs.iter().find(many) {
            return Err(WhyNot::ManyPieces { tensor: site.name(part) });
        }
        let mut seen = BTreeSet::new();
        for &part in &node.inputs {
            let tensor = || site.name(part);
            if site.graph.is_constant(part) {
                return Err(WhyNot::IsConstant { tensor: tensor() });
            } else if site.goes_out(part) {
                return Err(WhyNot::GoesOut { tensor: tensor() });
            } else if site.maker(part).is_none() {
                return Err(WhyNot::NotComputed { tensor: tensor() });
            } else if self.taken[part] || !seen.insert(part) {
                return Err(WhyNot::LiesElsewhere { tensor: tensor() });
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

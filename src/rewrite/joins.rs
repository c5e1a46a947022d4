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
}

impl<'a> Search<'a> {
    fn new(site: &'a Site, views: &Views) -> Self {
        let tensors = site.graph.tensors.len();
        let mut search = Self {
            site,
            depth: vec![0; tensors],
            shared: (0..tensors).collect(),
            taken: vec![false; tensors],
            free: vec![false; site.graph.nodes.len()],
        };
        for id in views.iter() {
            let node = site.node(id);
            search.free[id] = true;
            for tensor in node.inputs.iter().take(1).chain(&node.outputs).copied() {
                search.taken[tensor] = true;
                search.shared[tensor] = search.first(node.inputs[0]);
            }
        }
        search
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
        for (index, &part) in node.inputs.iter().enumerate() {
            let tensor = || site.name(part);
            if site.graph.is_constant(part) {
                return Err(WhyNot::IsConstant { tensor: tensor() });
            } else if site.goes_out(part) {
                return Err(WhyNot::GoesOut { tensor: tensor() });
            } else if site.maker(part).is_none() {
                return Err(WhyNot::NotComputed { tensor: tensor() });
            } else if self.taken[part] || node.inputs[..index].contains(&part) {
                return Err(WhyNot::LiesElsewhere { tensor: tensor() });
            }
        }
        let group: Vec<TensorId> = node.inputs.iter().chain([&to]).map(|&tensor| self.first(tensor)).collect();
        let inside = |tensor: TensorId| group.contains(&self.first(tensor));
        let steps = site.graph.nodes.iter().enumerate().filter(|&(other, _)| other != id && !self.free[other]);
        for (_, step) in steps.filter(|(_, step)| step.outputs.iter().any(|&tensor| inside(tensor))) {
            if let Some(read) = operands(step).find(|&tensor| inside(tensor)) {
                return Err(WhyNot::ReadsNeighbour { op: step.op.name(), tensor: site.name(read) });
            }
        }
        let first = self.first(to);
        for &part in &node.inputs {
            self.taken[part] = true;
            self.depth[part] = self.depth[to] + 1;
            let part = self.first(part);
            self.shared[part] = first;
        }
        self.free[id] = true;
        Ok(())
    }
}

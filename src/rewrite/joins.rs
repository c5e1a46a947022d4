//! Joins: concatenations that need no step, because the nodes that compute their parts can write them in place. Knows
//! shapes, not placements; whether a join is worth its memory is for those who know the schedule.

use std::collections::BTreeSet;

use super::{
    report::{Missed, Place, Report},
    site::{Site, operands},
    views::Views,
    why_not::WhyNot,
};
use crate::graph::{Graph, Node, NodeId, Op, TensorId};

/// What the search is switched on and off by.
pub(super) const NAME: &str = "joins";

/// Where a part of a concatenation lies in a row table's terms: rows down, and texels into each row. A part of the
/// channels must begin with a texel and all but the last fill theirs; a part of the columns has one slice, since the
/// slices of a row lie behind each other.
pub(crate) fn corners(graph: &Graph, node: &Node) -> Result<Vec<[usize; 2]>, WhyNot> {
    let (&Op::Concat { axis }, &[to]) = (&node.op, &node.outputs[..]) else {
        return Err(WhyNot::Neighbour { op: node.op.name() });
    };
    let whole = graph.shape(to);
    let mut begin = 0;
    let mut corners = Vec::with_capacity(node.inputs.len());
    for &part in &node.inputs {
        corners.push(match axis {
            0 => [begin * whole.h, 0],
            1 if whole.b == 1 => [begin, 0],
            2 if whole.slices() == 1 => [0, begin],
            3 if begin.is_multiple_of(4) => [0, begin / 4 * whole.w],
            _ => return Err(WhyNot::Between { tensor: graph.tensors[part].name.clone() }),
        });
        begin += graph.shape(part).dims()[axis];
    }
    Ok(corners)
}

/// Finds the concatenations whose parts can be written in place, the last first: of two that want the same part the
/// later one gets it.
pub(super) fn find(site: &Site, views: &Views, report: &mut Report) -> Views {
    let mut search = Search::new(site, views);
    let mut joins = BTreeSet::new();
    for (id, node) in site.graph.nodes.iter().enumerate().rev() {
        if !matches!(node.op, Op::Concat { .. }) {
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

struct Search<'a> {
    site: &'a Site,
    /// For each tensor one that it shares its storage with; itself for the first of them.
    shared: Vec<TensorId>,
    /// The tensors that a reshape looks at or yields without a step, and the parts of joins.
    taken: Vec<bool>,
    /// The nodes that need no step.
    free: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(site: &'a Site, views: &Views) -> Self {
        let tensors = site.graph.tensors.len();
        let mut search = Self {
            site,
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
        if !node.tail.is_empty() {
            return Err(WhyNot::TailTaken { op: node.op.name() });
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
        let &[to] = &node.outputs[..] else { return Err(WhyNot::Neighbour { op: node.op.name() }) };
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
            let part = self.first(part);
            self.shared[part] = first;
        }
        self.free[id] = true;
        Ok(())
    }
}

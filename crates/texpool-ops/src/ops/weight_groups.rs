//! Groups the weights of nodes, so that a constant that several nodes read in the same layout is packed, stored,
//! uploaded and counted once.

use std::collections::HashMap;

use super::words::packed_sections;
use crate::{
    graph::{Constant, Graph, IdVec, NodeId},
    kernels::{SectionRole, WeightPacking, WeightSection},
};

/// The weights of some nodes, each section once.
#[derive(Debug)]
pub struct WeightGroups {
    /// In the order of the first node of each.
    pub groups: Vec<WeightGroup>,
    /// Group and sections of each node; `None` for nodes without weights and for those that were not asked for.
    pub nodes: IdVec<NodeId, Option<NodeSections>>,
}

/// Sections that are stored together: one that several nodes read, and all others of these nodes. A kernel reads all
/// of its node's weights from one texture.
#[derive(Debug)]
pub struct WeightGroup {
    /// Packing of all sections.
    pub packing: WeightPacking,
    /// Total number of texels.
    pub texels: u64,
    /// The sections, in the order of their texels.
    pub sections: Vec<GroupSection>,
}

/// A section of a group.
#[derive(Debug)]
pub struct GroupSection {
    /// The first node that reads it.
    pub node: NodeId,
    /// The constants and their layout.
    pub section: WeightSection,
    /// First texel, counted from that of the group.
    pub start: u64,
    /// Number of texels.
    pub texels: u64,
}

/// The sections of a node.
#[derive(Debug)]
pub struct NodeSections {
    /// Index of the group.
    pub group: usize,
    /// Indices of the sections within the group, in the node's order.
    pub sections: Vec<(SectionRole, usize)>,
}

impl WeightGroups {
    /// Groups the weights of the nodes for which `stored` returns true. A group has at most `most` texels unless one
    /// node has more. Constants of equal bytes must share them, see
    /// [`share_constants`](crate::graph::share_constants).
    pub fn new(
        graph: &Graph,
        packings: &IdVec<NodeId, WeightPacking>,
        most: u64,
        stored: impl Fn(NodeId) -> bool,
    ) -> Self {
        let mut made = Grouping { graph, most, groups: Vec::new(), firsts: HashMap::new(), known: HashMap::new() };
        let of = |(id, node)| {
            let packing = packings.get(id).copied().unwrap_or_default();
            let sections = if stored(id) { packed_sections(graph, node, packing) } else { Vec::new() };
            made.add(id, packing, sections.into_iter().filter(|&(_, texels)| texels > 0).collect())
        };
        let nodes = graph.nodes.iter_enumerated().map(of).collect();
        Self { groups: made.groups, nodes }
    }
}

/// Address or value, and length, of a section's first constant. Equal sections have equal ones.
type Identity = (usize, usize);

struct Grouping<'a> {
    graph: &'a Graph,
    most: u64,
    groups: Vec<WeightGroup>,
    /// Groups by the identity of their first section.
    firsts: HashMap<Identity, Vec<usize>>,
    /// Sections of each group by their identity.
    known: HashMap<(usize, Identity), Vec<usize>>,
}

impl Grouping<'_> {
    /// Adds the sections of a node to the group that has the first of them, or to a new one.
    fn add(
        &mut self,
        node: NodeId,
        packing: WeightPacking,
        sections: Vec<(WeightSection, u64)>,
    ) -> Option<NodeSections> {
        let (first, _) = sections.first()?;
        let identity = self.identity(first);
        let alike = self.firsts.get(&identity).into_iter().flatten().copied();
        let added = |group: usize| -> u64 {
            sections.iter().filter(|(section, _)| self.find(group, section).is_none()).map(|(_, texels)| texels).sum()
        };
        let mut alike = alike.filter(|&group| {
            let WeightGroup { packing: packed, texels, sections } = &self.groups[group];
            let is_same = sections.first().is_some_and(|held| self.is_same(&held.section, first));
            *packed == packing && is_same && texels.saturating_add(added(group)) <= self.most
        });
        let group = alike.next();
        let group = group.unwrap_or_else(|| {
            self.groups.push(WeightGroup { packing, texels: 0, sections: Vec::new() });
            self.firsts.entry(identity).or_default().push(self.groups.len() - 1);
            self.groups.len() - 1
        });
        let place = |(section, texels): (WeightSection, u64)| {
            let role = section.role;
            if let Some(index) = self.find(group, &section) {
                return (role, index);
            }
            let identity = self.identity(&section);
            let held = &mut self.groups[group];
            let index = held.sections.len();
            held.sections.push(GroupSection { node, section, start: held.texels, texels });
            held.texels += texels;
            self.known.entry((group, identity)).or_default().push(index);
            (role, index)
        };
        Some(NodeSections { group, sections: sections.into_iter().map(place).collect() })
    }

    /// Returns the index of an equal section of a group.
    fn find(&self, group: usize, section: &WeightSection) -> Option<usize> {
        let known = self.known.get(&(group, self.identity(section)))?;
        known.iter().copied().find(|&index| self.is_same(&self.groups[group].sections[index].section, section))
    }

    fn identity(&self, section: &WeightSection) -> Identity {
        let Some(constant) = section.constants(self.graph).and_then(|constants| constants.first().copied()) else {
            return (0, section.layout.texels() as usize);
        };
        let value =
            || constant.bytes.element().unwrap_or_default().iter().fold(0, |all, &byte| all << 8 | usize::from(byte));
        constant.bytes.identity().unwrap_or_else(|| (value(), constant.bytes.len()))
    }

    /// Returns whether two sections hold equal texels under one packing.
    fn is_same(&self, a: &WeightSection, b: &WeightSection) -> bool {
        // Only a node's own weights are packed as words.
        let is_own = |section: &WeightSection| section.role == SectionRole::Own;
        let constants = [a, b].map(|section| section.constants(self.graph).unwrap_or_default());
        is_own(a) == is_own(b)
            && constants[0].len() == constants[1].len()
            && constants[0].iter().zip(&constants[1]).all(|(a, b)| same_constant(a, b))
            && format!("{:?}", a.layout) == format!("{:?}", b.layout)
    }
}

/// Returns whether two constants have the same elements.
fn same_constant(a: &Constant, b: &Constant) -> bool {
    a.dtype == b.dtype && a.scale == b.scale && a.bytes.is_same(&b.bytes)
}

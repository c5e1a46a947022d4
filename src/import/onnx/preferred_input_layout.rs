//! In which layout an input is held: the host turns inputs for nothing, so the first reader with a preference decides.
//!
//! What an operator prefers is said in its row of the table; operators that are not read have no say.

use std::collections::{BTreeSet, HashMap};

use super::{layout::AtomLayout, lower, model::Node, op_registry::InputLayout};

/// Nodes visited for one input, and for all inputs together. Chosen: in a real model one of the first readers has a
/// preference, and a hostile one has thousands of inputs with thousands of readers.
const MAX_VISITS_PER_INPUT: usize = 10_000;
const MAX_VISITS: usize = 1 << 18;

/// What the readers of a graph's inputs prefer.
#[derive(Debug)]
pub(super) struct PreferredLayouts<'m> {
    nodes: &'m [Node],
    readers: HashMap<&'m str, Vec<usize>>,
    /// Nodes that may still be looked at.
    left: usize,
}

impl<'m> PreferredLayouts<'m> {
    pub(super) fn new(nodes: &'m [Node]) -> Self {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            node.inputs.iter().for_each(|name| readers.entry(name).or_default().push(index));
        }
        Self { nodes, readers, left: MAX_VISITS }
    }

    /// The layout that the readers of input `name` prefer: the first with a preference decides. Only nodes that the input's
    /// elements reach are looked at.
    pub(super) fn of_input(&mut self, name: &str, dims: &[usize]) -> AtomLayout {
        // For each name that carries the input's elements, which axis of the input each of its axes is.
        let mut carried: HashMap<&str, Vec<usize>> = HashMap::from([(name, (0..dims.len()).collect())]);
        let mut open: BTreeSet<usize> = BTreeSet::new();
        self.next(name, 0, &mut open);
        for _ in 0..MAX_VISITS_PER_INPUT {
            // In the order of the nodes, so that the first reader decides.
            let Some(index) = open.pop_first() else { break };
            let nodes = self.nodes;
            let node = &nodes[index];
            // Counted by operands, as all may be gone through for the one that carries the input.
            let Some(left) = self.left.checked_sub(node.inputs.len()) else { break };
            self.left = left;
            let Some(axes) = node.inputs.iter().find_map(|input| carried.get(input.as_str())) else { continue };
            let Some(entry) = lower::find(&node.domain, &node.op) else { continue };
            let passed = match entry.preferred_input_layout {
                InputLayout::ChannelsSecond if axes.len() >= 3 => return turned(dims, axes),
                InputLayout::ChannelsSecond | InputLayout::Any => None,
                InputLayout::LikeOperand => Some(axes.clone()),
                InputLayout::Transposed => {
                    let perm = node.attributes.iter().find(|a| a.name == "perm").map(|a| &a.ints);
                    let reversed: Vec<i64> = (0..axes.len() as i64).rev().collect();
                    let source = perm.unwrap_or(&reversed).iter().take(dims.len());
                    source.map(|&i| usize::try_from(i).ok().and_then(|i| axes.get(i)).copied()).collect()
                }
            };
            if let Some(passed) = passed {
                for output in &node.outputs {
                    carried.insert(output, passed.clone());
                    // Whatever reads it stands behind; a file where that is not so is refused when nodes are lowered.
                    self.next(output, index + 1, &mut open);
                }
            }
        }
        AtomLayout::natural(dims)
    }

    /// Notes the readers of a name from a node on, which count as looked at.
    fn next(&mut self, name: &str, from: usize, open: &mut BTreeSet<usize>) {
        let readers = self.readers.get(name).map(Vec::as_slice).unwrap_or_default();
        let readers = &readers[readers.partition_point(|&reader| reader < from)..];
        let seen = readers.len().min(self.left);
        self.left -= seen;
        open.extend(&readers[..seen]);
    }
}

/// The layout of `dims` that has the channels second once its axes stand in the order `axes`.
fn turned(dims: &[usize], axes: &[usize]) -> AtomLayout {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len()) {
        return AtomLayout::natural(dims);
    }
    let seen: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
    let back: Vec<usize> = (0..axes.len()).filter_map(|axis| axes.iter().position(|&a| a == axis)).collect();
    AtomLayout::channels_second(&seen).transposed(&seen, &back)
}

//! Selects the layout of an input. The host converts inputs to any layout at no cost, so the first reader with a
//! preference decides.
//!
//! An operator's preference is in its row of the operator table. Unsupported operators have no preference.

use std::collections::{BTreeSet, HashMap};

use super::{layout::AtomLayout, lower, model::Node, op_registry::InputLayout};

/// Limits on the nodes visited for one input, and for all inputs together. Chosen: in a real model one of the first
/// readers has a preference, but a hostile one has thousands of inputs with thousands of readers.
const MAX_VISITS_PER_INPUT: usize = 10_000;
const MAX_VISITS: usize = 1 << 18;

/// Finds the layouts that the readers of a graph's inputs prefer.
#[derive(Debug)]
pub(super) struct PreferredLayouts<'m> {
    nodes: &'m [Node],
    readers: HashMap<&'m str, Vec<usize>>,
    /// Number of node visits that remain.
    visits_left: usize,
}

impl<'m> PreferredLayouts<'m> {
    pub(super) fn new(nodes: &'m [Node]) -> Self {
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, node) in nodes.iter().enumerate() {
            node.inputs.iter().for_each(|name| readers.entry(name).or_default().push(index));
        }
        Self { nodes, readers, visits_left: MAX_VISITS }
    }

    /// Returns the layout preferred by the first reader of input `name` that has a preference. Only visits nodes that
    /// the input's elements reach.
    pub(super) fn of_input(&mut self, name: &str, dims: &[usize]) -> AtomLayout {
        // Maps each name that carries the input's elements to the input's axes, in the order of the name's axes.
        let mut carried: HashMap<&str, Vec<usize>> = HashMap::from([(name, (0..dims.len()).collect())]);
        let mut open: BTreeSet<usize> = BTreeSet::new();
        self.next(name, 0, &mut open);
        for _ in 0..MAX_VISITS_PER_INPUT {
            // In node order, so that the first reader decides.
            let Some(index) = open.pop_first() else { break };
            let nodes = self.nodes;
            let node = &nodes[index];
            // Counted by operands, since all of them may be searched for the one that carries the input.
            let Some(visits_left) = self.visits_left.checked_sub(node.inputs.len()) else { break };
            self.visits_left = visits_left;
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
                    // Readers come later in the file. If they do not, the file is refused when its nodes are lowered.
                    self.next(output, index + 1, &mut open);
                }
            }
        }
        AtomLayout::natural(dims)
    }

    /// Adds the readers of a name from node `from` on to the queue. Each counts as a visit.
    fn next(&mut self, name: &str, from: usize, open: &mut BTreeSet<usize>) {
        let readers = self.readers.get(name).map(Vec::as_slice).unwrap_or_default();
        let readers = &readers[readers.partition_point(|&reader| reader < from)..];
        let visits = readers.len().min(self.visits_left);
        self.visits_left -= visits;
        open.extend(&readers[..visits]);
    }
}

/// Returns the layout of `dims` for which the channels are second after the axes are put into the order `axes`.
fn turned(dims: &[usize], axes: &[usize]) -> AtomLayout {
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dims.len()) {
        return AtomLayout::natural(dims);
    }
    let node_dims: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
    let back: Vec<usize> = (0..axes.len()).filter_map(|axis| axes.iter().position(|&a| a == axis)).collect();
    AtomLayout::channels_second(&node_dims).transposed(&node_dims, &back)
}

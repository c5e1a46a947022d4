//! Bounds floats that are cast to integers and only look up rows of tables.
//!
//! Keras 3 reads tokens as floats, casts them, and adds the number of rows to negative ones. The sum of an unknown
//! integer may not be exact in floats, so such a network would be refused. But a value that leads to a row is small: at
//! most the rows of the table, and the constants that are added on the way. Greater ones lead to no row, whatever they
//! are, so that they can be bounded.

use texpool_ops::graph::{Act, Binary, Epilogue, Graph, IdVec, NodeId, Op, TensorId, Unary};

/// Nodes between a cast and its tables. Real networks have about six.
const MOST_NODES: usize = 64;
/// Elements of a constant among them.
const MOST_ELEMENTS: usize = 64;
/// Greatest bound. Sums of two such values are exact in 32-bit floats.
const MOST: f32 = (1 << 22) as f32;

/// Bounds all casts on whose results only rows of tables depend.
pub(super) fn bound_index_casts(graph: &mut Graph) {
    let mut readers: IdVec<TensorId, Vec<NodeId>> = IdVec::from_elem(Vec::new(), &graph.tensors);
    let mut is_output = IdVec::from_elem(false, &graph.tensors);
    graph.outputs.iter().for_each(|&id| is_output[id] = true);
    let ids: Vec<NodeId> = (0..graph.nodes.len()).map(NodeId::new).collect();
    for &id in &ids {
        graph.nodes[id].operands().for_each(|operand| readers[operand].push(id));
    }
    let is_cast = |id: &NodeId| {
        let node = &graph.nodes[*id];
        matches!(node.op, Op::Unary(Unary::Trunc)) && node.epilogue.is_empty()
    };
    let bounds: Vec<(NodeId, f32)> = ids
        .into_iter()
        .filter(is_cast)
        .filter_map(|cast| Some((cast, bound(graph, (&readers, &is_output), cast)?)))
        .collect();
    for &(cast, most) in &bounds {
        graph.nodes[cast].epilogue = Epilogue::of(Act::Unary(Unary::Clip { min: -most, max: most }));
    }
}

/// Returns a bound of a cast's results beyond which they lead to no row. `None` if anything else depends on them.
fn bound(
    graph: &Graph,
    (readers, is_output): (&IdVec<TensorId, Vec<NodeId>>, &IdVec<TensorId, bool>),
    cast: NodeId,
) -> Option<f32> {
    let mut found = vec![graph.nodes[cast].output];
    let mut nodes: Vec<NodeId> = Vec::new();
    let mut most = 0.0;
    let mut next = 0;
    while let Some(&tensor) = found.get(next) {
        next += 1;
        if is_output[tensor] || readers[tensor].len() > MOST_NODES {
            return None;
        }
        for &id in &readers[tensor] {
            let node = &graph.nodes[id];
            let [table, index] = [0, 1].map(|position| node.inputs.get(position).copied());
            let rows = match node.op {
                Op::Gather(gather) => Some(graph.shape(table?).dims()[gather.axis]),
                Op::GatherElements(gather) => Some(graph.shape(table?).dims()[gather.axis]),
                Op::SegmentReduce(_) => Some(graph.shape(node.output).w),
                _ => None,
            };
            if let Some(rows) = rows {
                if index != Some(tensor) || table == Some(tensor) {
                    return None;
                }
                most += rows as f32;
            } else if !nodes.contains(&id) {
                if !passes(&node.op) || !node.epilogue.is_empty() || nodes.len() == MOST_NODES {
                    return None;
                }
                nodes.push(id);
                found.push(node.output);
            }
        }
    }
    // All other operands are small constants.
    let operands = nodes.iter().flat_map(|&id| &graph.nodes[id].inputs).filter(|operand| !found.contains(operand));
    for &operand in operands {
        let constant = graph.tensors[operand].constant.as_ref().filter(|constant| constant.len() <= MOST_ELEMENTS)?;
        most += constant.to_f32().iter().fold(0.0f32, |most, value| most.max(value.abs()));
    }
    (next > 1 && most > 0.0 && most < MOST).then_some(2.0 * most + 1.0)
}

/// Returns whether a function of a great integer is as great, a part of it, or a truth value.
fn passes(op: &Op) -> bool {
    match op {
        Op::Binary(binary) => {
            binary.is_truth()
                || matches!(binary, Binary::Add | Binary::Sub | Binary::Mul | Binary::ZeroUnless | Binary::ZeroIf)
        }
        Op::Unary(unary) => matches!(unary, Unary::Not | Unary::NotZero),
        op => op.moves_only(),
    }
}

//! A function found written out in several nodes, and the one node put in their place.

use super::{
    edit::{Edit, Verdict},
    site::Site,
    skip_reason::SkipReason,
    term::Value,
};
use crate::graph::{Node, NodeId, Op, TensorId, Unary};

/// How far a constant may be from what it should be: as a decimal of seven digits is, read as 32 bits.
const ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// What the nodes up to one compute, if their numbers are what they should be.
pub(super) struct PatternMatch {
    op: Op,
    x: Value,
    /// Each number that is there, and the one that should be.
    numbers: Vec<[f64; 2]>,
}

impl PatternMatch {
    pub(super) fn new(op: Op, x: Value, numbers: &[[f64; 2]]) -> Self {
        Self { op, x, numbers: numbers.to_vec() }
    }

    pub(super) fn unary(unary: Unary, x: Value, numbers: &[[f64; 2]]) -> Self {
        Self::new(Op::Unary(unary), x, numbers)
    }
}

/// What a rule that recognises a function answers: `found` is shown the value of the node without its epilogue.
pub(super) fn recognised(site: &Site, id: NodeId, found: impl Fn(&Site, Value) -> Option<PatternMatch>) -> Verdict {
    replaced(site, id, found(site, site.without_epilogue(id)))
}

/// Puts the operator found in the place of a node, and takes out the nodes between `x` and it.
pub(super) fn replaced(site: &Site, id: NodeId, found: Option<PatternMatch>) -> Verdict {
    let Some(PatternMatch { op, x, numbers }) = found else { return Ok(None) };
    let node = site.node(id);
    if site.value(x.tensor) != x || site.graph.is_constant(x.tensor) {
        return Ok(None);
    }
    let off = |[found, due]: &&[f64; 2]| (found - due).abs() > due.abs() * ROUNDING || found.is_nan();
    if let Some(&[found, due]) = numbers.iter().find(off) {
        return Err(SkipReason::OtherNumber {
            op: op.name(),
            found: (found as f32).to_string(),
            due: (due as f32).to_string(),
        });
    }
    if site.graph.shape(node.output) != site.graph.shape(x.tensor) {
        return Err(SkipReason::OtherExtents { tensor: site.name(x.tensor) });
    }
    let between = between(site, id, x.tensor)?;
    let op_index = between.iter().map(|&inner| site.node(inner).op_index).fold(node.op_index, usize::min);
    let whole = Node { op, inputs: vec![x.tensor], op_index, ..node.clone() };
    Ok(Some(between.into_iter().fold(Edit::default().put(id, whole), Edit::take_out)))
}

/// The nodes between `x` and a node's operands, if nothing that they compute is seen elsewhere.
fn between(site: &Site, id: NodeId, x: TensorId) -> Result<Vec<NodeId>, SkipReason> {
    let node = site.node(id);
    let (mut found, mut open) = (Vec::new(), node.inputs.clone());
    while let Some(tensor) = open.pop() {
        if tensor == x || site.graph.is_constant(tensor) {
            continue;
        }
        let maker = site.maker(tensor).ok_or_else(|| SkipReason::NotComputed { tensor: site.name(tensor) })?;
        if site.goes_out(tensor) {
            return Err(SkipReason::GoesOut { tensor: site.name(tensor) });
        }
        if node.epilogue.add == Some(tensor) {
            return Err(SkipReason::ReadElsewhere { tensor: site.name(tensor) });
        }
        if !found.contains(&maker) {
            found.push(maker);
            open.extend(site.node(maker).operands());
        }
    }
    let inside = |reader: &NodeId| *reader == id || found.contains(reader);
    for tensor in found.iter().map(|&inner| site.node(inner).output) {
        if !site.readers(tensor).iter().all(inside) {
            return Err(SkipReason::ReadElsewhere { tensor: site.name(tensor) });
        }
    }
    Ok(found)
}

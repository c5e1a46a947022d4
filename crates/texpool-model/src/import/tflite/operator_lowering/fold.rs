//! Folds nodes that compute from constants alone. Converters leave the arithmetic of extents in the file, and that of
//! the indices of frames.

use std::collections::HashSet;

use super::OperatorLowering;
use crate::import::{
    common::graph::NODE_BYTES,
    error::Problem,
    tflite::tensors::{FileTensor, MAX_RANK},
};
use texpool_ops::{
    graph::{Binary, Constant, IdVec, Node, Op, TensorId},
    ops::{self, reference},
};

/// Whole numbers below this are exact in floats. It is left out, because sums above it may be rounded to it.
const LIMIT: u32 = 1 << f32::MANTISSA_DIGITS;

/// Elements of lists that are always folded: two numbers for each axis.
const SHORT: usize = 2 * MAX_RANK;

/// Bytes for each element that is read or given: as a float, and as an integer to compare or to keep.
const ELEMENT_BYTES: usize = size_of::<f32>() + size_of::<i64>();

impl OperatorLowering<'_, '_> {
    /// Turns the results of the graph's nodes from `first` on into constants, if these nodes compute them from
    /// constants: short lists, whole numbers, and any constants in another shape. Others are computed in a run, so that
    /// a file cannot have weights of any size computed on import.
    pub(in crate::import::tflite) fn fold(&mut self, first: usize) -> Result<(), Problem> {
        let (graph, stated) = (&self.lowering.graph, &self.lowering.tensors);
        let new_nodes = || graph.nodes.iter().skip(first);
        let results: HashSet<TensorId> = new_nodes().map(|node| node.output).collect();
        let has_value = |id: &TensorId| graph.is_constant(*id) || stated.get(*id).is_some_and(FileTensor::has_values);
        let is_known = |id: &TensorId| graph.is_constant(*id) || results.contains(id);
        // A tensor that has a value already is reported when the graph is checked. A complex result has no value, and its
        // readers need the nodes.
        let folds = !results.is_empty()
            && !self.gives_complex
            && new_nodes().flat_map(|node| &node.inputs).all(is_known)
            && !results.iter().any(has_value);
        if !folds {
            return Ok(());
        }
        let nodes: Vec<Node> = new_nodes().cloned().collect();
        let moved = |node: &Node| matches!(node.op, Op::Reshape) && node.epilogue.is_empty();
        if nodes.iter().all(moved) {
            for node in &nodes {
                let constant = self.shared(node.inputs[0])?;
                self.lowering.graph.tensors[node.output].constant = constant;
            }
            self.lowering.graph.nodes.truncate(first);
            return Ok(());
        }
        if self.is_worth_folding(&nodes)? { self.evaluate(first, &nodes) } else { Ok(()) }
    }

    /// Returns whether folding is cheap: all lists are short, or the results are whole numbers that take a small part
    /// of the import's allowance. Charges the work.
    fn is_worth_folding(&mut self, nodes: &[Node]) -> Result<bool, Problem> {
        let graph = &self.lowering.graph;
        let elements = self.elements(nodes);
        let operations = usize::try_from(ops::operations(graph, nodes)).unwrap_or(usize::MAX);
        let steps = elements.saturating_mul(8).saturating_add(operations).saturating_add(graph.tensors.len());
        let is_short = touched(nodes).all(|id| graph.shape(id).len() <= SHORT);
        let is_whole = self.outputs.iter().all(|&id| self.is_integer(id));
        let bytes = elements.saturating_mul(ELEMENT_BYTES);
        let is_worth_it = is_short || is_whole && self.lowering.meter.spares(bytes, steps);
        if is_worth_it {
            self.lowering.meter.work(steps)?;
        }
        Ok(is_worth_it)
    }

    /// Returns the number of elements that nodes read and give.
    fn elements(&self, nodes: &[Node]) -> usize {
        touched(nodes).fold(0, |sum, id| sum.saturating_add(self.lowering.graph.shape(id).len()))
    }

    /// Computes the results, and replaces the nodes from `first` on by them unless whole numbers were rounded.
    fn evaluate(&mut self, first: usize, nodes: &[Node]) -> Result<(), Problem> {
        let before = self.lowering.meter.used_bytes();
        let elements = self.elements(nodes);
        self.lowering.meter.memory(elements.saturating_mul(ELEMENT_BYTES))?;
        let mut values = IdVec::from_elem(None, &self.lowering.graph.tensors);
        for node in nodes {
            let Ok(result) = reference::node(&self.lowering.graph, node, &values) else { return Ok(()) };
            values[node.output] = Some(result);
        }
        let is_exact = |value: &f32| value.fract() == 0.0 && value.abs() < LIMIT as f32;
        if self.outputs.iter().any(|&id| self.is_integer(id)) {
            let mut results = nodes.iter().filter_map(|node| values[node.output].as_ref());
            if !results.all(|list| list.iter().all(is_exact)) || !nodes.iter().all(|node| self.reads_exactly(node)) {
                return Ok(());
            }
        }
        let mut constants = Vec::with_capacity(self.outputs.len());
        for &id in &self.outputs {
            // A result without elements has no node.
            let Some(list) = &values[id] else { continue };
            let constant = match self.is_integer(id) {
                true => Constant::from_i32(&list.iter().map(|&value| value as i32).collect::<Vec<_>>()),
                false => Constant::from_f32(list),
            };
            constants.push((id, constant));
        }
        let kept = constants.iter().map(|(_, constant)| NODE_BYTES.saturating_add(constant.bytes.len())).sum();
        self.lowering.meter.keep(before, kept);
        self.lowering.graph.nodes.truncate(first);
        for (id, constant) in constants {
            self.lowering.graph.tensors[id].constant = Some(constant);
        }
        Ok(())
    }

    /// Returns whether floats hold the whole numbers that a node reads. Numbers above the limit may be rounded, but stay
    /// above it, so they change no result below it of a node that only selects.
    fn reads_exactly(&self, node: &Node) -> bool {
        let selects = node.op.moves_only() || matches!(node.op, Op::Binary(Binary::Minimum | Binary::Maximum));
        let is_exact = |constant: &Constant| {
            constant.to_i64().is_none_or(|list| list.iter().all(|value| value.unsigned_abs() < LIMIT.into()))
        };
        let constants = node.inputs.iter().filter_map(|&id| self.lowering.graph.tensors[id].constant.as_ref());
        selects || constants.into_iter().all(is_exact)
    }
}

/// Iterates over the tensors that nodes read and give.
fn touched(nodes: &[Node]) -> impl Iterator<Item = TensorId> {
    nodes.iter().flat_map(|node| node.inputs.iter().chain([&node.output]).copied())
}

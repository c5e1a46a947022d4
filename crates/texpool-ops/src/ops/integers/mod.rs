//! Integer arithmetic in floats: determines whether a graph computes integers exactly, and for which inputs.
//!
//! Tensors are textures of floats, which can represent every whole number up to a limit and only some beyond it. So
//! every node that computes integers from integers is checked: the bounds of its operands give the bounds of its
//! result. If these can exceed the limit, the graph's integer inputs are restricted to smaller numbers, which is
//! checked in every run. If no restriction helps, the model is rejected.

mod interval;

use crate::graph::{Binary, ElementType, Graph, IdVec, Node, Op, TensorId};
use interval::{Interval, Intervals};

/// Returns the range of integers for each input of a graph such that all nodes are exact in floats that represent
/// every whole number up to `most`. `None` for inputs that no integer node depends on, and for inputs that are not
/// integers.
///
/// # Errors
/// Fails with the nodes whose integers may be rounded for any range of inputs; at least one.
pub fn input_ranges(graph: &Graph, most: u32) -> Result<Vec<Option<[i32; 2]>>, Vec<&Node>> {
    // Fast path for most models, because a budget's search calls this for every plan that it tries.
    if graph.nodes.iter().all(|node| node.integers.is_none()) {
        return Ok(vec![None; graph.inputs.len()]);
    }
    let analysis = Analysis::new(graph, most);
    let limits = analysis.widest_limits()?;
    let range = |&id: &TensorId| {
        let limited = analysis.needed[id] && is_integer(graph, id);
        limited.then(|| limits.of(graph.tensors[id].element_type).map(|bound| bound as i32))
    };
    Ok(graph.inputs.iter().map(range).collect())
}

/// Returns the least and the greatest integer of a type.
fn bounds(element_type: ElementType) -> [f64; 2] {
    let (least, greatest) = element_type.range();
    let unsigned = element_type == ElementType::U64;
    [if unsigned { 0.0 } else { least as f64 }, greatest as f64]
}

/// Returns whether the caller passes plain integers or truth values, as opposed to floats or quantised values.
fn is_integer(graph: &Graph, id: TensorId) -> bool {
    let tensor = &graph.tensors[id];
    !tensor.element_type.is_float() && tensor.quantization.is_none()
}

/// Range of integers that inputs may hold.
#[derive(Clone, Copy)]
struct Limits {
    greatest: u32,
    /// True if they may be negative.
    signed: bool,
}

impl Limits {
    /// Returns the range of a type, restricted to these limits.
    fn of(self, element_type: ElementType) -> [f64; 2] {
        let [least, greatest] = bounds(element_type);
        let most = f64::from(self.greatest);
        [least.max(if self.signed { -most } else { 0.0 }), greatest.min(most)]
    }
}

/// Computes the consequences of limits on the inputs.
struct Analysis<'g> {
    graph: &'g Graph,
    intervals: Intervals<'g>,
    /// Largest integer up to which floats represent every whole number.
    most: u32,
    /// True for tensors that integer nodes depend on.
    needed: IdVec<TensorId, bool>,
    /// True for tensors whose integers are read as integers, by a node or by the caller. Others are only converted to
    /// floats.
    read: IdVec<TensorId, bool>,
}

impl<'g> Analysis<'g> {
    fn new(graph: &'g Graph, most: u32) -> Self {
        let mut needed = IdVec::from_elem(false, &graph.tensors);
        let mut read = IdVec::from_elem(false, &graph.tensors);
        graph.outputs.iter().for_each(|&id| read[id] = is_integer(graph, id));
        for node in graph.nodes.iter().rev() {
            if node.integers.is_some() || needed[node.output] {
                node.inputs.iter().for_each(|&id| needed[id] = true);
            }
            let reads = if node.op.moves_only() { read[node.output] } else { node.integers.is_some() };
            if reads {
                node.inputs.iter().for_each(|&id| read[id] = true);
            }
        }
        Self { graph, intervals: Intervals::new(graph), most, needed, read }
    }

    /// Returns the widest limits within which all nodes are exact, or the nodes that are not exact within any limits.
    fn widest_limits(&self) -> Result<Limits, Vec<&'g Node>> {
        let limits = |signed| move |greatest| Limits { greatest, signed };
        let exact = |limits: Limits| self.inexact(limits).is_empty();
        let any = limits(true)(self.most);
        if exact(any) {
            return Ok(any);
        }
        // Some operands, such as exponents, may have to be non-negative.
        let Some(limits) = [limits(true), limits(false)].into_iter().find(|limits| exact(limits(1))) else {
            return Err(self.inexact(limits(false)(1)));
        };
        // Wider limits give wider intervals, so a binary search works.
        let (mut within, mut beyond) = (1, self.most + 1);
        while beyond - within > 1 {
            let between = within.midpoint(beyond);
            match exact(limits(between)) {
                true => within = between,
                false => beyond = between,
            }
        }
        Ok(limits(within))
    }

    /// Returns the integer nodes that may be inexact for inputs within these limits.
    fn inexact(&self, limits: Limits) -> Vec<&'g Node> {
        let mut known = IdVec::from_elem(Interval::ANY, &self.graph.tensors);
        for &id in self.graph.inputs.iter().filter(|&&id| is_integer(self.graph, id)) {
            let [least, greatest] = limits.of(self.graph.tensors[id].element_type);
            known[id] = Interval::whole(least, greatest);
        }
        let mut found = Vec::new();
        for node in self.graph.nodes.iter().filter(|node| node.integers.is_some() || self.needed[node.output]) {
            let result = self.intervals.result(node, &known);
            known[node.output] = self.intervals.after_epilogue(node, result, &known);
            if node.integers.is_some_and(|element_type| !self.is_exact(node, element_type, result, &known)) {
                found.push(node);
            }
        }
        found
    }

    fn is_exact(
        &self,
        node: &Node,
        element_type: ElementType,
        result: Interval,
        known: &IdVec<TensorId, Interval>,
    ) -> bool {
        let [least, greatest] = bounds(element_type);
        if self.intervals.selects(node) {
            // Floats that are cast to integers have unknown values; they are allowed here.
            return least < 0.0 || result.least >= 0.0 || result.least.is_infinite();
        }
        // The operands of a quantisation are floats.
        if let Op::DynamicQuantize(_) = node.op {
            return result.least >= least && result.greatest <= greatest;
        }
        // The kernels correct quotients, so division is exact if dividend and divisor are.
        let mut operands = node.inputs.iter().map(|&id| self.intervals.of(id, known));
        let fits = |values: Interval| values.magnitude() <= f64::from(self.most);
        if self.is_converted_sum(node, element_type) && operands.clone().any(fits) {
            return true;
        }
        result.whole
            && operands.all(fits)
            && (fits(result) || self.converts(node))
            && result.least >= least
            && result.greatest <= greatest
    }

    /// Returns whether a node is a sum of 32-bit integers that is only converted to 32-bit floats. Operands of integer
    /// nodes are exact, even those without known bounds: a float that is cast to an integer remains that float. So the
    /// sum is rounded once, as the conversion would round it. One operand must have bounds, since the sum of two large
    /// integers would wrap around.
    fn is_converted_sum(&self, node: &Node, element_type: ElementType) -> bool {
        let sum = matches!(node.op, Op::Binary(Binary::Add | Binary::Sub)) && element_type == ElementType::I32;
        sum && self.most >= 1 << f32::MANTISSA_DIGITS && !self.read[node.output]
    }

    /// Returns whether a node is a product whose results are only converted to 32-bit floats. These round above 2^24,
    /// as a conversion does.
    fn converts(&self, node: &Node) -> bool {
        let product = matches!(node.op, Op::MatMul(_) | Op::FullyConnected | Op::Conv2d(_) | Op::DepthwiseConv2d(_));
        product && self.most >= 1 << f32::MANTISSA_DIGITS && !self.read[node.output]
    }
}

//! Integers that floats hold: whether what a graph computes of integers is exact, and for which inputs.
//!
//! Tensors are textures of floats, which have every whole number up to a limit and only some beyond it. So every node that
//! computes integers from integers is looked at: of the least and greatest values of its operands follow those of its
//! result. Where that may be beyond the limit, the graph's integer inputs are held to smaller numbers, which is checked in
//! every run; where no inputs would help, the model is refused.

mod interval;

use crate::graph::{ElementType, Graph, IdVec, Node, TensorId};
use interval::{Interval, Intervals};

/// The least and the greatest integer of each of a graph's inputs within which all nodes are exact in floats that hold
/// every whole number up to `most`; `None` of inputs that no such node follows from, and of those that are no integers.
///
/// # Errors
/// The nodes whose integers may be rounded whatever the inputs are; at least one.
pub(crate) fn input_ranges(graph: &Graph, most: u32) -> Result<Vec<Option<[i32; 2]>>, Vec<&Node>> {
    // Of most models: a budget's search asks for every plan that it tries.
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

/// Least and greatest integer of a type.
fn bounds(element_type: ElementType) -> [f64; 2] {
    let (least, greatest) = element_type.range();
    let unsigned = element_type == ElementType::U64;
    [if unsigned { 0.0 } else { least as f64 }, greatest as f64]
}

/// Whether a caller has integers that stand for themselves there, or truth values.
fn is_integer(graph: &Graph, id: TensorId) -> bool {
    let tensor = &graph.tensors[id];
    !tensor.element_type.is_float() && tensor.quantization.is_none()
}

/// Which integers inputs may hold.
#[derive(Clone, Copy)]
struct Limits {
    greatest: u32,
    /// Whether they may be below zero.
    signed: bool,
}

impl Limits {
    /// The least and the greatest integer of a type within them.
    fn of(self, element_type: ElementType) -> [f64; 2] {
        let [least, greatest] = bounds(element_type);
        let most = f64::from(self.greatest);
        [least.max(if self.signed { -most } else { 0.0 }), greatest.min(most)]
    }
}

/// What follows from the inputs' limits.
struct Analysis<'g> {
    graph: &'g Graph,
    intervals: Intervals<'g>,
    /// The greatest whole number that floats hold together with all smaller ones.
    most: u32,
    /// The tensors that nodes of integers follow from.
    needed: IdVec<TensorId, bool>,
}

impl<'g> Analysis<'g> {
    fn new(graph: &'g Graph, most: u32) -> Self {
        let mut needed = IdVec::from_elem(false, &graph.tensors);
        for node in graph.nodes.iter().rev() {
            if node.integers.is_some() || needed[node.output] {
                node.inputs.iter().for_each(|&id| needed[id] = true);
            }
        }
        Self { graph, intervals: Intervals::new(graph), most, needed }
    }

    /// The widest limits within which all nodes are exact; or the nodes that are not within any.
    fn widest_limits(&self) -> Result<Limits, Vec<&'g Node>> {
        let limits = |signed| move |greatest| Limits { greatest, signed };
        let exact = |limits: Limits| self.inexact(limits).is_empty();
        let any = limits(true)(self.most);
        if exact(any) {
            return Ok(any);
        }
        // Exponents and what is taken from others may have to be no less than zero.
        let Some(limits) = [limits(true), limits(false)].into_iter().find(|limits| exact(limits(1))) else {
            return Err(self.inexact(limits(false)(1)));
        };
        // Intervals grow with those that they follow from.
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

    /// The nodes of integers that may not be exact where inputs are within limits.
    fn inexact(&self, limits: Limits) -> Vec<&'g Node> {
        let mut known = IdVec::from_elem(Interval::ANY, &self.graph.tensors);
        for &id in self.graph.inputs.iter().filter(|&&id| is_integer(self.graph, id)) {
            let [least, greatest] = limits.of(self.graph.tensors[id].element_type);
            known[id] = Interval::whole(least, greatest);
        }
        let mut found = Vec::new();
        for node in self.graph.nodes.iter().filter(|node| node.integers.is_some() || self.needed[node.output]) {
            let result = self.intervals.result(node, &known);
            known[node.output] = result;
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
            // Of floats that are cast to integers nothing is known, nor is it asked for here.
            return least < 0.0 || result.least >= 0.0 || result.least.is_infinite();
        }
        // Division puts its quotient right where dividend and divisor are exact.
        let operands = node.inputs.iter().map(|&id| self.intervals.of(id, known));
        let most = f64::from(self.most);
        result.whole
            && operands.chain([result]).all(|values| values.magnitude() <= most)
            && result.least >= least
            && result.greatest <= greatest
    }
}

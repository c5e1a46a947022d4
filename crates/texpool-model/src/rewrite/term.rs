//! Represents values as terms: functions of other values, computed by a node or by an epilogue. Rules that recognise
//! functions written out as several nodes match on terms.

use super::{context::RewriteContext, numerics::MAX_ABSORBED};
use texpool_ops::graph::{Act, Binary, NodeId, Op, Reduce, ReduceKind, TensorId, Unary};

/// A tensor, or an intermediate value of its producer's epilogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueRef {
    pub(super) tensor: TensorId,
    /// Number of epilogue stages already applied: 0 for none, 1 after the first function, 2 after the addition, 3
    /// after all.
    stage: usize,
}

/// The operation that computes a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Term {
    Unary(Unary, ValueRef),
    Binary(Binary, ValueRef, ValueRef),
    /// A reduction over the marked axes.
    Reduce(ReduceKind, [bool; 4], ValueRef),
    /// Any other operation, an input or a constant.
    Other,
}

/// A product of a number and values.
pub(super) struct Product {
    pub(super) factor: f64,
    pub(super) values: Vec<ValueRef>,
}

/// A sum of a number and values.
pub(super) struct Sum {
    pub(super) number: f64,
    pub(super) values: Vec<ValueRef>,
}

/// Limit on the operands of a product or sum. No function recognised here has more.
const MAX_OPERANDS: usize = 8;
/// Limit on the terms visited for one product or sum. Without it, every node in a chain of thousands of additions
/// would visit all those before it.
const MAX_TERMS: usize = 32;

impl RewriteContext {
    /// Returns the value of a tensor as it is stored.
    pub(super) fn value(&self, tensor: TensorId) -> ValueRef {
        let mut stage = 3;
        if let Some(producer) = self.producer(tensor) {
            let epilogue = self.node(producer).epilogue;
            let nothing = [true, epilogue.first == Act::None, epilogue.add.is_none(), epilogue.then == Act::None];
            // Uses the earliest stage at which the value is complete, so that equal values compare equal.
            while stage > 0 && nothing[stage] {
                stage -= 1;
            }
        }
        ValueRef { tensor, stage }
    }

    /// Returns the result of a node before its epilogue.
    pub(super) fn without_epilogue(&self, id: NodeId) -> ValueRef {
        ValueRef { tensor: self.node(id).output, stage: 0 }
    }

    pub(super) fn term(&self, value: ValueRef) -> Term {
        let Some(producer) = self.producer(value.tensor) else { return Term::Other };
        let node = self.node(producer);
        let act = match value.stage {
            0 => return self.node_term(producer),
            1 => node.epilogue.first,
            3 => node.epilogue.then,
            _ => return Term::Other,
        };
        let before = match (value.stage, node.epilogue.add, node.epilogue.first) {
            (3, Some(_), _) => 2,
            (3, None, first) if first != Act::None => 1,
            _ => 0,
        };
        match act {
            Act::Unary(unary) => Term::Unary(unary, ValueRef { stage: before, ..value }),
            Act::None | Act::Prelu(_) | Act::Plus(_) | Act::Times(_) | Act::DividedBy(_) | Act::Requantize(_) => {
                Term::Other
            }
        }
    }

    fn node_term(&self, id: NodeId) -> Term {
        let node = self.node(id);
        match (&node.op, &node.inputs[..]) {
            (&Op::Unary(unary), &[x]) => Term::Unary(unary, self.value(x)),
            (&Op::Binary(binary), &[a, b]) => Term::Binary(binary, self.value(a), self.value(b)),
            (&Op::Reduce(Reduce { kind, axes }), &[x]) => Term::Reduce(kind, axes, self.value(x)),
            (Op::Pool2d(pool), &[x]) if pool.is_mean_of(self.graph.shape(x)) => {
                Term::Reduce(ReduceKind::Mean, [false, true, true, false], self.value(x))
            }
            _ => Term::Other,
        }
    }

    /// Returns the number that all elements of a constant have.
    pub(super) fn number(&self, value: ValueRef) -> Option<f64> {
        self.uniform_value(value.tensor).map(f64::from)
    }

    /// Looks through a Tile node, which some exporters insert although the operator would broadcast. Other values are
    /// returned unchanged. The caller must check that the extents of the final result still match.
    pub(super) fn unrepeated(&self, value: ValueRef) -> ValueRef {
        let producer = self.producer(value.tensor).map(|producer| self.node(producer));
        match producer.map(|node| (&node.op, &node.inputs[..])) {
            Some((Op::Tile, &[x])) if value.stage == 0 => self.value(x),
            _ => value,
        }
    }

    /// Returns whether a value may be decomposed as an operand of `whole`. It must be `whole` itself, or have no
    /// other readers.
    fn part_of(&self, value: ValueRef, whole: ValueRef) -> bool {
        value == whole || self.readers(value.tensor).len() == 1
    }

    /// Decomposes a value into a product. Handles multiplication, division by a number, negation, and powers of 2 and
    /// 3.
    pub(super) fn product(&self, whole: ValueRef) -> Product {
        let (mut factor, mut values, mut open) = (1.0, Vec::new(), vec![whole]);
        let mut seen = 0;
        while let Some(value) = open.pop() {
            seen += 1;
            if let Some(number) = self.number(value) {
                factor *= number;
                continue;
            }
            let part = seen <= MAX_TERMS && self.part_of(value, whole);
            let term = if part { self.term(value) } else { Term::Other };
            let full = open.len() + values.len() >= MAX_OPERANDS;
            match term {
                // Pushed in reverse, so that `pop` returns the operands in their original order.
                Term::Binary(Binary::Mul, a, b) if !full => open.extend([b, a]),
                Term::Unary(Unary::Neg, x) => {
                    factor = -factor;
                    open.push(x);
                }
                Term::Unary(Unary::Square, x) if !full => open.extend([x; 2]),
                Term::Binary(binary @ (Binary::Div | Binary::Pow), x, by) => match (binary, self.number(by)) {
                    (Binary::Div, Some(number)) => {
                        factor /= number;
                        open.push(x);
                    }
                    (Binary::Pow, Some(2.0)) if !full => open.extend([x; 2]),
                    (Binary::Pow, Some(3.0)) if !full => open.extend([x; 3]),
                    _ => values.push(value),
                },
                _ => values.push(value),
            }
        }
        Product { factor, values }
    }

    /// Decomposes a value into a sum. Returns the value itself if numbers in the sum round on purpose.
    pub(super) fn sum(&self, whole: ValueRef) -> Sum {
        let (mut number, mut values, mut open) = (0.0, Vec::new(), vec![whole]);
        let mut seen = 0;
        let mut largest: f64 = 0.0;
        while let Some(value) = open.pop() {
            seen += 1;
            if let Some(addend) = self.number(value) {
                number += addend;
                largest = largest.max(addend.abs());
                continue;
            }
            let part = seen <= MAX_TERMS && self.part_of(value, whole);
            let term = if part { self.term(value) } else { Term::Other };
            let full = open.len() + values.len() >= MAX_OPERANDS;
            match term {
                Term::Binary(Binary::Add, a, b) if !full => open.extend([b, a]),
                Term::Binary(Binary::Sub, x, by) => match self.number(by) {
                    Some(addend) => {
                        number -= addend;
                        largest = largest.max(addend.abs());
                        open.push(x);
                    }
                    None => values.push(value),
                },
                _ => values.push(value),
            }
        }
        // Numbers that are added and then subtracted may be there to round.
        if largest > MAX_ABSORBED * number.abs().max(1.0) {
            return Sum { number: 0.0, values: vec![whole] };
        }
        Sum { number, values }
    }

    /// Returns the axes with more than one element that a mean is taken over, and its operand. Also merges means of
    /// means.
    pub(super) fn mean(&self, value: ValueRef) -> Option<([bool; 4], ValueRef)> {
        let Term::Reduce(ReduceKind::Mean, mut axes, mut x) = self.term(value) else { return None };
        // There are four axes, so with more nested means some have no effect. Without this limit every node in a
        // chain of thousands would visit all those before it.
        for _ in 0..axes.len() {
            let Term::Reduce(ReduceKind::Mean, more, inner) = self.term(x) else { break };
            axes = std::array::from_fn(|axis| axes[axis] || more[axis]);
            x = inner;
        }
        Some((self.long(axes, x), x))
    }

    /// Returns the marked axes along which a value has more than one element.
    pub(super) fn long(&self, axes: [bool; 4], x: ValueRef) -> [bool; 4] {
        let dims = self.graph.shape(x.tensor).dims();
        std::array::from_fn(|axis| axes[axis] && dims[axis] > 1)
    }
}

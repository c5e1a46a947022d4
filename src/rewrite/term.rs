//! Values as terms: which function of which other values they are, whether a node computes it or an epilogue. The rules
//! that recognise a function written out in several nodes match on these.

use super::{context::RewriteContext, numerics::MAX_ABSORBED};
use crate::graph::{Act, Binary, NodeId, Op, Reduce, ReduceKind, TensorId, Unary};

/// A tensor, or an intermediate value of its producer's epilogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueRef {
    pub(super) tensor: TensorId,
    /// How much is done: nothing of the epilogue, its first function, its addition, all.
    stage: usize,
}

/// What is computed last to give a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Term {
    One(Unary, ValueRef),
    Two(Binary, ValueRef, ValueRef),
    /// A function of all values along the axes marked.
    Over(ReduceKind, [bool; 4], ValueRef),
    /// Anything else, or nothing: an input or constant.
    Other,
}

/// A product: a number, and the values multiplied with it.
pub(super) struct Product {
    pub(super) factor: f64,
    pub(super) values: Vec<ValueRef>,
}

/// A sum: a number, and the values added to it.
pub(super) struct Sum {
    pub(super) number: f64,
    pub(super) values: Vec<ValueRef>,
}

/// Operands that a product or sum is collected up to: more than any function known here has.
const MAX_OPERANDS: usize = 8;
/// Terms that are visited for them. Without a bound every node of a chain of thousands of additions would visit all
/// those before it.
const MAX_TERMS: usize = 32;

impl RewriteContext {
    /// A tensor as it is stored.
    pub(super) fn value(&self, tensor: TensorId) -> ValueRef {
        let mut stage = 3;
        if let Some(producer) = self.producer(tensor) {
            let epilogue = self.node(producer).epilogue;
            let nothing = [true, epilogue.first == Act::None, epilogue.add.is_none(), epilogue.then == Act::None];
            // The earliest stage at which the value is complete, so that one value has one name.
            while stage > 0 && nothing[stage] {
                stage -= 1;
            }
        }
        ValueRef { tensor, stage }
    }

    /// What a node computes, its epilogue left out.
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
            (3, None, Act::Unary(_) | Act::Prelu(_)) => 1,
            _ => 0,
        };
        match act {
            Act::Unary(unary) => Term::One(unary, ValueRef { stage: before, ..value }),
            Act::None | Act::Prelu(_) => Term::Other,
        }
    }

    fn node_term(&self, id: NodeId) -> Term {
        let node = self.node(id);
        match (&node.op, &node.inputs[..]) {
            (&Op::Unary(unary), &[x]) => Term::One(unary, self.value(x)),
            (&Op::Binary(binary), &[a, b]) => Term::Two(binary, self.value(a), self.value(b)),
            (&Op::Reduce(Reduce { kind, axes }), &[x]) => Term::Over(kind, axes, self.value(x)),
            (Op::Pool2d(pool), &[x]) if pool.is_mean_of(self.graph.shape(x)) => {
                Term::Over(ReduceKind::Mean, [false, true, true, false], self.value(x))
            }
            _ => Term::Other,
        }
    }

    /// The one number that a constant is.
    pub(super) fn number(&self, value: ValueRef) -> Option<f64> {
        self.uniform_value(value.tensor).map(f64::from)
    }

    /// What a value repeats along axes, where an exporter writes out the repeating that an operator would do by itself; the
    /// value itself where nothing is repeated. Whoever uses it checks that the result has the extents that it had.
    pub(super) fn unrepeated(&self, value: ValueRef) -> ValueRef {
        let producer = self.producer(value.tensor).map(|producer| self.node(producer));
        match producer.map(|node| (&node.op, &node.inputs[..])) {
            Some((Op::Tile, &[x])) if value.stage == 0 => self.value(x),
            _ => value,
        }
    }

    /// Whether a value may be taken apart as an operand of `whole`: it is the whole, or nobody else reads it.
    fn part_of(&self, value: ValueRef, whole: ValueRef) -> bool {
        value == whole || self.readers(value.tensor).len() == 1
    }

    /// A value as a product. Quotients by a number, negations and whole powers are products too.
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
                // The other way round, so that `pop` finds them as they are written.
                Term::Two(Binary::Mul, a, b) if !full => open.extend([b, a]),
                Term::One(Unary::Neg, x) => {
                    factor = -factor;
                    open.push(x);
                }
                Term::One(Unary::Square, x) if !full => open.extend([x; 2]),
                Term::Two(binary @ (Binary::Div | Binary::Pow), x, by) => match (binary, self.number(by)) {
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

    /// A value as a sum, of itself alone where numbers in it round on purpose.
    pub(super) fn sum(&self, whole: ValueRef) -> Sum {
        let (mut number, mut values, mut open) = (0.0, Vec::new(), vec![whole]);
        let mut seen = 0;
        let mut largest: f64 = 0.0;
        while let Some(value) = open.pop() {
            seen += 1;
            if let Some(known) = self.number(value) {
                number += known;
                largest = largest.max(known.abs());
                continue;
            }
            let part = seen <= MAX_TERMS && self.part_of(value, whole);
            let term = if part { self.term(value) } else { Term::Other };
            let full = open.len() + values.len() >= MAX_OPERANDS;
            match term {
                Term::Two(Binary::Add, a, b) if !full => open.extend([b, a]),
                Term::Two(Binary::Sub, x, by) => match self.number(by) {
                    Some(known) => {
                        number -= known;
                        largest = largest.max(known.abs());
                        open.push(x);
                    }
                    None => values.push(value),
                },
                _ => values.push(value),
            }
        }
        // Numbers that are added and taken off again may be there to round.
        if largest > MAX_ABSORBED * number.abs().max(1.0) {
            return Sum { number: 0.0, values: vec![whole] };
        }
        Sum { number, values }
    }

    /// The axes of more than one element that a mean is taken over, and of what; also one of means.
    pub(super) fn mean(&self, value: ValueRef) -> Option<([bool; 4], ValueRef)> {
        let Term::Over(ReduceKind::Mean, mut axes, mut x) = self.term(value) else { return None };
        // There are four axes, so of more means some change nothing. Without a bound every node of a chain of thousands
        // would visit all those before it.
        for _ in 0..axes.len() {
            let Term::Over(ReduceKind::Mean, more, inner) = self.term(x) else { break };
            axes = std::array::from_fn(|axis| axes[axis] || more[axis]);
            x = inner;
        }
        Some((self.long(axes, x), x))
    }

    /// The axes marked along which a value has more than one element.
    pub(super) fn long(&self, axes: [bool; 4], x: ValueRef) -> [bool; 4] {
        let dims = self.graph.shape(x.tensor).dims();
        std::array::from_fn(|axis| axes[axis] && dims[axis] > 1)
    }
}

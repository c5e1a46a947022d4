//! Every kernel against its CPU reference in a hostile pool. Needs an adapter.

#![cfg(test)]

mod all;
mod boxes;
mod conv;
mod dynamic_quantize;
mod elementwise;
mod functions;
mod grid_sample;
mod harness;
mod lines;
mod misfits;
mod moves;
mod no_number;
mod quantized_add;
mod recurrent;
mod requantize;
mod rng;
mod segments;
mod windows;
mod winograd;

use rng::Rng;
use texpool_ops::graph::{Act, Binary, Epilogue, Op, Shape, Unary};

use crate::support::graphs::{Source, add_tensor, n, one_node};

/// Functions of two values that answer yes or no, as one or zero.
const TRUTHS: [Binary; 9] = [
    Binary::Equal,
    Binary::NotEqual,
    Binary::Less,
    Binary::LessEqual,
    Binary::Greater,
    Binary::GreaterEqual,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];

/// An operand that is computed.
fn placed(dims: [usize; 4]) -> Source {
    Source::Input(dims.into())
}

/// An operand that is part of the model.
fn constant(dims: [usize; 4]) -> Source {
    let shape = Shape::from(dims);
    Source::Constant(shape, Rng::new(shape.len() as u64).values(shape.len()))
}

/// A case without an epilogue.
fn case(harness: &mut harness::Harness, op: Op, operands: &[Source], out: [usize; 4]) {
    harness.check(&one_node(op, operands, out.into(), Epilogue::default()));
}

/// The epilogues that families are tried with: an activation, PReLU, arithmetic with constants, an added tensor of as many
/// or of fewer channels.
fn epilogues(harness: &mut harness::Harness, op: &Op, operands: &[Source], out: [usize; 4], may_add: bool) {
    let shape = Shape::from(out);
    let relu = Act::Unary(Unary::Relu6);
    let plain = one_node(op.clone(), operands, shape, Epilogue::of(relu));
    harness.check(&plain);
    let mut with_prelu = plain.clone();
    let alphas = Rng::new(5).values(shape.c);
    let alpha = add_tensor(
        &mut with_prelu,
        Shape::new(1, 1, 1, shape.c),
        Some(texpool_ops::graph::Constant::from_f32(&alphas)),
    );
    with_prelu.nodes[n(0)].epilogue =
        Epilogue { first: Act::Unary(Unary::LeakyRelu { alpha: 0.5 }), add: None, then: Act::Prelu(alpha) };
    harness.check(&with_prelu);
    let divisors: Vec<f32> = alphas.iter().map(|alpha| alpha.abs() + 0.5).collect();
    let mut with_constants = with_prelu.clone();
    let divisor = add_tensor(
        &mut with_constants,
        Shape::new(1, 1, 1, shape.c),
        Some(texpool_ops::graph::Constant::from_f32(&divisors)),
    );
    for (first, then) in [(Act::Times(alpha), Act::Plus(divisor)), (Act::DividedBy(divisor), Act::None)] {
        with_constants.nodes[n(0)].epilogue = Epilogue { first, add: None, then };
        harness.check(&with_constants);
    }
    if may_add {
        for c in [shape.c, shape.c.div_ceil(2)] {
            let mut graph = with_prelu.clone();
            let add = add_tensor(&mut graph, Shape { c, ..shape }, None);
            graph.inputs.push(add);
            graph.nodes[n(0)].epilogue = Epilogue { first: Act::Prelu(alpha), add: Some(add), then: relu };
            harness.check(&graph);
        }
    }
}

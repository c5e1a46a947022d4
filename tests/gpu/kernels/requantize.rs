//! Requantisation of sums in every kernel of layers, in both arithmetics: the integers equal the reference's.

use texpool_ops::graph::{
    Act, Binary, Constant, Conv2d, DepthwiseConv2d, Epilogue, FixedPoint, Op, Padding, Requantization, Requantize,
    Shape, TransposeConv,
};

use super::{Source, harness::Harness, one_node, placed, rng::Rng};
use crate::support::graphs::{add_tensor, n};

const AROUND: Padding = Padding { top: 1, bottom: 1, left: 1, right: 1 };

/// Whole numbers from -127 to 127.
fn integers(seed: u64, count: usize) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.below(255) as f32 - 127.0).collect()
}

/// An operand of integers that is part of the model.
fn weights(dims: [usize; 4]) -> Source {
    let shape = Shape::from(dims);
    Source::Constant(shape, integers(7, shape.len()))
}

/// Factors with every digit, addends of either sign, and ratios such that results spread over eight bits.
fn factors(arithmetic: Requantization, channels: usize, largest: f64) -> Constant {
    let ratio = |c: usize| 100.0 / largest * (1.0 + 0.37 * (c % 7) as f64);
    let addend = |c: usize| [-2, 1, 0, 3_000, -1_700][c % 5] * Requantize::ADDEND_STEP;
    match arithmetic {
        Requantization::Fixed => {
            let channels: Vec<_> = (0..channels).map(|c| (addend(c), FixedPoint::new(ratio(c)))).collect();
            Requantize::fixed(&channels)
        }
        Requantization::Float => {
            let channels: Vec<_> = (0..channels).map(|c| (addend(c), ratio(c) as f32)).collect();
            Requantize::float(&channels)
        }
    }
}

#[test]
fn sums_become_integers() {
    let conv = |stride, padding, groups| Op::Conv2d(Conv2d { stride, dilation: [1, 1], padding, groups });
    let none = Padding::default();
    let layers = [
        (conv([1, 1], none, 1), vec![placed([1, 4, 9, 20]), weights([13, 1, 1, 20])], [1, 4, 9, 13]),
        (conv([1, 1], AROUND, 1), vec![placed([1, 5, 6, 9]), weights([6, 3, 3, 9])], [1, 5, 6, 6]),
        (conv([2, 2], AROUND, 1), vec![placed([1, 8, 9, 3]), weights([10, 3, 3, 3])], [1, 4, 5, 10]),
        (conv([1, 1], none, 2), vec![placed([1, 3, 4, 16]), weights([8, 2, 2, 8])], [1, 2, 3, 8]),
        (
            Op::DepthwiseConv2d(DepthwiseConv2d(Conv2d {
                stride: [1, 1],
                dilation: [1, 1],
                padding: AROUND,
                groups: 1,
            })),
            vec![placed([1, 5, 6, 10]), weights([1, 3, 3, 10])],
            [1, 5, 6, 10],
        ),
        (Op::FullyConnected, vec![placed([1, 1, 3, 50]), weights([1, 1, 11, 50])], [1, 1, 3, 11]),
        (
            Op::TransposeConv(TransposeConv::plain([2, 2], none)),
            vec![placed([1, 3, 3, 5]), weights([6, 2, 2, 5])],
            [1, 6, 6, 6],
        ),
        (Op::Binary(Binary::Mul), vec![placed([1, 3, 5, 7]), weights([1, 3, 5, 7])], [1, 3, 5, 7]),
        (Op::Binary(Binary::Mul), vec![placed([1, 3, 5, 7]), placed([1, 3, 5, 7])], [1, 3, 5, 7]),
    ];
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 60.0).round());
    for (op, operands, out) in layers {
        for arithmetic in [Requantization::Fixed, Requantization::Float] {
            let out = Shape::from(out);
            let plain = one_node(op.clone(), &operands, out, Epilogue::default());
            let largest = if matches!(op, Op::Binary(_)) { 14_400.0 } else { 60_000.0 };
            let mut graph = plain;
            let constant = factors(arithmetic, out.c, largest);
            let tensor = add_tensor(&mut graph, Shape::new(1, 1, Requantize::ROWS, out.c), Some(constant));
            let act = Requantize { factors: tensor, arithmetic, least: -128, most: 127 };
            graph.nodes[n(0)].epilogue = Epilogue::of(Act::Requantize(act));
            harness.check(&graph);
            graph.nodes[n(0)].epilogue = Epilogue { first: Act::None, add: None, then: Act::Requantize(act) };
            harness.check(&graph);
        }
    }
}

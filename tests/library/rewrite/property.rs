//! Graphs nobody would draw: the rewritten graph answers as the graph does, under any choice of rules.

use proptest::prelude::*;
use texpool::{
    graph::{Act, Binary, Graph, Op, Padding, Pool2d, PoolKind, Shape, TensorId, Unary},
    rewrite::{RULES, Rules},
};

use super::support::{Net, RELU, rewritten};

/// One node: what it is, which tensors it reads, and a number that decides the rest.
type Draw = (usize, usize, usize, usize);

const UNARY: [Unary; 6] =
    [Unary::Relu, Unary::Relu6, Unary::Tanh, Unary::Logistic, Unary::HardSwish, Unary::LeakyRelu { alpha: 0.2 }];
const BINARY: [Binary; 4] = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Maximum];

/// Adds a node to the net if what was drawn fits; gives its result.
fn grow(net: &mut Net, made: &[TensorId], (kind, a, b, n): Draw) -> Option<TensorId> {
    // The latest tensors are the likeliest, so that chains come about.
    let recent = |i: usize| made[made.len() - 1 - (i * i / 12).min(made.len() - 1)];
    let x = recent(a);
    let shape = net.shape(x);
    let alike = made.iter().rev().copied().filter(|&t| net.shape(t) == shape).nth(b % 3);
    let image = shape.h <= 12 && shape.w <= 12 && shape.c <= 24;
    Some(match kind {
        0 => net.conv(x, 1 + n % 8, 1),
        1 if image => net.conv(x, shape.c, 1),
        2 if image => net.conv(x, 1 + n % 5, 3),
        3 if image => net.depthwise(x),
        4 | 5 => net.unary(UNARY[n % UNARY.len()], x),
        6 => {
            let alpha = net.weights(if n.is_multiple_of(2) { vec![1] } else { vec![shape.c] }.as_slice());
            net.node(Op::Prelu, &[x, alpha])
        }
        7 | 8 => net.add(x, alike?),
        9 => net.node_to(Op::Binary(Binary::Add), &[alike?, x], &[1], RELU),
        10 | 19 => {
            let c = net.weights(if n.is_multiple_of(2) { vec![1] } else { vec![shape.c] }.as_slice());
            let binary = BINARY[n % BINARY.len()];
            if b.is_multiple_of(2) { net.binary(binary, x, c) } else { net.binary(binary, c, x) }
        }
        11 if image => net.pad(x, [0, n % 2, b % 2, 0], [0, 1, n % 3, 0]),
        12 if image => {
            let y = net.conv(x, shape.c + 1 + n % 4, 1);
            let padded = net.pad(x, [0; 4], [0, 0, 0, 1 + n % 4]);
            if b.is_multiple_of(2) { net.add(padded, y) } else { net.add(y, padded) }
        }
        13 => net.reshape(x, &[Shape::new(1, 1, 1, shape.len()), flat(shape), shape][n % 3].dims()),
        14 => {
            let rows = if shape.len().is_multiple_of(2) { 2 } else { 1 };
            let weights = net.weights(&[1 + n % 6, shape.len() / rows]);
            net.node_to(Op::FullyConnected, &[x, weights], &[rows, 1 + n % 6], Act::None)
        }
        15 if shape.h > 1 && shape.w > 1 => {
            let kind = if n.is_multiple_of(2) { PoolKind::Max } else { PoolKind::Average };
            let pool = Pool2d::plain(kind, [2, 2], [1 + b % 2; 2], Padding::default());
            net.node(Op::Pool2d(pool), &[x])
        }
        16 => net.node(Op::Transpose { perm: [[0, 2, 1, 3], [0, 1, 3, 2], [1, 0, 2, 3]][n % 3] }, &[x]),
        17 if image => net.node(Op::Concat { axis: 3 }, &[x, alike?]),
        18 => net.node(Op::Concat { axis: n % 4 }, &[x]),
        20 if image => {
            let acts = [Act::None, RELU, Act::Unary(Unary::Tanh)];
            net.node_to(Op::Concat { axis: n % 4 }, &[x, alike?], &[1], acts[b % 3])
        }
        21 if image => {
            let zeros = net.constant(&shape.dims(), &vec![0.0; shape.len()]);
            let parts = [[zeros, x, zeros], [x, zeros, alike?]][b % 2];
            net.node(Op::Concat { axis: n % 4 }, &parts[n % 2..])
        }
        _ => return None,
    })
}

/// Every pixel a column of one row.
fn flat(shape: Shape) -> Shape {
    Shape::new(1, 1, shape.pixels(), shape.c)
}

fn graphs() -> impl Strategy<Value = Graph> {
    let draw = (0..22_usize, 0..7_usize, 0..6_usize, 0..60_usize);
    (prop::collection::vec(draw, 1..20), 0..3_usize, prop::bool::ANY).prop_map(|(draws, extra, two)| {
        let mut net = Net::default();
        let mut made = vec![net.input(&[1, 4, 3, 4])];
        if two {
            made.push(net.input(&[1, 4, 3, 4]));
        }
        let inputs = made.len();
        for draw in draws {
            if let Some(tensor) = grow(&mut net, &made, draw) {
                made.push(tensor);
            }
        }
        if made.len() == inputs {
            made.push(net.relu(made[0]));
        }
        let mut outputs = vec![made[made.len() - 1]];
        let unread: Vec<TensorId> = made[inputs..made.len() - 1].iter().copied().filter(|&t| !net.is_read(t)).collect();
        outputs.extend(unread.into_iter().skip(extra));
        net.finish(&outputs)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn all_rules_together_keep_the_answers(graph in graphs()) {
        let made = rewritten(&graph, &Rules::all());
        prop_assert!(made.report.nodes_after <= graph.nodes.len());
        let again = rewritten(&made.graph, &Rules::all());
        prop_assert_eq!(again.report.fired.len(), 0, "rewriting twice finds nothing more");
    }

    #[test]
    fn any_choice_of_rules_keeps_the_answers(graph in graphs(), on in prop::collection::vec(prop::bool::ANY, RULES.len())) {
        let names: Vec<&str> = Rules::names().zip(&on).filter_map(|(name, on)| on.then_some(name)).collect();
        rewritten(&graph, &Rules::only(&names).unwrap());
    }
}

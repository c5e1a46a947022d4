//! Random graphs: the rewritten graph gives the same answers as the original, under any choice of rules.

use proptest::prelude::*;
use texpool_model::rewrite::{Numerics, RULES, Rules, rewrite};
use texpool_ops::{
    graph::{
        Act, Binary, Concat, Graph, MatMul, Op, Padding, Pool2d, PoolKind, Reduce, ReduceKind, Resize, ResizeMode,
        Shape, TensorId, Transpose, Unary,
    },
    ops::reference,
};

use super::support::{Net, RELU, rewritten};

/// One random node: its kind, the tensors that it reads, and a number for all other choices.
type Draw = (usize, usize, usize, usize);

const UNARY: [Unary; 6] =
    [Unary::Relu, Unary::Relu6, Unary::Tanh, Unary::Logistic, Unary::HardSwish, Unary::LeakyRelu { alpha: 0.2 }];
const BINARY: [Binary; 4] = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Maximum];

/// Adds the drawn node to the net if it fits, and returns its result.
fn grow(net: &mut Net, tensors: &[TensorId], (kind, a, b, n): Draw) -> Option<TensorId> {
    // Recent tensors are the most likely, so that chains arise.
    let recent = |i: usize| tensors[tensors.len() - 1 - (i * i / 12).min(tensors.len() - 1)];
    let x = recent(a);
    let shape = net.shape(x);
    let alike = tensors.iter().rev().copied().filter(|&t| net.shape(t) == shape).nth(b % 3);
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
        16 => net.node(Op::Transpose(Transpose { perm: [[0, 2, 1, 3], [0, 1, 3, 2], [1, 0, 2, 3]][n % 3] }), &[x]),
        17 if image => net.node(Op::Concat(Concat { axis: 3 }), &[x, alike?]),
        18 => net.node(Op::Concat(Concat { axis: n % 4 }), &[x]),
        20 if image => {
            let acts = [Act::None, RELU, Act::Unary(Unary::Tanh)];
            net.node_to(Op::Concat(Concat { axis: n % 4 }), &[x, alike?], &[1], acts[b % 3])
        }
        21 if image => {
            let zeros = net.constant(&shape.dims(), &vec![0.0; shape.len()]);
            let parts = [[zeros, x, zeros], [x, zeros, alike?]][b % 2];
            net.node(Op::Concat(Concat { axis: n % 4 }), &parts[n % 2..])
        }
        // Patterns that exact rules recognise: quotients by powers of two, bounds, masks with one value, slices,
        // equal sizes.
        22 => {
            let c = net.constant(&[1], &[[2.0, -8.0, 0.125, 3.0][n % 4]]);
            net.binary(Binary::Div, x, c)
        }
        23 => {
            let c = net.constant(&[1], &[[0.0, 6.0, -1.0, -0.0, 1.0][n % 5]]);
            let binary = [Binary::Maximum, Binary::Minimum][b % 2];
            if a.is_multiple_of(2) { net.binary(binary, x, c) } else { net.binary(binary, c, x) }
        }
        24 => {
            let c = net.constant(&[1], &[[0.0, 1.0][n % 2]]);
            net.binary([Binary::ZeroUnless, Binary::ZeroIf][b % 2], c, x)
        }
        25 => {
            let binary = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div][b % 4];
            let c = net.constant(&[1], &[if binary == Binary::Div { 1.0 } else { [0.0, -0.0, 1.0][n % 3] }]);
            net.binary(binary, x, c)
        }
        26 => {
            let axes = [shape.b == 1, false, false, shape.c == 1];
            let kind = [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod][n % 5];
            net.node(Op::Reduce(Reduce { kind, axes }), &[x])
        }
        27 if shape.h > 0 => {
            let coords = texpool_ops::graph::CoordMode::HalfPixel;
            let mode = [ResizeMode::Linear, ResizeMode::nearest_in(coords)][n % 2];
            net.node_to(Op::Resize(Resize { mode, coords, scale: None }), &[x], &shape.dims(), Act::None)
        }
        28 => net.unary(Unary::FakeQuant { scale: 0.25, least: -3, most: 9 }, x),
        29 => net.node_to(Op::Reshape, &[x], &shape.dims(), Act::None),
        // Channels divided among rows, rows joined, and pixels exchanged with channels.
        30 if shape.b == 1 && shape.h == 1 && shape.c.is_multiple_of(2) => {
            let y = net.reshape(x, &[shape.w, 1, 2, shape.c / 2]);
            let perm = [[1, 2, 0, 3], [1, 2, 3, 0], [1, 3, 0, 2]][n % 3];
            net.node(Op::Transpose(Transpose { perm }), &[y])
        }
        31 if shape.b == 1 && shape.len() <= 1 << 12 => {
            let y = net.node(Op::Transpose(Transpose { perm: [2, 0, 1, 3] }), &[x]);
            net.reshape(y, &[1, 1, shape.w, shape.h * shape.c])
        }
        32 if shape.len() <= 1 << 10 => {
            let turned = net.node(Op::Transpose(Transpose { perm: [0, 1, 3, 2] }), &[alike?]);
            net.node_to(MatMul { transpose_b: false }.into(), &[x, turned], &[1], Act::None)
        }
        _ => return None,
    })
}

/// A shape in which every pixel is a column of a single row.
fn flat(shape: Shape) -> Shape {
    Shape::new(1, 1, shape.pixels(), shape.c)
}

pub(crate) fn graphs() -> impl Strategy<Value = Graph> {
    let draw = (0..33_usize, 0..7_usize, 0..6_usize, 0..60_usize);
    (prop::collection::vec(draw, 1..20), 0..3_usize, prop::bool::ANY).prop_map(|(draws, extra, two)| {
        let mut net = Net::default();
        let mut tensors = vec![net.input(&[1, 4, 3, 4])];
        if two {
            tensors.push(net.input(&[1, 4, 3, 4]));
        }
        let inputs = tensors.len();
        for draw in draws {
            if let Some(tensor) = grow(&mut net, &tensors, draw) {
                tensors.push(tensor);
            }
        }
        if tensors.len() == inputs {
            tensors.push(net.relu(tensors[0]));
        }
        let mut outputs = vec![tensors[tensors.len() - 1]];
        let unread: Vec<TensorId> =
            tensors[inputs..tensors.len() - 1].iter().copied().filter(|&t| !net.is_read(t)).collect();
        outputs.extend(unread.into_iter().skip(extra));
        net.finish(&outputs)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn all_rules_together_keep_the_answers(graph in graphs()) {
        let rewriting = rewritten(&graph, &Rules::all());
        prop_assert!(rewriting.report.nodes_after <= graph.nodes.len());
        let again = rewritten(&rewriting.graph, &Rules::all());
        prop_assert_eq!(again.report.fired.len(), 0, "rewriting twice finds nothing more");
    }

    #[test]
    fn any_choice_of_rules_keeps_the_answers(graph in graphs(), on in prop::collection::vec(prop::bool::ANY, RULES.len())) {
        let names: Vec<&str> = Rules::names().zip(&on).filter_map(|(name, on)| on.then_some(name)).collect();
        rewritten(&graph, &Rules::only(&names).unwrap());
    }
}

/// Extreme floats and ordinary ones.
fn values() -> impl Strategy<Value = f32> {
    let ends = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        0.0,
        -0.0,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e-42,
        -1e-42,
        1.0,
        -1.0,
    ];
    prop_oneof![2 => prop::sample::select(ends.to_vec()), 3 => -8.0f32..8.0]
}

/// Returns the reference answers before and after, as pairs of values.
fn both(graph: &Graph, rules: &Rules, values: &[f32]) -> Vec<[f32; 2]> {
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|&t| values[..graph.shape(t).len()].to_vec()).collect();
    let [before, after] =
        [graph, &rewrite(graph, rules).graph].map(|graph| reference::outputs(graph, &inputs).unwrap().concat());
    assert_eq!(before.len(), after.len());
    before.into_iter().zip(after).map(|(before, after)| [before, after]).collect()
}

fn of_kind(numerics: Numerics) -> Vec<&'static str> {
    RULES.iter().filter(|rule| rule.numerics == numerics).map(|rule| rule.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn exact_rules_keep_every_bit(graph in graphs(), values in prop::collection::vec(values(), 48), one in 0..32_usize) {
        let exact = of_kind(Numerics::Exact);
        for rules in [Rules::exact(), Rules::only(&[exact[one % exact.len()]]).unwrap()] {
            for [before, after] in both(&graph, &rules, &values) {
                let same = before.to_bits() == after.to_bits() || before.is_nan() && after.is_nan();
                prop_assert!(same, "{before:e} became {after:e}\n{}", rewrite(&graph, &rules).report);
            }
        }
    }

    #[test]
    fn rules_of_signed_zeros_keep_all_else(
        graph in graphs(),
        values in prop::collection::vec(values(), 48),
        one in 0..32_usize,
    ) {
        // A zero of the other sign gives the other infinity when it is a divisor, so such results are not compared.
        let harmless = graph.nodes.iter().all(|node| !matches!(node.op, Op::Unary(Unary::Rsqrt | Unary::Reciprocal)));
        prop_assume!(harmless);
        let zeros = of_kind(Numerics::SignedZero);
        for rules in [Rules::up_to(Numerics::SignedZero), Rules::only(&[zeros[one % zeros.len()]]).unwrap()] {
            for [before, after] in both(&graph, &rules, &values) {
                let same = before == after || before.is_nan() && after.is_nan();
                prop_assert!(same, "{before:e} became {after:e}\n{}", rewrite(&graph, &rules).report);
            }
        }
    }
}

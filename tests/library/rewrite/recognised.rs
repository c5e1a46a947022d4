//! Functions written as several nodes, merged into one.

use proptest::prelude::*;
use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Act, Epilogue, Op, Reduce, ReduceKind, Unary};

use super::{
    support::{Net, fires, only, ops, rewritten},
    written::{ALL, alone, watched, write},
};
use crate::support::graphs::n;

/// Every function in every order of factors and operands.
#[test]
fn each_becomes_one_node() {
    for (which, &(name, rule, ..)) in ALL.iter().enumerate() {
        let rewriting = rewritten(&alone(which, 1.0), &only(rule));
        assert_eq!(ops(&rewriting.graph), [name], "{which}\n{}", rewriting.report);
    }
}

/// A value with another reader, or an output, keeps all of its nodes.
#[test]
fn each_stays_where_a_value_in_between_is_seen() {
    for (which, &(name, rule, ..)) in ALL.iter().enumerate() {
        for read in [false, true] {
            let Some(graph) = watched(which, read) else { continue };
            let rewriting = rewritten(&graph, &only(rule));
            assert!(rewriting.graph.nodes.len() > 1 + usize::from(read), "{which} {name}");
            let is_reason =
                |why: &SkipReason| matches!(why, SkipReason::IsOutput { .. } | SkipReason::ReadElsewhere { .. });
            // Skip reasons are optional here if a part is also a recognised function, or if a product ends at a
            // visible value.
            let has_reason = rewriting.report.missed.iter().any(|missed| is_reason(&missed.why));
            let silent = ["hard-activation", "gelu"].contains(&rule) || rewriting.report.count(rule) > 0;
            assert!(has_reason || silent, "{which} {name}\n{}", rewriting.report);
        }
    }
}

/// Functions with other constants do not match.
#[test]
fn each_stays_where_a_number_is_slightly_off() {
    for (which, &(name, rule, ..)) in ALL.iter().enumerate().filter(|(_, written)| written.2) {
        let rewriting = rewritten(&alone(which, 1.0 + 2e-6), &only(rule));
        assert!(!ops(&rewriting.graph).contains(&name), "{which} {name}\n{}", rewriting.report);
        let has_reason =
            rewriting.report.missed.iter().any(|missed| matches!(missed.why, SkipReason::ConstantMismatch { .. }));
        assert!(has_reason || rule == "power", "{which} {name}\n{}", rewriting.report);
    }
}

#[test]
fn another_constant_is_reported() {
    let mut net = Net::default();
    let x = net.input(&[1, 2, 2, 4]);
    let gate = net.unary(Unary::HardSigmoid { alpha: 0.2, beta: 0.5 }, x);
    let y = net.binary(texpool_ops::graph::Binary::Mul, x, gate);
    let rewriting = rewritten(&net.finish(&[y]), &only("hard-activation"));
    assert_eq!(
        rewriting.report.missed[0].why.to_string(),
        "HARD_SWISH has the constant 0.16666667, the nodes have 0.2"
    );
}

#[test]
fn recognition_keeps_successors_and_sees_epilogues() {
    // The sum carries its bound in its epilogue, as a file may have it.
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let three = net.constant(&[1], &[3.0]);
    let sixth = net.constant(&[1], &[1.0 / 6.0]);
    let relu6 = Act::Unary(Unary::Relu6);
    let sum = net.node_to(Op::Binary(texpool_ops::graph::Binary::Add), &[x, three], &[1], relu6);
    let y = net.binary(texpool_ops::graph::Binary::Mul, x, sum);
    let tanh = Act::Unary(Unary::Tanh);
    let y = net.node_to(Op::Binary(texpool_ops::graph::Binary::Mul), &[y, sixth], &[1], tanh);
    let rewriting = fires(&net.finish(&[y]), "hard-activation", 1);
    assert_eq!(ops(&rewriting.graph), ["HARD_SWISH"]);
    assert_eq!(rewriting.graph.nodes[n(0)].epilogue, Epilogue::of(tanh));
}

#[test]
fn a_value_that_is_no_tensor_is_not_read() {
    // The gate reads the convolution's result before its activation.
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let weights = net.weights(&[6, 1, 1, 6]);
    let conv = Op::Conv2d(super::support::same(1));
    let y = net.node_to(conv, &[x, weights], &[1, 4, 4, 6], Act::Unary(Unary::Logistic));
    let z = net.binary(texpool_ops::graph::Binary::Mul, y, y);
    let rewriting = rewritten(&net.finish(&[z]), &only("gated-activation"));
    assert_eq!(rewriting.report.count("gated-activation"), 0);
}

#[test]
fn a_broadcast_operand_is_reported() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 1]);
    let wide = net.constant(&[1, 1, 1, 6], &[0.0; 6]);
    let y = net.binary(texpool_ops::graph::Binary::Maximum, x, wide);
    let rewriting = rewritten(&net.finish(&[y]), &only("bounds"));
    assert!(matches!(rewriting.report.missed[0].why, SkipReason::ShapeMismatch { .. }));
}

#[test]
fn statistics_over_other_axes_are_no_normalization() {
    use texpool_ops::graph::Binary;
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let mean = net.node(Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, false, false, true] }), &[x]);
    let y = net.binary(Binary::Sub, x, mean);
    let square = net.unary(Unary::Square, y);
    let variance = net.node(Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, true, false] }), &[square]);
    let root = net.unary(Unary::Sqrt, variance);
    let z = net.binary(Binary::Div, y, root);
    assert_eq!(rewritten(&net.finish(&[z]), &only("normalization")).report.fired.len(), 0);
}

/// `x * (inverse * weights)` is a normalization times the weights, in every order of factors.
#[test]
fn a_normalization_is_seen_through_weights_on_its_inverse() {
    use texpool_ops::graph::Binary;
    for order in 0..4 {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let square = net.unary(Unary::Square, x);
        let mean =
            net.node(Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, false, false, true] }), &[square]);
        let epsilon = net.constant(&[1], &[1e-5]);
        let sum = net.add(mean, epsilon);
        let inverse = net.unary(Unary::Rsqrt, sum);
        let weights = net.weights(&[6]);
        let [a, b] = if order % 2 == 0 { [inverse, weights] } else { [weights, inverse] };
        let factor = net.binary(Binary::Mul, a, b);
        let [a, b] = if order < 2 { [x, factor] } else { [factor, x] };
        let y = net.binary(Binary::Mul, a, b);
        let rewriting = fires(&net.finish(&[y]), "normalization", 1);
        assert_eq!(ops(&rewriting.graph), ["RMSNormalization", "MUL"]);
    }
}

/// A number subtracted from the mean, a negative factor, and the mean of another tensor's squares do not match.
#[test]
fn roots_of_something_else_are_no_normalization() {
    use texpool_ops::graph::Binary;
    for case in 0..3 {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 6]);
        let other = net.input(&[1, 4, 4, 6]);
        let square = net.unary(Unary::Square, if case == 0 { other } else { x });
        let mean =
            net.node(Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, false, false, true] }), &[square]);
        let number = net.constant(&[1], &[if case == 1 { -1e-3 } else { 1e-3 }]);
        let sum = net.add(mean, number);
        let root = net.unary(Unary::Sqrt, sum);
        let minus = net.constant(&[1], &[if case == 2 { -1.0 } else { 1.0 }]);
        let root = net.binary(Binary::Mul, root, minus);
        let y = net.binary(Binary::Div, x, root);
        assert_eq!(rewritten(&net.finish(&[y]), &only("normalization")).report.fired.len(), 0, "{case}");
    }
}

/// No other rule may consume a part of them first.
#[test]
fn all_rules_leave_no_part_of_them() {
    for (which, &(name, ..)) in ALL.iter().enumerate() {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 3, 6]);
        let y = net.conv(x, 6, 3);
        let (z, _) = write(&mut net, y, which, 1.0);
        let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
        let expected =
            if name == "MUL" || rewriting.graph.nodes.len() == 1 { vec!["CONV_2D"] } else { vec!["CONV_2D", name] };
        assert_eq!(ops(&rewriting.graph), expected, "{which}\n{}", rewriting.report);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Functions nested in each other.
    #[test]
    fn functions_of_functions_keep_their_answers(
        chain in prop::collection::vec((0..ALL.len(), 0..3_usize, prop::bool::ANY, 0..4_usize), 1..4)
    ) {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 3, 6]);
        let (mut y, mut outputs) = (x, Vec::new());
        for (which, off, seen, between) in chain {
            y = match between {
                0 => net.conv(y, 6, 3),
                1 => net.depthwise(y),
                2 => {
                    let alike = net.weights(&[1, 4, 3, 6]);
                    net.add(alike, y)
                }
                _ => y,
            };
            // Bounded to a range where powers and exponentials stay small and roots are defined.
            y = net.unary(Unary::Logistic, y);
            let (result, inner) = write(&mut net, y, which, [1.0, 1.0, 1.01][off]);
            if seen && inner != result {
                outputs.push(inner);
            }
            y = result;
        }
        outputs.push(y);
        rewritten(&net.finish(&outputs), &Rules::all());
    }
}

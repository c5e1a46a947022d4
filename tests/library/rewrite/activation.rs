//! Activations moved into the node before them.

use texpool_model::rewrite::{Rules, SkipReason};
use texpool_ops::graph::{Act, Epilogue, Graph, Op, TensorId, Unary};

use super::support::{Net, RELU, fires, ops, reason, rewritten};
use crate::support::graphs::n;

fn conv_then(then: impl Fn(&mut Net, TensorId) -> TensorId) -> Graph {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let z = then(&mut net, y);
    net.finish(&[z])
}

#[test]
fn every_function_of_one_value_moves() {
    use Unary::{
        Abs, Elu, Exp, HardSwish, LeakyRelu, Logistic, Neg, Relu, Relu6, ReluN1To1, Rsqrt, Sqrt, Square, Tanh,
    };
    let alpha = 0.3;
    for unary in [
        Relu,
        Relu6,
        ReluN1To1,
        LeakyRelu { alpha },
        Elu { alpha: 1.0 },
        HardSwish,
        Logistic,
        Tanh,
        Exp,
        Square,
        Abs,
        Neg,
    ] {
        let rewriting = fires(&conv_then(|net, y| net.unary(unary, y)), "activation", 1);
        assert_eq!(rewriting.graph.nodes[n(0)].epilogue, Epilogue::of(Act::Unary(unary)));
    }
    for unary in [Sqrt, Rsqrt] {
        let graph = conv_then(|net, y| {
            let y = net.unary(Exp, y);
            net.unary(unary, y)
        });
        let rewriting = fires(&graph, "activation", 2);
        assert_eq!(
            rewriting.graph.nodes[n(0)].epilogue,
            Epilogue { first: Act::Unary(Exp), add: None, then: Act::Unary(unary) }
        );
    }
}

#[test]
fn a_prelu_moves_with_one_alpha_a_channel_or_one_for_all() {
    let prelu = |dims: &'static [usize]| {
        conv_then(move |net, y| {
            let alpha = net.weights(dims);
            net.node(Op::Prelu, &[y, alpha])
        })
    };
    let rewriting = fires(&prelu(&[1, 1, 6]), "activation", 1);
    assert!(matches!(rewriting.graph.nodes[n(0)].epilogue.first, Act::Prelu(_)));
    let rewriting = fires(&prelu(&[1]), "activation", 1);
    assert!(matches!(rewriting.graph.nodes[n(0)].epilogue.first, Act::Unary(Unary::LeakyRelu { .. })));
    assert!(matches!(reason(&prelu(&[4, 6]), "activation"), SkipReason::NotPerChannel { .. }));

    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let alpha = net.input(&[1, 1, 1, 6]);
    let y = net.conv(x, 6, 3);
    let z = net.node(Op::Prelu, &[y, alpha]);
    assert_eq!(reason(&net.finish(&[z]), "activation"), SkipReason::NotConstant { tensor: "t1".into() });
}

#[test]
fn every_kind_of_node_takes_one() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.input(&[1, 4, 4, 6]);
    let y = net.binary(texpool_ops::graph::Binary::Mul, x, y);
    let z = net.unary(Unary::Tanh, y);
    assert_eq!(ops(&fires(&net.finish(&[z]), "activation", 1).graph), ["MUL"]);
}

#[test]
fn a_third_one_finds_no_room() {
    let graph = conv_then(|net, y| {
        let y = net.relu(y);
        let y = net.unary(Unary::Tanh, y);
        net.unary(Unary::Exp, y)
    });
    let rewriting = fires(&graph, "activation", 2);
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "EXP"]);
    assert_eq!(rewriting.report.missed[0].why, SkipReason::EpilogueTaken { op: "CONV_2D" });
}

#[test]
fn a_value_that_is_needed_as_it_was_stays() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let z = net.relu(y);
    let s = net.add(y, z);
    let why = reason(&net.finish(&[s]), "activation");
    assert_eq!(why, SkipReason::ReadElsewhere { tensor: "t3".into() });

    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let z = net.relu(x);
    assert_eq!(reason(&net.finish(&[z]), "activation"), SkipReason::NotComputed { tensor: "t0".into() });
}

#[test]
fn a_reshape_between_lets_it_pass() {
    for dims in [[1, 1, 1, 96], [1, 1, 48, 2]] {
        let graph = conv_then(|net, y| {
            let y = net.reshape(y, &dims);
            net.unary(Unary::Logistic, y)
        });
        let rewriting = fires(&graph, "activation", 1);
        assert_eq!(ops(&rewriting.graph), ["CONV_2D", "RESHAPE"]);
        assert_eq!(rewriting.graph.nodes[n(0)].epilogue, Epilogue::of(Act::Unary(Unary::Logistic)));
    }
}

#[test]
fn a_reshape_takes_it_only_where_it_is_a_step_anyway() {
    let through = |dims: &[usize]| {
        let mut net = Net::default();
        let x = net.input(&[1, 4, 4, 4]);
        let y = net.reshape(x, dims);
        let z = net.relu(y);
        net.finish(&[z])
    };
    assert_eq!(reason(&through(&[1, 1, 1, 64]), "activation"), SkipReason::BreaksView);
    let rewriting = fires(&through(&[1, 1, 32, 2]), "activation", 1);
    assert_eq!(rewriting.graph.nodes[n(0)].epilogue, Epilogue::of(RELU));
    assert_eq!(rewritten(&through(&[1, 1, 1, 64]), &Rules::all()).report.nodes_after, 1);
}

#[test]
fn a_prelu_does_not_pass_a_reshape_that_moves_channels() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let y = net.reshape(y, &[1, 4, 6, 4]);
    let alpha = net.weights(&[4]);
    let z = net.node(Op::Prelu, &[y, alpha]);
    let rewriting = fires(&net.finish(&[z]), "activation", 1);
    assert!(rewriting.graph.nodes[n(0)].epilogue.is_empty() && !rewriting.graph.nodes[n(1)].epilogue.is_empty());
}

#[test]
fn a_function_that_no_epilogue_knows_stays_a_step() {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 4, 6]);
    let y = net.conv(x, 6, 3);
    let z = net.unary(Unary::Erf, y);
    let rewriting = rewritten(&net.finish(&[z]), &Rules::all());
    assert_eq!(ops(&rewriting.graph), ["CONV_2D", "Erf"]);
}

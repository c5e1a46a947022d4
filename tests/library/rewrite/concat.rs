//! Concatenations: zeros beside a value become a pad, and operations on the result move to the parts.

use texpool_model::rewrite::{Rules, SkipReason, rewrite};
use texpool_ops::{
    graph::{
        Act, Concat, Constant, ElementType, Epilogue, Graph, Op, Pad, PadMode, Padding, Pool2d, PoolKind, QuantParams,
        TensorId, Unary,
    },
    ops::reference,
};

use super::support::{Net, RELU, fires, ops, reason, rewritten};
use crate::support::graphs::n;

fn net() -> (Net, TensorId) {
    let mut net = Net::default();
    let x = net.input(&[1, 4, 6, 5]);
    (net, x)
}

fn zeros(net: &mut Net, dims: &[usize]) -> TensorId {
    net.constant(dims, &vec![0.0; dims.iter().product()])
}

fn concat(net: &mut Net, axis: usize, parts: &[TensorId], act: Act) -> TensorId {
    net.node_to(Op::Concat(Concat { axis }), parts, &[1], act)
}

/// Compares the answers before and after these rules, bit by bit.
fn same_bits(graph: &Graph, rules: &Rules) -> Graph {
    let rewritten_graph = rewritten(graph, rules).graph;
    let signal = |&input: &TensorId| (0..graph.shape(input).len()).map(|i| ((i * 31 + 7) % 97) as f32 / 24.0 - 2.0);
    let inputs: Vec<Vec<f32>> = graph.inputs.iter().map(|input| signal(input).collect()).collect();
    let answers = |graph: &Graph| -> Vec<Vec<u32>> {
        let tensors = reference::graph(graph, &inputs).unwrap();
        let bits = |&output: &TensorId| tensors[output].as_ref().unwrap().iter().map(|v| v.to_bits()).collect();
        graph.outputs.iter().map(bits).collect()
    };
    assert_eq!(answers(graph), answers(&rewritten_graph));
    rewritten_graph
}

fn only(rule: &str) -> Rules {
    Rules::only(&[rule]).unwrap()
}

#[test]
fn zeros_on_any_axis_and_either_side_become_a_pad() {
    for axis in 0..4 {
        for (front, behind) in [(0, 1), (1, 0), (2, 3)] {
            let (mut net, x) = net();
            let mut beside = net.shape(x).dims();
            let mut parts = Vec::new();
            for extent in 1..=front {
                beside[axis] = extent;
                parts.push(zeros(&mut net, &beside));
            }
            parts.push(x);
            for extent in 1..=behind {
                beside[axis] = extent;
                parts.push(zeros(&mut net, &beside));
            }
            let y = concat(&mut net, axis, &parts, Act::Unary(Unary::Exp));
            let graph = net.finish(&[y]);
            let rewritten_graph = fires(&graph, "concat-zeros", 1).graph;
            let sum = |n: isize| n * (n + 1) / 2;
            let (mut before, mut after) = ([0; 4], [0; 4]);
            (before[axis], after[axis]) = (sum(front as isize), sum(behind as isize));
            assert_eq!(rewritten_graph.nodes[n(0)].op, Op::Pad(Pad { before, after, mode: PadMode::Constant(0.0) }));
            assert_eq!(
                (&rewritten_graph.nodes[n(0)].inputs[..], rewritten_graph.nodes[n(0)].epilogue),
                (&[x][..], graph.nodes[n(0)].epilogue)
            );
            same_bits(&graph, &only("concat-zeros"));
        }
    }
}

#[test]
fn zeros_stay_for_others_that_read_them() {
    let (mut net, x) = net();
    let nothing = zeros(&mut net, &[1, 4, 6, 2]);
    let y = concat(&mut net, 3, &[x, nothing], Act::None);
    let two = net.conv(x, 2, 1);
    let z = net.add(two, nothing);
    let rewriting = fires(&net.finish(&[y, z]), "concat-zeros", 1);
    assert_eq!(ops(&rewriting.graph), ["PAD", "CONV_2D", "ADD"]);
}

#[test]
fn other_constants_than_zeros_stay() {
    for value in [1.0, -0.0, f32::NAN] {
        let (mut net, x) = net();
        let mut values = vec![0.0; 48];
        values[17] = value;
        let nothing = zeros(&mut net, &[1, 4, 6, 2]);
        let other = net.constant(&[1, 4, 6, 2], &values);
        let y = concat(&mut net, 3, &[nothing, x, other], Act::None);
        assert_eq!(reason(&net.finish(&[y]), "concat-zeros"), SkipReason::NotZeros { tensor: "t2".into() });
    }
}

#[test]
fn zeros_are_zeros_in_any_type_of_element() {
    let with = |constant: Constant| {
        let (mut net, x) = net();
        let beside = zeros(&mut net, &[1, 4, 6, 1]);
        let y = concat(&mut net, 3, &[x, beside], Act::None);
        let mut graph = net.finish(&[y]);
        graph.tensors[beside].constant = Some(constant);
        graph
    };
    let bytes = |byte: u8, len: usize| vec![byte; len].into();
    let half = |bits: [u8; 2]| Constant::new(ElementType::F16, bits.repeat(24).into());
    let quantised = |q: u8, scale: f32| Constant {
        scale: Some(QuantParams::whole(scale, 7)),
        ..Constant::new(ElementType::U8, bytes(q, 24))
    };
    for constant in [half([0, 0]), Constant::new(ElementType::I32, bytes(0, 96)), quantised(7, 0.5)] {
        fires(&with(constant), "concat-zeros", 1);
    }
    for constant in
        [half([0, 0x80]), Constant::new(ElementType::I32, bytes(1, 96)), quantised(0, 0.5), quantised(7, -0.5)]
    {
        assert!(matches!(reason(&with(constant), "concat-zeros"), SkipReason::NotZeros { .. }));
    }
}

#[test]
fn zeros_beside_several_values_stay() {
    for places in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
        let (mut net, x) = net();
        let y = net.conv(x, 5, 1);
        let parts = [x, y, zeros(&mut net, &[1, 4, 6, 5])];
        let z = concat(&mut net, 3, &places.map(|place| parts[place]), Act::None);
        let seen = reason(&net.finish(&[z]), "concat-zeros");
        assert_eq!(seen, SkipReason::SeveralParts);
    }
}

#[test]
fn constants_alone_and_values_alone_are_none_of_its_business() {
    let (mut net, x) = net();
    let parts = [zeros(&mut net, &[1, 4, 6, 2]), zeros(&mut net, &[1, 4, 6, 3])];
    let y = concat(&mut net, 3, &parts, Act::None);
    let z = concat(&mut net, 3, &[x, x], Act::None);
    let rewriting = rewritten(&net.finish(&[y, z]), &only("concat-zeros"));
    assert!(rewriting.report.fired.is_empty() && rewriting.report.missed.is_empty(), "{}", rewriting.report);
}

/// Widening blocks as in BlazeFace, if they are written without a pad.
#[test]
fn zeros_behind_the_channels_of_an_addend_are_left_out() {
    let (mut net, x) = net();
    let wide = net.conv(x, 9, 1);
    let nothing = zeros(&mut net, &[1, 4, 6, 4]);
    let skip = concat(&mut net, 3, &[x, nothing], Act::None);
    let sum = net.add(wide, skip);
    let z = net.relu(sum);
    let rewritten_graph = rewritten(&net.finish(&[z]), &Rules::all()).graph;
    assert_eq!(ops(&rewritten_graph), ["CONV_2D"]);
    assert_eq!(rewritten_graph.nodes[n(0)].epilogue, Epilogue { first: Act::None, add: Some(x), then: RELU });
}

#[test]
fn zeros_around_an_image_go_into_the_convolution_that_reads_it() {
    let (mut net, x) = net();
    let nothing = zeros(&mut net, &[1, 1, 6, 5]);
    let padded = concat(&mut net, 1, &[nothing, x, nothing, nothing], Act::None);
    let y = net.conv(padded, 4, 3);
    let rewritten_graph = rewritten(&net.finish(&[y]), &Rules::all()).graph;
    assert_eq!(ops(&rewritten_graph), ["CONV_2D"]);
    let Op::Conv2d(conv) = &rewritten_graph.nodes[n(0)].op else { panic!("a convolution") };
    assert_eq!(conv.padding, Padding { top: 2, bottom: 3, left: 1, right: 1 });
}

/// The parts of light ShuffleNet's widening units: a convolution and a pool.
#[test]
fn an_activation_moves_into_all_that_compute_parts() {
    for axis in 0..4 {
        let (mut net, x) = net();
        let a = net.conv(x, 5, 1);
        let pool = Pool2d::plain(PoolKind::Average, [1, 1], [1, 1], Padding::default());
        let b = net.node(Op::Pool2d(pool), &[x]);
        let c = net.depthwise(x);
        let y = concat(&mut net, axis, &[a, b, c], RELU);
        let graph = net.finish(&[y]);
        let rewritten_graph = fires(&graph, "concat-activation", 1).graph;
        assert_eq!(
            rewritten_graph.nodes.iter().map(|node| node.epilogue).collect::<Vec<_>>(),
            [Epilogue::of(RELU), Epilogue::of(RELU), Epilogue::of(RELU), Epilogue::default()]
        );
        same_bits(&graph, &only("concat-activation"));
    }
}

#[test]
fn two_activations_move_together_behind_what_is_there() {
    let (mut net, x) = net();
    let a = net.conv(x, 3, 1);
    let b = net.conv(x, 4, 3);
    let y = concat(&mut net, 3, &[a, b], RELU);
    let z = net.unary(Unary::Tanh, y);
    let rules = Rules::only(&["activation", "concat-activation"]).unwrap();
    let rewritten_graph = same_bits(&net.finish(&[z]), &rules);
    assert_eq!(ops(&rewritten_graph), ["CONV_2D", "CONV_2D", "CONCATENATION"]);
    let both = Epilogue { first: RELU, add: None, then: Act::Unary(Unary::Tanh) };
    assert_eq!(
        rewritten_graph.nodes.iter().map(|node| node.epilogue).collect::<Vec<_>>(),
        [both, both, Epilogue::default()]
    );
}

#[test]
fn an_activation_moves_on_through_concatenations_of_concatenations() {
    let (mut net, x) = net();
    let [a, b, c, d] = [2, 3, 4, 1].map(|channels| net.conv(x, channels, 1));
    let inner = concat(&mut net, 3, &[a, b], Act::None);
    let middle = concat(&mut net, 3, &[c, inner], Act::Unary(Unary::Abs));
    let outer = concat(&mut net, 3, &[middle, d], RELU);
    let graph = net.finish(&[outer]);
    let rewritten_graph = fires(&graph, "concat-activation", 3).graph;
    let epilogues: Vec<Epilogue> = rewritten_graph.nodes.iter().map(|node| node.epilogue).collect();
    let both = Epilogue { first: Act::Unary(Unary::Abs), add: None, then: RELU };
    let none = Epilogue::default();
    assert_eq!(epilogues, [both, both, both, Epilogue::of(RELU), none, none, none]);
    same_bits(&graph, &Rules::all());
}

#[test]
fn each_part_takes_the_alphas_of_its_channels() {
    for (axis, channels) in [(3, 8), (2, 5)] {
        let (mut net, x) = net();
        let a = net.conv(x, channels - 3 * usize::from(axis == 3), 1);
        let b = net.conv(x, if axis == 3 { 3 } else { channels }, 3);
        let y = concat(&mut net, axis, &[a, b], Act::None);
        let alphas = net.weights(&[channels]);
        let z = net.node(Op::Prelu, &[y, alphas]);
        let rules = Rules::only(&["activation", "concat-activation"]).unwrap();
        let rewritten_graph = same_bits(&net.finish(&[z]), &rules);
        assert_eq!(ops(&rewritten_graph), ["CONV_2D", "CONV_2D", "CONCATENATION"]);
        assert!(rewritten_graph.nodes[n(2)].epilogue.is_empty());
        let lens = rewritten_graph.nodes.iter().take(2).map(|node| match node.epilogue.first {
            Act::Prelu(alphas) => rewritten_graph.shape(alphas).len(),
            _ => 0,
        });
        assert_eq!(lens.collect::<Vec<_>>(), [channels - 3 * usize::from(axis == 3), if axis == 3 { 3 } else { 5 }]);
    }
}

#[test]
fn a_reshape_of_a_part_lets_it_pass_but_a_view_takes_none() {
    let shaped = |net: &mut Net, private: bool| {
        let x = net.input(&[1, 1, 8, 4]);
        let a = if private { net.conv(x, 4, 1) } else { x };
        let a = net.reshape(a, &[1, 1, 1, 32]);
        let b = net.input(&[1, 1, 1, 32]);
        let b = net.unary(Unary::Tanh, b);
        concat(net, 3, &[b, a], RELU)
    };
    let mut net = Net::default();
    let y = shaped(&mut net, true);
    let rewritten_graph = fires(&net.finish(&[y]), "concat-activation", 1).graph;
    let epilogues: Vec<bool> = rewritten_graph.nodes.iter().map(|node| node.epilogue.is_empty()).collect();
    assert_eq!(
        (ops(&rewritten_graph), epilogues),
        (["CONV_2D", "RESHAPE", "TANH", "CONCATENATION"].to_vec(), [false, true, false, true].to_vec())
    );
    let mut net = Net::default();
    let y = shaped(&mut net, false);
    assert_eq!(reason(&net.finish(&[y]), "concat-activation"), SkipReason::BreaksView);
}

#[test]
fn one_part_that_cannot_take_it_keeps_it_for_all() {
    let reason_for = |parts: fn(&mut Net, TensorId) -> [TensorId; 2], more: bool| {
        let (mut net, x) = net();
        let parts = parts(&mut net, x);
        let y = concat(&mut net, 3, &parts, RELU);
        let outputs = if more { vec![y, parts[1]] } else { vec![y] };
        reason(&net.finish(&outputs), "concat-activation")
    };
    let conv_and = |net: &mut Net, x: TensorId| [net.conv(x, 3, 1), net.conv(x, 4, 1)];
    assert_eq!(reason_for(conv_and, true), SkipReason::IsOutput { tensor: "t6".into() });
    assert_eq!(reason_for(|net, x| [net.conv(x, 3, 1), x], false), SkipReason::NotComputed { tensor: "t0".into() });
    assert_eq!(
        reason_for(|net, x| [net.conv(x, 3, 1), net.weights(&[1, 4, 6, 2])], false),
        SkipReason::IsConstant { tensor: "t4".into() }
    );
    let twice = |net: &mut Net, x: TensorId| [net.conv(x, 3, 1); 2];
    assert_eq!(reason_for(twice, false), SkipReason::ReadElsewhere { tensor: "t3".into() });
}

#[test]
fn a_part_that_has_no_room_left_keeps_it_for_all() {
    let (mut net, x) = net();
    let a = net.conv(x, 3, 1);
    let b = net.conv(x, 3, 3);
    let b = net.unary(Unary::Exp, b);
    let b = net.unary(Unary::Tanh, b);
    let y = concat(&mut net, 3, &[a, b], RELU);
    let rewriting = rewritten(&net.finish(&[y]), &Rules::all());
    assert_eq!(rewriting.graph.nodes[n(2)].epilogue, Epilogue::of(RELU));
    assert_eq!(rewriting.report.missed[0].why, SkipReason::EpilogueTaken { op: "CONV_2D" });
}

#[test]
fn an_addition_stays_with_its_concatenation() {
    let (mut net, x) = net();
    let a = net.conv(x, 2, 1);
    let b = net.conv(x, 3, 1);
    let y = concat(&mut net, 3, &[a, b], RELU);
    let mut graph = net.finish(&[y]);
    graph.nodes[n(2)].epilogue.add = Some(x);
    assert_eq!(reason(&graph, "concat-activation"), SkipReason::EpilogueTaken { op: "CONCATENATION" });
}

/// The rules that move activations move them only towards the inputs, so they cannot undo each other's work.
#[test]
fn moving_activations_comes_to_an_end() {
    let (mut net, x) = net();
    let mut y = x;
    for _ in 0..20 {
        let parts = [net.conv(y, 2, 1), net.conv(y, 3, 3)];
        y = concat(&mut net, 3, &parts, Act::None);
        y = net.relu(y);
        y = net.unary(Unary::Tanh, y);
    }
    let rewriting = rewrite(&net.finish(&[y]), &Rules::all());
    assert_eq!((rewriting.report.count("activation"), rewriting.report.count("concat-activation")), (40, 20));
    assert_eq!(rewrite(&rewriting.graph, &Rules::all()).report.fired.len(), 0);
}

//! Functions of one and two values, softmax, means.

use texpool_ops::{
    graph::{Binary, Op, Reduce, ReduceKind, Softmax, TexelStorage, Unary},
    kernels,
};

use super::{case, constant, epilogues, harness::Harness, placed};
use crate::support::graphs::{add_tensor, n};

const BINARIES: [Binary; 6] = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Maximum, Binary::Minimum];

/// Every form of epilogue behind a function.
#[test]
fn functions_of_one_value() {
    let mut harness = Harness::new();
    let dims = [2, 3, 5, 7];
    epilogues(&mut harness, &Op::Unary(Unary::Square), &[placed(dims)], dims, true);
}

/// Roots in an epilogue, behind a square so that their operand is never negative.
#[test]
fn roots_of_squares() {
    // Roots need values that are not negative: those of an epilogue behind a square.
    let mut harness = Harness::new();
    for then in [Unary::Sqrt, Unary::Rsqrt] {
        let dims = [1, 4, 3, 6];
        let mut graph = super::one_node(
            Op::Unary(Unary::Square),
            &[placed(dims)],
            dims.into(),
            texpool_ops::graph::Epilogue::of(texpool_ops::graph::Act::Unary(then)),
        );
        harness.check(&graph);
        graph.nodes[n(0)].epilogue.then = texpool_ops::graph::Act::Unary(Unary::Neg);
        harness.check(&graph);
    }
}

/// Arithmetic of two computed values, and of one with a constant on either side.
#[test]
fn functions_of_two_values() {
    let mut harness = Harness::new();
    let out = [2, 3, 5, 6];
    for binary in BINARIES {
        case(&mut harness, Op::Binary(binary), &[placed(out), placed(out)], out);
        case(&mut harness, Op::Binary(binary), &[placed(out), constant([1, 1, 1, 6])], out);
        case(&mut harness, Op::Binary(binary), &[constant([1, 3, 1, 1]), placed(out)], out);
    }
    epilogues(&mut harness, &Op::Binary(Binary::Mul), &[placed(out), constant([1, 1, 5, 6])], out, true);
    epilogues(&mut harness, &Op::Binary(Binary::Sub), &[placed(out), placed([2, 1, 1, 6])], out, false);
}

/// Extents of one on either side and on each axis, alone and together.
#[test]
fn every_axis_broadcasts() {
    let mut harness = Harness::new();
    let out = [2, 3, 5, 6];
    // Each axis of each operand is repeated or not.
    for mask in 0..16usize {
        let small: [usize; 4] = std::array::from_fn(|axis| if mask >> axis & 1 == 1 { 1 } else { out[axis] });
        let rest: [usize; 4] = std::array::from_fn(|axis| if mask >> axis & 1 == 1 { out[axis] } else { 1 });
        for (a, b) in [
            (placed(out), placed(small)),
            (placed(small), placed(rest)),
            (placed(small), constant(rest)),
            (constant(out), placed(small)),
        ] {
            case(&mut harness, Op::Binary(Binary::Sub), &[a, b], out);
        }
    }
}

/// Alphas as one a channel, of any broadcast shape, and computed by another node.
#[test]
fn prelu_by_channel_by_anything_and_computed() {
    let mut harness = Harness::new();
    let dims = [2, 4, 3, 5];
    for alpha in [[1, 1, 1, 5], [1, 4, 3, 5], [1, 1, 1, 1], [1, 4, 1, 1]] {
        case(&mut harness, Op::Prelu, &[placed(dims), constant(alpha)], dims);
        case(&mut harness, Op::Prelu, &[placed(dims), placed(alpha)], dims);
    }
}

#[test]
fn two_operands_and_an_added_tensor_are_refused() {
    let dims = [1, 2, 2, 4];
    let mut graph = super::one_node(
        Op::Binary(Binary::Add),
        &[placed(dims), placed(dims)],
        dims.into(),
        texpool_ops::graph::Epilogue::default(),
    );
    let add = add_tensor(&mut graph, dims.into(), None);
    graph.inputs.push(add);
    graph.nodes[n(0)].epilogue.add = Some(add);
    let error = refusal(&graph, true);
    assert!(error.contains("ADD") && error.contains("epilogue cannot add"), "{error}");
}

#[test]
fn an_epilogue_of_a_function_that_it_does_not_know_is_refused() {
    let dims = [1, 2, 2, 4];
    let epilogue = texpool_ops::graph::Epilogue::of(texpool_ops::graph::Act::Unary(Unary::Erf));
    let graph = super::one_node(Op::Unary(Unary::Neg), &[placed(dims)], dims.into(), epilogue);
    let error = refusal(&graph, false);
    assert!(error.contains("NEG") && error.contains("no epilogue can hold Erf"), "{error}");
}

/// Why the graph's only node, of operands of one texel a pixel, cannot run.
fn refusal(graph: &texpool_ops::graph::Graph, adds: bool) -> String {
    let node = &graph.nodes[n(0)];
    let operand = kernels::Operand {
        shape: graph.shape(node.output),
        texture: 0,
        shift: 3,
        texels: 64,
        rows: texpool_plan::RowTable::Whole { base: 0, rows: 2, row_texels: 2 },
        pitch: 2,
        storage: TexelStorage::Values,
    };
    let step = kernels::StepContext {
        graph,
        node,
        inputs: vec![Some(operand.clone()); node.inputs.len()],
        add: adds.then(|| operand.clone()),
        output: operand,
        rows: 0..2,
        slices: 0..graph.shape(node.output).slices() as u32,
        weights: kernels::WeightPlace::default(),
    };
    texpool_ops::ops::dispatches(&step).unwrap_err().to_string()
}

/// Few channels and many, for which there are two kernels.
#[test]
fn softmax_of_few_and_of_many_channels() {
    let mut harness = Harness::new();
    for (dims, beta) in [
        ([1, 1, 1, 1], 1.0),
        ([2, 3, 5, 3], 1.0),
        ([1, 4, 70, 21], 0.5),
        ([1, 1, 1, 1001], 1.0),
        ([2, 2, 3, 130], 2.0),
        ([1, 1, 1, 4100], 1.0),
    ] {
        case(&mut harness, Op::Softmax(Softmax { beta, log: false }), &[placed(dims)], dims);
        case(&mut harness, Op::Softmax(Softmax { beta, log: true }), &[placed(dims)], dims);
    }
    epilogues(
        &mut harness,
        &Op::Softmax(Softmax { beta: 1.0, log: false }),
        &[placed([1, 2, 2, 6])],
        [1, 2, 2, 6],
        true,
    );
}

/// Masks and biases that repeat along every axis but channels, computed or constant, for both kernels.
#[test]
fn softmax_of_a_sum() {
    let mut harness = Harness::new();
    let softmax = |log| Op::Softmax(Softmax { beta: 0.5, log });
    for dims @ [b, h, w, c] in [[2, 3, 5, 7], [1, 2, 3, 150]] {
        let masks = [dims, [1, h, w, c], [b, 1, w, c], [b, h, 1, c], [1, 1, 1, c]];
        for mask in masks {
            case(&mut harness, softmax(false), &[placed(dims), placed(mask)], dims);
            case(&mut harness, softmax(true), &[placed(dims), constant(mask)], dims);
        }
        let [bias, mask] = [[1, h, w, c], [b, 1, w, c]];
        case(&mut harness, softmax(false), &[placed(dims), constant(bias), constant(mask)], dims);
        case(&mut harness, softmax(false), &[placed(dims), constant(bias), placed(mask)], dims);
        case(&mut harness, softmax(false), &[placed(dims), placed(bias), constant(mask)], dims);
    }
    let dims = [2, 2, 3, 6];
    epilogues(&mut harness, &softmax(false), &[placed(dims), constant([1, 2, 1, 6])], dims, true);
    epilogues(&mut harness, &softmax(false), &[placed(dims), placed([2, 1, 1, 6])], dims, false);
}

/// Every set of axes, and channels that fill many slices.
#[test]
fn means_over_any_axes() {
    let mut harness = Harness::new();
    let dims = [2, 3, 5, 7];
    for mask in 0..16usize {
        let axes: [bool; 4] = std::array::from_fn(|axis| mask >> axis & 1 == 1);
        let out: [usize; 4] = std::array::from_fn(|axis| if axes[axis] { 1 } else { dims[axis] });
        case(&mut harness, Op::Reduce(Reduce { kind: ReduceKind::Mean, axes }), &[placed(dims)], out);
    }
    let spatial = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, true, false] });
    case(&mut harness, spatial.clone(), &[placed([1, 7, 7, 130])], [1, 1, 1, 130]);
    epilogues(&mut harness, &spatial, &[placed([2, 4, 4, 6])], [2, 1, 1, 6], true);
}

//! Nodes that no single step can run: more parts in a texel than a step can read, or constants for a kernel that
//! reads none.

use texpool_gpu::{Executor, ExecutorOptions};
use texpool_model::rewrite::split;
use texpool_ops::{
    graph::{Act, Binary, Concat, Graph, GraphBuilder, Op, TensorId, Transpose},
    ops::reference,
};

use crate::support::open;

/// A concatenation of parts, each with its number of channels and a flag that makes it a constant.
fn concatenation(parts: &[(usize, bool)]) -> Graph {
    let mut b = GraphBuilder::new("parts");
    let mut tensors = Vec::new();
    for (i, &(c, constant)) in parts.iter().enumerate() {
        let dims = [1, 3, 5, c];
        let values: Vec<f32> = (0..15 * c).map(|v| (100 * i + v) as f32 + 0.5).collect();
        let name = format!("part{i}");
        tensors.push(if constant { b.constant(&name, &dims, &values) } else { b.input(&name, &dims) }.unwrap());
    }
    let joined = b.node("all", Op::Concat(Concat { axis: 3 }), &tensors, Act::None).unwrap();
    b.finish(&[joined]).unwrap()
}

/// Largest number of computed parts that meet in a texel of any concatenation.
fn most_that_meet(graph: &Graph) -> usize {
    let mut most = 0;
    for node in &graph.nodes {
        let mut owners = Vec::new();
        for &tensor in &node.inputs {
            owners.extend(std::iter::repeat_n((tensor, graph.is_constant(tensor)), graph.shape(tensor).c));
        }
        for texel in owners.chunks(4) {
            let mut computed: Vec<TensorId> = texel.iter().filter(|o| !o.1).map(|o| o.0).collect();
            computed.dedup();
            most = most.max(computed.len());
        }
    }
    most
}

/// More than two computed parts in a texel are joined in several steps, with the right values.
#[test]
fn crowded_concatenations_become_chains() {
    let gpu = open();
    for parts in [
        &[(1, false), (1, false), (1, false), (1, false)][..],
        &[(3, false), (1, false), (1, false), (1, false), (2, false)],
        &[(1, false), (1, true), (1, false), (1, false), (7, false)],
        &[(1, true), (1, false), (1, false), (1, false)],
        &[(2, false), (1, false), (6, false), (1, false), (1, false), (1, true), (1, false)],
    ] {
        let graph = concatenation(parts);
        assert!(most_that_meet(&graph) > 2, "{parts:?} needs no splitting");
        let split_graph = split(&graph);
        assert!(most_that_meet(&split_graph) <= 2, "{parts:?}");
        let inputs: Vec<Vec<f32>> = graph
            .inputs
            .iter()
            .enumerate()
            .map(|(i, &t)| (0..graph.shape(t).len()).map(|v| (1000 * i + v) as f32).collect())
            .collect();
        let expected = reference::graph(&graph, &inputs).unwrap()[graph.outputs[0]].clone().unwrap();
        assert_eq!(
            reference::graph(&split_graph, &inputs).unwrap()[split_graph.outputs[0]].as_ref(),
            Some(&expected),
            "{parts:?}"
        );
        let mut session = Executor::new(&gpu, &graph, &ExecutorOptions::default()).unwrap();
        let values: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        assert_eq!(session.run(&values).unwrap()[0], expected, "{parts:?}");
    }
}

/// Graphs whose nodes all fit in a single step are not copied.
#[test]
fn others_stay_as_they_are() {
    for parts in
        [&[(1, false), (1, true), (1, false), (1, true), (4, false)][..], &[(2, false), (2, false), (80, false)]]
    {
        assert!(matches!(split(&concatenation(parts)), std::borrow::Cow::Borrowed(_)), "{parts:?}");
    }
}

/// Kernels that cannot read constants get a node that computes the constant.
#[test]
fn a_constant_that_must_be_computed_is() {
    let mut b = GraphBuilder::new("constant");
    let values: Vec<f32> = (0..2 * 3 * 5 * 7).map(|v| v as f32 - 100.5).collect();
    let x = b.constant("x", &[2, 3, 5, 7], &values).unwrap();
    let y = b.constant("y", &[1, 1, 1, 7], &values[..7]).unwrap();
    let turned = b.node("turned", Op::Transpose(Transpose { perm: [0, 2, 1, 3] }), &[x], Act::None).unwrap();
    let sum = b.node("sum", Op::Binary(Binary::Add), &[x, y], Act::None).unwrap();
    let graph = b.finish(&[turned, sum]).unwrap();
    let mut session = Executor::new(&open(), &graph, &ExecutorOptions::default()).unwrap();
    assert_eq!(session.run(&[] as &[&[f32]]).unwrap(), reference::outputs(&graph, &[]).unwrap());
}

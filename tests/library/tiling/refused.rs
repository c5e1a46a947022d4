//! Invalid graphs are refused before anything is built from them.

use crate::support::{graphs::n, t};
use texpool_compile::{CompileError, CompileOptions, Objective, compile, pareto_front};
use texpool_ops::graph::{Act, CheckError, Conv2d, Graph, GraphBuilder, Padding, Unary};
use texpool_plan::{SearchControl, TextureLimits};

fn chain() -> Graph {
    let mut b = GraphBuilder::new("chain");
    let x = b.input("x", &[1, 8, 8, 4]).unwrap();
    let weights = b.constant("weights", &[4, 1, 1, 4], &[0.5; 16]).unwrap();
    let one = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
    let y = b.conv2d("y", one, x, weights, None, Act::None).unwrap();
    let z = b.unary("z", Unary::Exp, y).unwrap();
    b.finish(&[z]).unwrap()
}

/// The kernels index memory by these shapes without further checks.
#[test]
fn graphs_refused_by_the_checker_are_never_prepared() {
    type Case = (&'static str, fn(&mut Graph), fn(&CheckError) -> bool);
    let damages: [Case; 6] = [
        ("a result larger than is computed", |g| widen(g, 2), |e| matches!(e, CheckError::Disagrees { .. })),
        ("no such operand", |g| g.nodes[n(1)].inputs[0] = t(99), |e| matches!(e, CheckError::NoSuchTensor { .. })),
        ("an operand that comes later", |g| g.nodes.reverse(), |e| matches!(e, CheckError::Unset { .. })),
        ("weights without values", |g| g.tensors[t(1)].constant = None, |e| matches!(e, CheckError::Unset { .. })),
        (
            "a result twice",
            |g| g.nodes[n(1)].output = g.nodes[n(0)].output,
            |e| matches!(e, CheckError::Rewritten { .. }),
        ),
        ("no outputs", |g| g.outputs.clear(), |e| matches!(e, CheckError::NoOutputs)),
    ];
    for (what, damage, expected) in damages {
        let mut graph = chain();
        damage(&mut graph);
        for objective in [Objective::Fastest, Objective::Balanced, Objective::Smallest, Objective::Pool(1 << 20)] {
            let options = CompileOptions { objective, ..CompileOptions::default() };
            let outcome = compile(&graph, &options, &SearchControl::new()).map(|_| ());
            assert!(
                matches!(&outcome, Err(CompileError::Graph(e)) if expected(e)),
                "{what}, {objective:?}: {outcome:?}"
            );
        }
        let outcome = pareto_front(&graph, &CompileOptions::default(), &SearchControl::new()).map(|_| ());
        assert!(matches!(&outcome, Err(CompileError::Graph(e)) if expected(e)), "{what}: {outcome:?}");
    }
}

/// States the tensor with twice its columns.
fn widen(graph: &mut Graph, tensor: usize) {
    let tensor = &mut graph.tensors[t(tensor)];
    tensor.shape.w *= 2;
    tensor.dims[2] *= 2;
}

/// The error names the operator, since only the model's owner can make its result smaller.
#[test]
fn a_tensor_larger_than_any_texture_is_named() {
    let mut b = GraphBuilder::new("large");
    let x = b.input("x", &[1, 8, 8, 4]).unwrap();
    let sine = b.unary("sine", Unary::Sin, x).unwrap();
    let y = b.unary("y", Unary::Tan, sine).unwrap();
    let options = CompileOptions { limits: TextureLimits { max_extent: 4 }, ..CompileOptions::default() };
    let error = compile(&b.finish(&[y]).unwrap(), &options, &SearchControl::new()).map(|_| ()).unwrap_err();
    let text = error.to_string();
    let expected = CompileError::TensorTooLarge {
        node: 0,
        op: "SIN",
        tensor: "sine".to_owned(),
        texels: 64,
        max_extent: 4,
        limit: 16,
    };
    assert_eq!(text, expected.to_string());
    assert!(text.contains("`sine` needs 64 texels, and with extents up to 4 a texture holds at most 16"), "{text}");
}

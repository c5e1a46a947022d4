//! Graphs in which many nodes share, follow or meet many others. The rewriter's work must grow with the graph, not
//! with a product of its parts. Each bound is far above the present cost and far below the former one.

use std::time::{Duration, Instant};

use texpool_model::rewrite::{Rewritten, Rules, SkipReason, rewrite, split};
use texpool_ops::graph::{Act, Binary, Graph, GraphBuilder, Op, Reduce, TensorId, Unary, check};

const LONGEST: Duration = Duration::from_secs(60);

/// Rewrites a graph within a time limit, and checks that the result is valid.
fn bounded(graph: &Graph) -> Rewritten {
    let began = Instant::now();
    let rewriting = rewrite(&split(graph), &Rules::all());
    assert!(began.elapsed() < LONGEST, "{:?}", began.elapsed());
    assert_eq!(check(&rewriting.graph), Ok(()));
    rewriting
}

/// Chains the nodes that `next` adds after `x`.
fn chain(b: &mut GraphBuilder, x: TensorId, length: usize, op: impl Fn(usize) -> (Op, Vec<TensorId>)) -> TensorId {
    (0..length).fold(x, |last, i| {
        let (op, more) = op(i);
        b.node(&format!("n{i}"), op, &[&[last], &more[..]].concat(), Act::None).unwrap()
    })
}

#[test]
fn a_mask_over_thousands_of_millions_writes_no_zeros() {
    let mut b = GraphBuilder::new("mask");
    let x = b.input("x", &[1, 1 << 15, 1 << 15, 1]).unwrap();
    let mask = b.constant("mask", &[1], &[0.0]).unwrap();
    let masked = b.binary("kept", Binary::ZeroUnless, mask, x, Act::None).unwrap();
    let y = b.binary("y", Binary::Add, x, masked, Act::None).unwrap();
    let z = b.unary("z", Unary::Exp, y).unwrap();
    let graph = b.finish(&[z]).unwrap();
    let counted = allocation_counter::measure(|| {
        let rewriting = bounded(&graph);
        // Dropped tensors add nothing.
        assert_eq!(rewriting.graph.nodes.iter().map(|node| node.op.name()).collect::<Vec<_>>(), ["EXP"]);
    });
    assert!(counted.bytes_max < 1 << 24, "{} bytes at a time", counted.bytes_max);
}

/// Each change of a shared large constant makes a copy of it.
#[test]
fn a_constant_that_many_share_is_not_copied_for_each() {
    let mut b = GraphBuilder::new("shared");
    let x = b.input("x", &[1, 256]).unwrap();
    let matrix = b.constant("matrix", &[256, 2048], &vec![0.5; 256 * 2048]).unwrap();
    let outputs: Vec<TensorId> = (0..300).map(|i| b.matmul(&format!("m{i}"), x, matrix).unwrap()).collect();
    let graph = b.finish(&outputs).unwrap();
    let counted = allocation_counter::measure(|| {
        let rewriting = bounded(&graph);
        let refused = rewriting
            .report
            .missed
            .iter()
            .filter(|missed| matches!(missed.why, SkipReason::BudgetExceeded { .. }))
            .count();
        assert!((1..300).contains(&refused), "some became layers of their own, the rest stay products: {refused}");
    });
    // One copy per node would take 600 MB.
    assert!(counted.bytes_max < 256 << 20, "{} bytes at a time", counted.bytes_max);
}

/// Every rule asks for every node if the shared constant has a single value.
#[test]
fn a_constant_that_many_share_is_looked_at_once() {
    let mut values = vec![2.0; 1 << 20];
    values[(1 << 20) - 1] = 3.0;
    let mut b = GraphBuilder::new("shared");
    let x = b.input("x", &[1, 1 << 10, 1 << 10, 1]).unwrap();
    let shared = b.constant("shared", &[1, 1 << 10, 1 << 10, 1], &values).unwrap();
    let y = chain(&mut b, x, 3_000, |i| {
        let binary = [Binary::Maximum, Binary::Minimum, Binary::Pow][i % 3];
        (Op::Binary(binary), vec![shared])
    });
    assert_eq!(bounded(&b.finish(&[y]).unwrap()).graph.nodes.len(), 3_000);
}

/// The search for functions written as several nodes follows sums and products, from every node of a chain.
#[test]
fn long_chains_are_not_looked_through_at_every_node() {
    for op in [
        Op::Unary(Unary::Neg),
        Op::Reduce(Reduce { kind: texpool_ops::graph::ReduceKind::Mean, axes: [true, true, true, false] }),
    ] {
        let mut b = GraphBuilder::new("chain");
        let x = b.input("x", &[1, 4]).unwrap();
        let y = chain(&mut b, x, 20_000, |_| (op.clone(), vec![]));
        bounded(&b.finish(&[y]).unwrap());
    }
}

/// Concatenations times nodes: each concatenation once searched all steps for one that reads the tensor it would
/// write.
#[test]
fn thousands_of_concatenations_are_no_product() {
    let mut b = GraphBuilder::new("in-place");
    let x = b.input("x", &[1, 2, 2, 4]).unwrap();
    let mut outputs = Vec::new();
    for i in 0..6_000 {
        // No two nodes compute the same result, because those would be merged.
        let functions = [Unary::Elu { alpha: i as f32 }, Unary::Celu { alpha: i as f32 }];
        let parts = functions.map(|unary| b.unary(&format!("{}{i}", unary.name()), unary, x).unwrap());
        outputs.push(b.concat(&format!("c{i}"), 1, &parts).unwrap());
    }
    let graph = b.finish(&outputs).unwrap();
    assert_eq!(bounded(&graph).in_place.len(), 6_000, "all their parts are computed where they belong");
}

/// One concatenation of thousands of parts, three of which share a texel. Each insertion once moved all nodes.
#[test]
fn concatenations_of_thousands_of_channels_do_not_move_all_nodes() {
    let mut b = GraphBuilder::new("split");
    let x = b.input("x", &[1, 2, 2, 1]).unwrap();
    let parts: Vec<TensorId> =
        (0..10_000).map(|i| b.unary(&format!("p{i}"), Unary::Elu { alpha: i as f32 }, x).unwrap()).collect();
    let y = b.concat("y", 3, &parts).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let rewriting = bounded(&graph);
    // The first three of every four channels become one part, then two.
    assert_eq!(rewriting.graph.nodes.len(), 10_000 + 5_000 + 1);
}

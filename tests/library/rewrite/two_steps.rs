//! Large pools and reductions split in two steps: the answers stay the same, and each half is small enough.

use texpool_model::rewrite::{row_means, two_steps};
use texpool_ops::{
    graph::{Act, Graph, GraphBuilder, Op, Padding, Pool2d, PoolKind, Reduce, ReduceKind, check},
    ops::reference,
};

use super::support::ops;
use crate::support::graphs::n;

fn one(dims: [usize; 4], op: Op) -> Graph {
    let mut b = GraphBuilder::new("one");
    let x = b.input("x", &dims).unwrap();
    let y = b.node("y", op, &[x], Act::None).unwrap();
    b.finish(&[y]).unwrap()
}

/// Asserts that two steps give the same answers as one, and returns the split graph.
fn in_steps(dims: [usize; 4], op: Op) -> Graph {
    let graph = one(dims, op);
    let reduced = two_steps(&graph).into_owned();
    check(&reduced).unwrap();
    assert_eq!(reduced.outputs, graph.outputs);
    let values: Vec<f32> = (0..dims.iter().product()).map(|i| ((i * 37 + 11) % 101) as f32 / 25.0 - 1.0).collect();
    let [before, after] =
        [&graph, &reduced].map(|graph| reference::outputs(graph, std::slice::from_ref(&values)).unwrap().remove(0));
    assert_eq!(before.len(), after.len());
    for (i, (a, b)) in before.iter().zip(&after).enumerate() {
        assert!((a - b).abs() <= 1e-4 * a.abs().max(1.0), "{:?}, element {i}: {a} became {b}", graph.nodes);
    }
    reduced
}

fn pool(graph: &Graph, node: usize) -> Pool2d {
    match graph.nodes[n(node)].op {
        Op::Pool2d(pool) => pool,
        ref op => panic!("{op:?}"),
    }
}

#[test]
fn a_large_window_is_pooled_along_each_axis() {
    let border = Padding { top: 3, bottom: 5, left: 2, right: 7 };
    for kind in [PoolKind::Max, PoolKind::Average, PoolKind::Lp { p: 1 }, PoolKind::Lp { p: 2 }, PoolKind::Lp { p: 5 }]
    {
        for counted in [None, Some(Padding { top: 1, bottom: 5, left: 2, right: 0 })] {
            let plain = Pool2d::plain(kind, [128, 130], [3, 2], border);
            let reduced = in_steps([1, 132, 133, 2], Op::Pool2d(Pool2d { counted, ..plain }));
            assert_eq!(reduced.nodes.len(), 2);
            assert_eq!((pool(&reduced, 0).window, pool(&reduced, 1).window), ([1, 130], [128, 1]));
            let dilated = Pool2d { counted, dilation: [1, 2], ..plain };
            assert_eq!(in_steps([1, 132, 270, 1], Op::Pool2d(dilated)).nodes.len(), 2);
        }
    }
}

#[test]
fn a_window_over_a_whole_long_axis_is_cut() {
    let none = Padding::default();
    for kind in [PoolKind::Max, PoolKind::Lp { p: 1 }, PoolKind::Lp { p: 3 }] {
        let reduced = in_steps([1, 1, 72_022, 1], Op::Pool2d(Pool2d::plain(kind, [1, 72_022], [1, 1], none)));
        assert_eq!((pool(&reduced, 0).window, pool(&reduced, 1).window), ([1, 268], [1, 269]));
        let reduced = in_steps([1, 20_011, 5, 1], Op::Pool2d(Pool2d::plain(kind, [20_011, 1], [2, 2], none)));
        assert_eq!((pool(&reduced, 0).window, pool(&reduced, 1).window), ([141, 1], [142, 1]));
        // Over both axes, of which only one is long.
        let reduced = in_steps([1, 3, 20_011, 1], Op::Pool2d(Pool2d::plain(kind, [3, 20_011], [1, 1], none)));
        assert_eq!(reduced.nodes.len(), 3);
    }
}

#[test]
fn small_and_indivisible_windows_are_left_alone() {
    let none = Padding::default();
    for op in [
        Op::Pool2d(Pool2d::plain(PoolKind::Max, [127, 129], [1, 1], none)),
        // A mean of the whole image is a reduction.
        Op::Pool2d(Pool2d::plain(PoolKind::Average, [130, 130], [1, 1], none)),
        Op::Reduce(Reduce { kind: ReduceKind::Sum, axes: [false, true, true, true] }),
    ] {
        assert_eq!(in_steps([1, 130, 130, 1], op).nodes.len(), 1);
    }
    let mean = one([1, 130, 130, 1], Op::Pool2d(Pool2d::plain(PoolKind::Average, [130, 130], [1, 1], none)));
    assert_eq!(row_means(&mean, texpool_model::rewrite::LARGE_MEAN).nodes.len(), 2);
    // No split for a mean of parts with different lengths, or a window that reaches beyond the image.
    for pool in [
        Pool2d { counted: Some(none), ..Pool2d::plain(PoolKind::Average, [1, 20_000], [1, 1], none) },
        Pool2d::plain(PoolKind::Max, [1, 20_000], [1, 1], Padding { left: 1, ..none }),
    ] {
        assert_eq!(in_steps([1, 1, 20_003, 1], Op::Pool2d(pool)).nodes.len(), 1);
    }
}

#[test]
fn reductions_beyond_a_workgroup_reduce_rows_first() {
    for (kind, first, second) in [
        (ReduceKind::Sum, "SUM", "SUM"),
        (ReduceKind::SumSquare, "ReduceSumSquare", "SUM"),
        (ReduceKind::Max, "REDUCE_MAX", "REDUCE_MAX"),
        (ReduceKind::Min, "REDUCE_MIN", "REDUCE_MIN"),
        (ReduceKind::L1, "ReduceL1", "SUM"),
        (ReduceKind::L2, "ReduceL2", "ReduceL2"),
        (ReduceKind::LogSumExp, "ReduceLogSumExp", "ReduceLogSumExp"),
        (ReduceKind::Mean, "MEAN", "MEAN"),
    ] {
        let reduced = in_steps([1, 1024, 1030, 1], Op::Reduce(Reduce { kind, axes: [false, true, true, false] }));
        assert_eq!(ops(&reduced), [first, second]);
    }
}

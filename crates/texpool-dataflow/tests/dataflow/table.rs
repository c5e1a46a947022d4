//! Table III of Minakova and Stefanov, and graphs of models as dataflow.

use texpool_dataflow::{
    Bands, Network, Phasing, convert, executes, footprint, least_buffers, published::NETWORKS, repetition,
};
use texpool_ops::graph::{Act, Conv2d, GraphBuilder, Op, Padding, Pool2d, PoolKind, Reduce, ReduceKind};

fn megabytes(bytes: u64) -> u64 {
    (bytes + 500_000) / 1_000_000
}

#[test]
fn four_networks_match_to_the_last_digit_and_the_others_as_stated() {
    let computed = |row: &texpool_dataflow::published::PublishedNetwork| row.found().unwrap().map(megabytes);
    for row in NETWORKS.iter().filter(|row| row.differs.is_none()) {
        assert_eq!(computed(row), row.megabytes, "{}", row.network);
    }
    let others: Vec<_> =
        NETWORKS.iter().filter(|row| row.differs.is_some()).map(|row| (row.network, computed(row))).collect();
    assert_eq!(others, [("googlenet", [79, 43]), ("tiny yolo v2", [141, 65]), ("inception v1", [79, 43])]);
}

#[test]
fn layers_and_graph_of_a_row_are_one_network() {
    for row in NETWORKS {
        let (network, graph) = (row.network(), row.graph());
        // Normalisations' parameters and biases are folded or left out in the graph; the weights are the same.
        let weights = Network::from_graph(&graph).unwrap().parameters();
        let parameters = network.parameters();
        assert!(
            weights <= parameters && parameters - weights < parameters / 40,
            "{}: {weights}, {parameters}",
            row.network
        );
        let conv = |op: &str| network.layers.iter().filter(|layer| layer.op == op).count();
        let nodes = |op: &str| graph.nodes.iter().filter(|node| node.op.name() == op).count();
        assert_eq!(conv("conv"), nodes("CONV_2D"), "{}", row.network);
        assert_eq!(conv("concat"), nodes("CONCATENATION"), "{}", row.network);
    }
}

/// A window of `k` rows with `pad` rows of zeros and stride `s` over `h` rows, followed by a mean.
fn windowed(h: usize, k: usize, s: usize, pad: usize, dilation: usize) -> Option<texpool_ops::graph::Graph> {
    let mut b = GraphBuilder::new("windowed");
    let x = b.input("x", &[1, h, 4, 2]).unwrap();
    let weights = b.constant("w", &[3, k, 1, 2], &vec![0.5; 6 * k]).unwrap();
    let padding = Padding { top: pad, bottom: pad, left: 0, right: 0 };
    let conv = Conv2d { stride: [s, 1], dilation: [dilation, 1], padding, groups: 1 };
    let y = b.conv2d("y", conv, x, weights, None, Act::None).ok()?;
    let mean = Op::Reduce(Reduce { kind: ReduceKind::Mean, axes: [false, true, true, false] });
    let z = b.node("z", mean, &[y], Act::None).unwrap();
    Some(b.finish(&[z]).unwrap())
}

#[test]
fn windows_of_every_kind_balance_and_execute() {
    let mut graphs = 0;
    for (h, k, s, pad, dilation) in products(&[5, 6, 9, 14], &[1, 2, 3, 5], &[1, 2, 3], &[0, 1, 2], &[1, 2]) {
        let Some(graph) = windowed(h, k, s, pad, dilation) else { continue };
        graphs += 1;
        let network = Network::from_graph(&graph).unwrap();
        for bands in [Bands::Rows, Bands::AtMost(3), Bands::AtMost(1)] {
            let csdf = convert(&network, &Phasing { bands, ..Phasing::default() }).unwrap();
            let cycles = repetition(&csdf).unwrap();
            // An iteration is one run of the network: the input is consumed once.
            let input = csdf.channels.iter().find(|channel| channel.from == 0).unwrap();
            assert_eq!(input.production.sum() * u128::from(cycles[0]), (h * 8) as u128, "{h} {k} {s} {pad} {dilation}");
            let sizes = least_buffers(&csdf).unwrap().capacities;
            assert!(executes(&csdf, &sizes).unwrap());
        }
    }
    assert!(graphs > 200, "{graphs}");
}

fn products(
    a: &[usize],
    b: &[usize],
    c: &[usize],
    d: &[usize],
    e: &[usize],
) -> Vec<(usize, usize, usize, usize, usize)> {
    let mut all = Vec::new();
    for &a in a {
        for &b in b {
            for &c in c {
                for &d in d {
                    all.extend(e.iter().map(|&e| (a, b, c, d, e)));
                }
            }
        }
    }
    all
}

#[test]
fn a_graph_with_joins_and_a_resize_converts() {
    let mut b = GraphBuilder::new("in-place");
    let x = b.input("x", &[1, 8, 8, 4]).unwrap();
    let pool = Pool2d::plain(PoolKind::Max, [2; 2], [2; 2], Padding::default());
    let half = b.pool("half", pool, x).unwrap();
    let (mode, coords) = (texpool_ops::graph::ResizeMode::Linear, texpool_ops::graph::CoordMode::HalfPixel);
    let back = b.resize("back", mode, coords, half, [8, 8]).unwrap();
    let both = b.concat("both", 3, &[x, back]).unwrap();
    let flat = b.reshape("flat", both, &[1, 512]).unwrap();
    let graph = b.finish(&[flat]).unwrap();
    let least = footprint(&Network::from_graph(&graph).unwrap()).unwrap();
    assert!(least.phased < least.whole && least.parameters == 0, "{least:?}");
}

#[test]
fn more_phases_never_take_more_on_a_chain() {
    let graph = windowed(14, 3, 1, 1, 1).unwrap();
    let network = Network::from_graph(&graph).unwrap();
    let edges = |bands| {
        let csdf = convert(&network, &Phasing { bands: Bands::AtMost(bands), ..Phasing::default() }).unwrap();
        let sizes = least_buffers(&csdf).unwrap().capacities;
        let edges = csdf.channels.iter().zip(sizes).filter(|(channel, _)| !channel.is_loop());
        edges.map(|(_, size)| size).sum::<u64>()
    };
    let sizes: Vec<u64> = [1, 2, 7, 14].map(edges).into();
    assert!(sizes.is_sorted_by(|a, b| b <= a) && sizes[3] < sizes[0], "{sizes:?}");
}

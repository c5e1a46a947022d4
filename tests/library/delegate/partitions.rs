//! Selections of a delegate: partitions that can run one after another, and the tensors that cross their borders.

use std::collections::BTreeSet;

use proptest::prelude::*;
use texpool_model::{
    delegate::{BYTES_OF_A_CALL, Host, NodeStanding, Offline, Selection, select_of},
    import::{GraphOutline, NodeOutline, Refusal, TensorOutline, Verdict},
};
use texpool_ops::graph::ElementType;

const HOSTS: [Host; 2] = [Host::TfLite, Host::OnnxRuntime];

fn refused() -> Verdict {
    Verdict::Refused(Refusal { reason: "for a reason".into(), hint: "do something".into() })
}

fn select(graph: &GraphOutline, host: Host, min_operations: u64) -> Selection {
    select_of(graph, host, min_operations, &mut Offline).unwrap()
}

/// A graph whose nodes have one result each, after the `given` tensors; `constants` are among those.
fn graph(
    input_count: usize,
    constants: &[usize],
    nodes: &[(&str, &[usize], Verdict)],
    outputs: &[usize],
) -> GraphOutline {
    let tensor = |index: usize| TensorOutline {
        name: format!("t{index}"),
        dims: Some(vec![Some(index + 1)]),
        element_type: Some(ElementType::F32),
        constant: constants.contains(&index),
        tried_bytes: None,
    };
    let node = |(index, (operator, inputs, verdict)): (usize, &(&str, &[usize], Verdict))| NodeOutline {
        operator: (*operator).to_owned(),
        name: format!("n{index}"),
        inputs: inputs.to_vec(),
        outputs: vec![input_count + index],
        operations: 100,
        implicit: Vec::new(),
        calls_once: None,
        verdict: verdict.clone(),
    };
    GraphOutline {
        nodes: nodes.iter().enumerate().map(node).collect(),
        tensors: (0..input_count + nodes.len()).map(tensor).collect(),
        inputs: (0..input_count).filter(|index| !constants.contains(index)).collect(),
        outputs: outputs.to_vec(),
        ..GraphOutline::default()
    }
}

/// Two inputs, a constant, and nodes that read up to three earlier tensors.
fn random() -> impl Strategy<Value = GraphOutline> {
    let node = (prop::collection::vec(any::<prop::sample::Index>(), 1..4), 0u8..8);
    (prop::collection::vec(node, 1..16), prop::collection::vec(any::<prop::sample::Index>(), 0..3)).prop_map(
        |(nodes, outputs)| {
            let nodes: Vec<(Vec<usize>, Verdict)> = nodes
                .iter()
                .enumerate()
                .map(|(index, (reads, verdict))| {
                    let reads = reads.iter().map(|read| read.index(3 + index)).collect();
                    let verdict = match verdict {
                        0..=1 => refused(),
                        2 => Verdict::Passed,
                        _ => Verdict::Computed,
                    };
                    (reads, verdict)
                })
                .collect();
            let all = 3 + nodes.len();
            let outputs: Vec<usize> = outputs.iter().map(|output| output.index(all)).chain([all - 1]).collect();
            let nodes: Vec<_> = nodes.iter().map(|(reads, verdict)| ("ADD", &reads[..], verdict.clone())).collect();
            graph(3, &[2], &nodes, &outputs)
        },
    )
}

/// The node that computes a tensor.
fn producer(graph: &GraphOutline, tensor: usize) -> Option<usize> {
    graph.nodes.iter().position(|node| node.outputs.contains(&tensor))
}

/// Checks that the partitions and the other nodes can run one after another: repeatedly runs all that are ready.
fn can_run(graph: &GraphOutline, selection: &Selection) -> bool {
    let unit = |node: usize| match selection.standings[node] {
        NodeStanding::Taken(partition) => graph.nodes.len() + partition,
        _ => node,
    };
    let mut done = BTreeSet::new();
    let units: BTreeSet<usize> = (0..graph.nodes.len()).map(unit).collect();
    loop {
        let ready = |&candidate: &usize| {
            let nodes = (0..graph.nodes.len()).filter(|&node| unit(node) == candidate);
            let mut before =
                nodes.flat_map(|node| &graph.nodes[node].inputs).filter_map(|&t| producer(graph, t)).map(unit);
            before.all(|before| before == candidate || done.contains(&before))
        };
        let next: Vec<usize> = units.iter().copied().filter(|unit| !done.contains(unit)).filter(ready).collect();
        if next.is_empty() {
            return done == units;
        }
        done.extend(next);
    }
}

/// The sets that TensorFlow Lite would create, by the same sweeps over all nodes.
fn sets_of_the_runtime(graph: &GraphOutline, is_taken: &[bool]) -> Vec<Vec<usize>> {
    let mut done = vec![false; graph.nodes.len()];
    let mut sets = Vec::new();
    loop {
        let (mut kind, mut set, mut before) = (None, Vec::new(), usize::MAX);
        while set.len() != before {
            before = set.len();
            for (index, node) in graph.nodes.iter().enumerate() {
                let ready = node.inputs.iter().filter_map(|&tensor| producer(graph, tensor)).all(|node| done[node]);
                if !done[index] && ready && *kind.get_or_insert(is_taken[index]) == is_taken[index] {
                    done[index] = true;
                    set.push(index);
                }
            }
        }
        if set.is_empty() {
            return sets;
        }
        if kind == Some(true) {
            set.sort_unstable();
            sets.push(set);
        }
    }
}

proptest! {
    /// Every taken node is in exactly one partition. Partitions do not depend on each other in a circle. Exactly the
    /// tensors that are read on the other side cross a border.
    #[test]
    fn partitions_are_independent(graph in random()) {
        let mut counts = Vec::new();
        for host in HOSTS {
            let selection = select(&graph, host, 0);
            prop_assert_eq!(selection.standings.len(), graph.nodes.len());
            for (node, standing) in selection.standings.iter().enumerate() {
                let holding = selection.partitions.iter().enumerate().filter(|(_, part)| part.nodes.contains(&node));
                let holding: Vec<NodeStanding> = holding.map(|(number, _)| NodeStanding::Taken(number)).collect();
                match standing {
                    NodeStanding::Taken(_) => prop_assert_eq!(&holding[..], std::slice::from_ref(standing)),
                    _ => prop_assert!(holding.is_empty()),
                }
            }
            prop_assert!(selection.partitions.iter().all(|part| part.nodes.is_sorted_by(|a, b| a < b)));
            prop_assert!(can_run(&graph, &selection));
            counts.push(selection.partitions.len());

            // For TensorFlow Lite, results that nodes compute from constants are also constants.
            let mut constant: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.constant).collect();
            if host == Host::TfLite {
                let mut all = constant.clone();
                for node in &graph.nodes {
                    let of_constants = node.inputs.iter().all(|&tensor| all[tensor]);
                    all[node.outputs[0]] = of_constants;
                    constant[node.outputs[0]] = of_constants && node.verdict != refused();
                }
            }
            for part in &selection.partitions {
                let inside = |tensor: usize| producer(&graph, tensor).is_some_and(|node| part.nodes.contains(&node));
                let read = part.nodes.iter().flat_map(|&node| &graph.nodes[node].inputs).copied();
                let expected: BTreeSet<usize> = read.filter(|&tensor| !inside(tensor) && !constant[tensor]).collect();
                prop_assert_eq!(part.inputs.len(), expected.len());
                prop_assert_eq!(part.inputs.iter().copied().collect::<BTreeSet<_>>(), expected);
                let others = (0..graph.nodes.len()).filter(|node| !part.nodes.contains(node));
                let read = others.flat_map(|node| &graph.nodes[node].inputs).chain(&graph.outputs).copied();
                let expected: BTreeSet<usize> = read.filter(|&tensor| inside(tensor) && !constant[tensor]).collect();
                prop_assert_eq!(part.outputs.len(), expected.len());
                prop_assert_eq!(part.outputs.iter().copied().collect::<BTreeSet<_>>(), expected);
            }
            if host == Host::TfLite {
                let is_taken: Vec<bool> =
                    selection.standings.iter().map(|standing| matches!(standing, NodeStanding::Taken(_))).collect();
                let sets: Vec<Vec<usize>> = selection.partitions.iter().map(|part| part.nodes.clone()).collect();
                prop_assert_eq!(sets, sets_of_the_runtime(&graph, &is_taken));
            } else {
                // Nodes that only pass values on never form a partition.
                let computes = |node: &usize| graph.nodes[*node].verdict == Verdict::Computed;
                prop_assert!(selection.partitions.iter().all(|part| part.nodes.iter().any(computes)));
            }
        }
    }
}

fn refusals(selection: &Selection) -> Vec<(usize, &str)> {
    let nodes = selection.standings.iter().enumerate();
    nodes
        .filter_map(|(node, standing)| match standing {
            NodeStanding::Left(refusal) => Some((node, refusal.reason.as_str())),
            _ => None,
        })
        .collect()
}

/// If the runtime reads a computed constant, the runtime computes it together with its operands. A delegate computes
/// its own constants.
#[test]
fn constants_cross_no_border() {
    // t0 is a constant, t1 an input. n0: t0 -> t2, n1: t2 -> t3, n2 (left): t3, t1 -> t4, n3: t2, t1 -> t5.
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("DEQUANTIZE", &[0], Verdict::Known),
        ("NEG", &[2], Verdict::Computed),
        ("ADD", &[3, 1], refused()),
        ("ADD", &[2, 1], Verdict::Computed),
    ];
    let graph = graph(2, &[0], &nodes, &[4, 5]);
    let selection = select(&graph, Host::TfLite, 0);
    let why = "its result is a constant that the runtime reads";
    assert_eq!(refusals(&selection), [(0, why), (1, why), (2, "for a reason")]);
    assert_eq!(selection.partitions.len(), 1);
    assert_eq!((&selection.partitions[0].inputs[..], &selection.partitions[0].outputs[..]), (&[1][..], &[5][..]));
}

/// Nodes that depend on extents known only in a run are left to the runtime, because it cannot allocate their
/// tensors.
#[test]
fn nodes_that_read_extents_of_a_run_are_left() {
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("WHERE", &[0], refused()),
        ("NEG", &[1], Verdict::Computed),
        ("NEG", &[2], Verdict::Computed),
        ("NEG", &[0], Verdict::Computed),
    ];
    let graph = graph(1, &[], &nodes, &[3, 4]);
    let selection = select(&graph, Host::TfLite, 0);
    let [first, second] = ["t1", "t2"].map(|name| format!("extents of `{name}` are known only while the model runs"));
    assert_eq!(refusals(&selection), [(0, "for a reason"), (1, &first[..]), (2, &second[..])]);
    assert_eq!(select(&graph, Host::OnnxRuntime, 0).partitions.len(), 1);
}

/// Nodes that ONNX Runtime computes before a run are neither taken nor left, and do not split partitions.
#[test]
fn constants_belong_to_no_partition() {
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("Relu", &[0], Verdict::Computed),
        ("Shape", &[1], Verdict::Known),
        ("Reshape", &[1, 2], Verdict::Passed),
        ("Foo", &[3], refused()),
    ];
    let mut graph = graph(1, &[], &nodes, &[4]);
    graph.tensors[2].constant = true;
    let selection = select(&graph, Host::OnnxRuntime, 0);
    assert_eq!(selection.standings[..3], [NodeStanding::Taken(0), NodeStanding::Known, NodeStanding::Taken(0)]);
    let part = &selection.partitions[0];
    assert_eq!([&part.nodes[..], &part.inputs[..], &part.outputs[..]], [&[0, 2][..], &[0], &[3]]);
}

/// ONNX Runtime keeps the bodies of loops, so their nodes stay with it even if texpool could repeat them.
#[test]
fn loops_stay_with_the_runtime() {
    for operator in ["Loop", "Scan"] {
        let nodes: [(&str, &[usize], Verdict); 2] =
            [("Relu", &[0], Verdict::Computed), (operator, &[1], Verdict::Computed)];
        let selection = select(&graph(1, &[], &nodes, &[2]), Host::OnnxRuntime, 0);
        assert_eq!(refusals(&selection), [(1, "the runtime keeps the body of a loop")], "{operator}");
    }
}

/// Bodies of control flow read tensors of the enclosing graph that are not listed as operands.
#[test]
fn nodes_wait_for_values_that_their_bodies_read() {
    let nodes: [(&str, &[usize], Verdict); 3] =
        [("Relu", &[0], Verdict::Computed), ("If", &[0], refused()), ("Add", &[1, 2], Verdict::Computed)];
    let mut graph = graph(1, &[], &nodes, &[3]);
    graph.nodes[1].implicit = vec![1];
    let selection = select(&graph, Host::OnnxRuntime, 0);
    assert_eq!(selection.partitions.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[0], [2]]);
}

/// A set with less work than a call costs is left, unless it is all that there is to run.
#[test]
fn small_sets_are_left_unless_they_are_the_whole_graph() {
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("Relu", &[0], Verdict::Computed),
        ("Neg", &[1], Verdict::Computed),
        ("Foo", &[2], refused()),
        ("Relu", &[3], Verdict::Computed),
    ];
    let graph = graph(1, &[], &nodes, &[4]);
    for host in HOSTS {
        assert_eq!(select(&graph, host, 100).partitions.len(), 2, "{host:?}");
        let selection = select(&graph, host, 101);
        assert_eq!(selection.partitions.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[0, 1]], "{host:?}");
        let why = "its part of the graph has 100 operations, less than a call of the device costs that copies 36 bytes";
        assert_eq!(refusals(&selection)[1], (3, why), "{host:?}");
        assert!(select(&graph, host, 201).partitions.is_empty(), "{host:?}");
    }
    let alone = self::graph(1, &[], &nodes[..2], &[2]);
    assert!(HOSTS.iter().all(|&host| select(&alone, host, 1000).partitions.len() == 1));
}

/// A set that copies much for few operations is left: the more bytes cross its border, the more operations it needs.
#[test]
fn sets_that_copy_more_than_they_compute_are_left() {
    let nodes: [(&str, &[usize], Verdict); 3] =
        [("Relu", &[0], Verdict::Computed), ("Foo", &[1], refused()), ("Relu", &[2], Verdict::Computed)];
    let mut graph = graph(1, &[], &nodes, &[3]);
    for host in HOSTS {
        graph.tensors[0].dims = Some(vec![Some(1)]);
        assert_eq!(select(&graph, host, 100).partitions.len(), 2, "{host:?}");
        // A call's worth of bytes into the first set.
        graph.tensors[0].dims = Some(vec![Some(BYTES_OF_A_CALL as usize / 4)]);
        let selection = select(&graph, host, 100);
        assert_eq!(selection.partitions.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[2]], "{host:?}");
        assert_eq!(select(&graph, host, 49).partitions.len(), 2, "{host:?}");
    }
}

/// TensorFlow Lite takes a variable's value of no axes for one of unknown extents, so it cannot hand over its readers.
#[test]
fn readers_of_single_values_of_variables_are_left() {
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("VAR_HANDLE", &[0], refused()),
        ("READ_VARIABLE", &[1], refused()),
        ("CONCATENATION", &[0, 2], Verdict::Computed),
        ("NEG", &[0], Verdict::Computed),
    ];
    let mut graph = graph(1, &[], &nodes, &[3, 4]);
    for (dims, sets) in [(Vec::new(), vec![vec![3]]), (vec![Some(3)], vec![vec![2, 3]])] {
        graph.tensors[2].dims = Some(dims);
        let selection = select(&graph, Host::TfLite, 0);
        assert_eq!(selection.partitions.iter().map(|part| part.nodes.clone()).collect::<Vec<_>>(), sets);
        if sets == [[3]] {
            assert_eq!(refusals(&selection)[2], (2, "extents of `t2` are known only while the model runs"));
        }
    }
}

/// The values of a delegate are not those of the runtime, so all nodes of variables are in one set, or in none.
#[test]
fn variables_are_taken_together() {
    let nodes = |middle: Verdict| -> [(&'static str, &'static [usize], Verdict); 5] {
        [
            ("CALL_ONCE", &[], Verdict::Known),
            ("VAR_HANDLE", &[], Verdict::Known),
            ("READ_VARIABLE", &[2], Verdict::Known),
            ("NEG", &[3], middle),
            ("ASSIGN_VARIABLE", &[2, 4], Verdict::Known),
        ]
    };
    let sets = |nodes: &[(&str, &[usize], Verdict)], outputs: &[usize]| -> Vec<Vec<usize>> {
        let selection = select(&graph(1, &[], nodes, outputs), Host::TfLite, 0);
        selection.partitions.into_iter().map(|part| part.nodes).collect()
    };
    assert_eq!(sets(&nodes(Verdict::Computed), &[4]), [[0, 1, 2, 3, 4]]);
    // A node that is left lies between them, one of theirs is left, or a variable is handed to another graph.
    assert!(sets(&nodes(refused()), &[4]).is_empty());
    assert_eq!(sets(&nodes(Verdict::Computed), &[2, 4]), [[3]]);
    for left in [0, 1, 2, 4] {
        let mut nodes = nodes(Verdict::Computed);
        nodes[left].2 = refused();
        assert_eq!(sets(&nodes, &[4]), [[3]], "{left}");
    }
}

/// TensorFlow Lite infers shapes from the extents that its own SHAPE returns, before any run. A delegate would return them
/// during a run, so SHAPE stays with the runtime if a node that is left reads it.
#[test]
fn extents_that_the_runtime_reads_are_left() {
    let nodes: [(&str, &[usize], Verdict); 4] = [
        ("NEG", &[0], Verdict::Computed),
        ("SHAPE", &[0], Verdict::Known),
        ("FILL", &[2], refused()),
        ("ADD", &[1, 3], refused()),
    ];
    let selection = select(&graph(1, &[], &nodes, &[4]), Host::TfLite, 0);
    assert_eq!(refusals(&selection)[0], (1, "its result is a constant that the runtime reads"));
    assert_eq!(selection.partitions.iter().map(|part| &part.nodes[..]).collect::<Vec<_>>(), [[0]]);
}

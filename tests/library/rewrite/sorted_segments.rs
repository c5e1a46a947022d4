//! Large reductions of segments read sorted ones: the answers stay the same.

use texpool_model::rewrite::sorted_segments;
use texpool_ops::{
    graph::{Act, Graph, GraphBuilder, Op, SegmentKind, SegmentReduce, check},
    ops::reference,
};

/// Greatest integer that texels of 32-bit floats hold like all smaller ones.
const MOST: u32 = 1 << 24;

/// Segments of either sign, some of which do not exist.
fn segments(number: usize, places: usize) -> Vec<f32> {
    let below = 2 * places + 6;
    (0..number).map(|i| ((i * i * 7 + i * 13) % below) as f32 - (below / 2) as f32).collect()
}

/// Two reductions by the same segments.
fn reductions(number: usize, places: usize, constant: Option<&[f32]>) -> Graph {
    let mut b = GraphBuilder::new("segments");
    let x = b.input("x", &[1, 1, number, 9]).unwrap();
    let list = match constant {
        Some(values) => b.constant("segments", &[1, 1, 1, number], values).unwrap(),
        None => b.input("segments", &[1, 1, 1, number]).unwrap(),
    };
    let outputs = [SegmentKind::Sum, SegmentKind::Max].map(|kind| {
        let op = Op::SegmentReduce(SegmentReduce { kind, sorted: false });
        b.node_to("y", op, &[x, list], &[1, 1, places, 9], Act::None).unwrap()
    });
    b.finish(&outputs).unwrap()
}

fn are_sorted(graph: &Graph) -> bool {
    graph.nodes.iter().all(|node| !matches!(node.op, Op::SegmentReduce(SegmentReduce { sorted: false, .. })))
}

#[test]
fn sorted_segments_give_the_same_results() {
    let (number, places) = (2500, 601);
    let values = segments(number, places);
    let x: Vec<f32> = (0..number * 9).map(|i| ((i * 37 + 11) % 101) as f32 / 25.0 - 1.0).collect();
    let computed = reductions(number, places, None);
    let expected = reference::outputs(&computed, &[x.clone(), values.clone()]).unwrap();
    let sorted = sorted_segments(&computed, MOST).into_owned();
    check(&sorted).unwrap();
    assert!(are_sorted(&sorted));
    assert_eq!(reference::outputs(&sorted, &[x.clone(), values.clone()]).unwrap(), expected);
    // The list is sorted once.
    assert_eq!(sorted.nodes.iter().filter(|node| matches!(node.op, Op::TopK(_))).count(), 1);
    let known = reductions(number, places, Some(&values));
    for most in [MOST, 2048] {
        let sorted = sorted_segments(&known, most).into_owned();
        check(&sorted).unwrap();
        assert!(are_sorted(&sorted));
        assert_eq!(reference::outputs(&sorted, std::slice::from_ref(&x)).unwrap(), expected, "{most}");
        assert_eq!(sorted.nodes.len(), 3);
    }
}

#[test]
fn few_segments_stay_unless_they_are_constant() {
    let few = reductions(20, 5, None);
    assert!(!are_sorted(&sorted_segments(&few, MOST)));
    let known = reductions(20, 5, Some(&segments(20, 5)));
    assert!(are_sorted(&sorted_segments(&known, MOST)));
}

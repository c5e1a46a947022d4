//! Non-maximum suppression: numbers of boxes around the sizes of words and workgroups, equal scores, limits that are
//! met exactly, and values that are no numbers.

use texpool_gpu::{Executor, ExecutorOptions};
use texpool_ops::{
    graph::{Act, GraphBuilder, NonMaxSuppression, Op, Threshold},
    ops::reference,
};

use super::{case, epilogues, harness::Harness, placed, rng::Rng};
use crate::support::open;

fn limit(value: f32, is_included: bool) -> Threshold {
    Threshold { value, is_included }
}

/// Selects up to `places` of `count` boxes, in two batches of three rows of scores.
fn check(harness: &mut Harness, op: NonMaxSuppression, count: usize) {
    let operands = [placed([2, 1, count, 4]), placed([2, 3, 1, count])];
    case(harness, Op::NonMaxSuppression(op), &operands, [2, 3, op.places + 1, 2]);
}

fn plain(places: usize) -> NonMaxSuppression {
    NonMaxSuppression { places, score: limit(-1.0, false), overlap: limit(0.4, false), unused: [places as f32, -3.0] }
}

/// Numbers of boxes that fill no texel, a texel of each lane, a word of each lane and more, and places that fill what the
/// lanes store together.
#[test]
fn boxes_of_any_number() {
    let mut harness = Harness::new();
    for (count, places) in [
        (1, 1),
        (3, 3),
        (4, 2),
        (31, 20),
        (33, 33),
        (130, 50),
        (257, 63),
        (300, 64),
        (2047, 30),
        (2049, 30),
        (8400, 300),
    ] {
        check(&mut harness, plain(places), count);
    }
}

/// All words that a lane may have. Indices are beyond the range of 16 bits, so only 32 bits are tested.
#[test]
fn as_many_boxes_as_a_row_may_have() {
    const COUNT: usize = 98_304;
    let mut b = GraphBuilder::new("boxes");
    let boxes = b.input("boxes", &[1, 1, COUNT, 4]).unwrap();
    let scores = b.input("scores", &[1, 1, 1, COUNT]).unwrap();
    let y = b.node("y", Op::NonMaxSuppression(plain(20)), &[boxes, scores], Act::None).unwrap();
    let graph = b.finish(&[y]).unwrap();
    let mut rng = Rng::new(1);
    let inputs = [rng.values(4 * COUNT), rng.values(COUNT)];
    let expected = reference::outputs(&graph, &inputs).unwrap();
    let mut executor = Executor::new(&open(), &graph, &ExecutorOptions::default()).unwrap();
    assert_eq!(executor.run(&[&inputs[0], &inputs[1]]).unwrap(), expected);
    assert!(expected[0].chunks(2).any(|selected| selected[0] >= 65_536.0));
}

/// So many visits that a lane takes a word in each round. Places stay empty, or all are filled, because nothing overlaps
/// enough.
#[test]
fn many_boxes_and_places() {
    let mut harness = Harness::new();
    check(&mut harness, plain(3000), 5000);
    check(&mut harness, NonMaxSuppression { overlap: limit(1.0, false), ..plain(1600) }, 8400);
}

/// Coordinates and scores of few values, so that many overlaps and scores are equal to each other and to the limits.
#[test]
fn limits_that_are_met_exactly() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 2.0).round() / 2.0);
    for (score_included, overlap_included) in [(false, false), (true, false), (false, true), (true, true)] {
        let op = NonMaxSuppression {
            score: limit(0.5, score_included),
            overlap: limit(0.25, overlap_included),
            ..plain(12)
        };
        check(&mut harness, op, 40);
    }
    // Nothing is selected, nothing overlaps enough, and everything that overlaps at all is left out.
    for (score, overlap) in [(3.0, 0.5), (-3.0, 1.0), (-3.0, 0.0)] {
        check(
            &mut harness,
            NonMaxSuppression { score: limit(score, false), overlap: limit(overlap, false), ..plain(40) },
            40,
        );
    }
}

/// NaN is never selected, and boxes with such coordinates overlap nothing.
#[test]
fn boxes_and_scores_that_are_no_numbers() {
    let mut harness = Harness::new();
    harness.inputs(|x| if (0.5..0.7).contains(&x) { f32::NAN } else { (x * 4.0).round() / 4.0 });
    check(&mut harness, plain(40), 60);
}

/// Every form of epilogue behind a selection.
#[test]
fn epilogues_after_a_selection() {
    let mut harness = Harness::new();
    let operands = [placed([1, 1, 20, 4]), placed([1, 2, 1, 20])];
    epilogues(&mut harness, &Op::NonMaxSuppression(plain(6)), &operands, [1, 2, 7, 2], false);
}

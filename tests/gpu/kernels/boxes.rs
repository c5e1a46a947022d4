//! Non-maximum suppression: numbers of boxes around the sizes of words and workgroups, equal scores, limits that are
//! met exactly, and values that are no numbers.

use texpool_ops::graph::{NonMaxSuppression, Op, Threshold};

use super::{case, epilogues, harness::Harness, placed};

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

/// Numbers of boxes that fill no word, words of one lane each, and more words than a workgroup has lanes.
#[test]
fn boxes_of_any_number() {
    let mut harness = Harness::new();
    for (count, places) in [(1, 1), (3, 3), (4, 2), (31, 20), (33, 33), (130, 50), (2047, 30)] {
        check(&mut harness, plain(places), count);
    }
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

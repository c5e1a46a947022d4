//! The selection of boxes: options, results that the file states without extents, and refusals.

use texpool_ops::ops::reference;

use super::{
    import,
    one::{K, S, X, near, results},
};
use crate::support::tflite::{F32, I32, Model, flex_map};

/// Three boxes, of which the second nearly is the first, and their scores.
const BOXES: &[f32] = &[0.0, 0.0, 2.0, 2.0, 0.0, 0.0, 2.0, 1.9, 5.0, 5.0, 7.0, 7.0];
const SCORES: &[f32] = &[0.5, 0.75, 0.25];

/// The same boxes by their centres and sizes, and scores of the background and of two classes.
const ANCHORS: &[f32] = &[1.0, 1.0, 2.0, 2.0, 1.0, 0.95, 2.0, 1.9, 6.0, 6.0, 2.0, 2.0];
const CLASSES: &[f32] = &[0.0, 0.5, 0.1, 0.0, 0.2, 0.75, 0.9, 0.25, 0.1];

/// Results of the operator of version 4 or 5 that selects `number` boxes.
pub(super) fn suppressed(code: i32, number: i32) -> Vec<f32> {
    try_suppressed(code, number, [0.5, 0.0, 0.0]).unwrap()
}

fn try_suppressed(code: i32, number: i32, limits: [f32; 3]) -> Result<Vec<f32>, String> {
    let [overlap, score, sigma] = limits.each_ref().map(|limit| K(&[], std::slice::from_ref(limit)));
    let mut operands = vec![X(&[3, 4], BOXES), X(&[3], SCORES), S(number), overlap, score];
    let dims = [number];
    let mut outputs: Vec<(i8, &[i32])> = vec![(I32, &dims)];
    if code == V5 {
        operands.push(sigma);
        outputs.push((F32, &dims));
    }
    outputs.push((I32, &[]));
    results(code, &operands, None, &outputs).map(|results| results.concat())
}

const V4: i32 = 120;
const V5: i32 = 121;

/// Options of the custom operator, with other values for some.
pub(super) fn options(others: &[(&str, f32)]) -> Vec<u8> {
    let plain = [
        ("detections_per_class", 2.0),
        ("h_scale", 5.0),
        ("max_classes_per_detection", 1.0),
        ("max_detections", 3.0),
        ("nms_iou_threshold", 0.5),
        ("nms_score_threshold", 0.2),
        ("num_classes", 2.0),
        ("use_regular_nms", 0.0),
        ("w_scale", 5.0),
        ("x_scale", 10.0),
        ("y_scale", 10.0),
    ];
    let value = |name| others.iter().find(|(other, _)| *other == name).map(|&(_, value)| value);
    flex_map(&plain.map(|(name, number)| (name, value(name).unwrap_or(number))))
}

/// A file with the custom operator, whose results are stated with these extents.
pub(super) fn detector(options: &[u8], outputs: [&[i32]; 4]) -> Vec<u8> {
    let mut m = Model::new();
    let (codes, scores) = (m.floats("codes", &[1, 3, 4]), m.floats("scores", &[1, 3, 3]));
    let anchors = m.constant("anchors", &[3, 4], F32, ANCHORS.iter().flat_map(|v| v.to_le_bytes()).collect());
    let outputs = outputs.map(|dims| m.floats("result", dims));
    m.custom_of_many("TFLite_Detection_PostProcess", &[codes, scores, anchors], &outputs, options.to_vec());
    m.bytes(&[codes, scores], &outputs)
}

/// Results of the custom operator.
pub(super) fn detected(options: &[u8], outputs: [&[i32]; 4]) -> Result<Vec<f32>, String> {
    let graph = import(detector(options, outputs)).map_err(|error| error.to_string())?;
    let inputs = [vec![0.0; 12], CLASSES.to_vec()];
    Ok(reference::outputs(&graph, &inputs).map_err(|error| error.to_string())?.concat())
}

const UNSTATED: [&[i32]; 4] = [&[]; 4];

#[test]
fn each_class_may_select_boxes_for_itself() {
    let options = options(&[("use_regular_nms", 1.0), ("max_detections", 4.0)]);
    let found = detected(&options, UNSTATED).unwrap();
    let [first, second, third] = [[0.0, 0.0, 2.0, 1.9], [0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 7.0, 7.0]];
    let boxes = [first, second, third, [0.0; 4]].concat();
    near(&found, &[boxes, vec![1.0, 0.0, 0.0, 0.0], vec![0.75, 0.5, 0.25, 0.0], vec![3.0]].concat());
}

#[test]
fn a_box_may_have_several_classes() {
    let options = options(&[("max_classes_per_detection", 3.0), ("max_detections", 2.0)]);
    let found = detected(&options, UNSTATED).unwrap();
    let [first, second] = [[0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 7.0, 7.0]];
    // There are two classes, so that the third of a box is missing.
    let boxes = [first, first, [0.0; 4], second, second, [0.0; 4]].concat();
    let (classes, scores) = (vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0], vec![0.75, 0.2, 0.0, 0.25, 0.1, 0.0]);
    near(&found, &[boxes, classes, scores, vec![2.0]].concat());
}

#[test]
fn more_boxes_may_be_wanted_than_there_are() {
    near(&suppressed(V4, 5), &[1.0, 2.0, 0.0, 0.0, 0.0, 2.0]);
    let found = detected(&options(&[("max_detections", 5.0)]), UNSTATED).unwrap();
    near(&found[20..], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.75, 0.25, 0.0, 0.0, 0.0, 2.0]);
}

#[test]
fn limits_and_options_that_make_no_sense_are_refused() {
    for (limits, expected) in [
        ([1.5, 0.0, 0.0], "its limits are 1.5 for the overlap and 0 for the score"),
        ([0.5, 0.0, 0.5], "its sigma is not 0"),
    ] {
        let refused = try_suppressed(V5, 2, limits).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    for (others, expected) in [
        (("nms_iou_threshold", 0.0), "its limits are 0 for the overlap"),
        (("max_detections", 0.0), "its max_detections is 0"),
        (("num_classes", 5.0), "its scores are of 3 classes, not of 5"),
        (("h_scale", 0.0), "its scales are [10.0, 10.0, 0.0, 5.0]"),
    ] {
        let refused = detected(&options(&[others]), UNSTATED).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    let refused = detected(&[1, 2, 3], UNSTATED).unwrap_err();
    assert!(refused.contains("its options are no map of numbers"), "{refused}");
    let refused = detected(&flex_map(&[("max_detections", 1.0)]), UNSTATED).unwrap_err();
    assert!(refused.contains("its options have no number `nms_score_threshold`"), "{refused}");
    let by_class = options(&[("use_regular_nms", 1.0), ("nms_score_threshold", -1.0)]);
    assert!(detected(&by_class, UNSTATED).unwrap_err().contains("scores below 0"));
}

//! The example's conversion from BlazeFace's raw numbers to faces.

#![cfg(test)]

#[path = "../../examples/blazeface/detect.rs"]
mod detect;

use detect::faces;

/// Anchor 680 is in the 8 by 8 grid: cell (680 - 512) / 6 = 28, so x 4, y 3, and its centre at 4.5/8, 3.5/8.
fn outputs(set: &[(usize, f32, [f32; 4])]) -> (Vec<f32>, Vec<f32>) {
    let (mut regressors, mut scores) = (vec![0.0; 896 * 16], vec![-90.0; 896]);
    for &(anchor, score, bounds) in set {
        scores[anchor] = score;
        regressors[anchor * 16..][..4].copy_from_slice(&bounds);
        for k in 0..6 {
            regressors[anchor * 16 + 4 + 2 * k..][..2].copy_from_slice(&[k as f32, -(k as f32)]);
        }
    }
    (regressors, scores)
}

fn near(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
}

#[test]
fn an_anchor_in_each_grid_is_decoded() {
    let (regressors, scores) = outputs(&[(680, 3.0, [12.8, -6.4, 25.6, 51.2]), (35, 2.0, [0.0, 0.0, 8.0, 8.0])]);
    let boxes = faces(&regressors, &scores);
    assert_eq!(boxes.len(), 2);
    let (x, y) = (4.5 / 8.0 + 0.1, 3.5 / 8.0 - 0.05);
    assert!(near(&boxes[0].bounds, &[x - 0.1, y - 0.2, x + 0.1, y + 0.2]), "{:?}", boxes[0]);
    assert!(near(&boxes[0].points[5], &[4.5 / 8.0 + 5.0 / 128.0, 3.5 / 8.0 - 5.0 / 128.0]), "{:?}", boxes[0]);
    assert!((boxes[0].score - 0.952_574).abs() < 1e-5);
    // Anchor 35 is in the 16 by 16 grid: cell 17, so x 1, y 1.
    let (x, y) = (1.5 / 16.0, 1.5 / 16.0);
    assert!(near(&boxes[1].bounds, &[x - 0.03125, y - 0.03125, x + 0.03125, y + 0.03125]), "{:?}", boxes[1]);
}

#[test]
fn boxes_of_one_face_are_averaged_by_score_and_others_are_kept() {
    let even = 0.0; // sigmoid 0.5, the threshold itself
    let (regressors, scores) = outputs(&[
        (680, 100.0, [0.0, 0.0, 40.0, 40.0]),
        (681, even, [6.4, 0.0, 40.0, 40.0]),
        (512, 5.0, [0.0, 0.0, 20.0, 20.0]),
        (700, -0.1, [0.0, 0.0, 20.0, 20.0]),
    ]);
    let boxes = faces(&regressors, &scores);
    assert_eq!(boxes.len(), 2, "{boxes:?}");
    assert_eq!(boxes[0].score, 1.0);
    let x = 4.5 / 8.0 + 0.05 * (0.5 / 1.5);
    assert!((boxes[0].bounds[0] + boxes[0].bounds[2] - 2.0 * x).abs() < 1e-5, "{:?}", boxes[0]);
}

#[test]
fn extreme_and_meaningless_scores_do_no_harm() {
    let nan = [f32::NAN; 4];
    let (regressors, mut scores) = outputs(&[(680, f32::INFINITY, nan), (3, f32::MAX, [0.0; 4]), (4, 2.0, nan)]);
    scores[9] = f32::NAN;
    let boxes = faces(&regressors, &scores);
    assert_eq!(boxes.len(), 3);
    assert_eq!(boxes[..2].iter().map(|f| f.score).collect::<Vec<_>>(), [1.0, 1.0]);
}

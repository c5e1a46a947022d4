//! Layers whose weights or biases a run computes.

use super::one::{K, X, near, one};
use crate::support::tflite::flags;

const FULLY_CONNECTED: i32 = 9;

#[test]
fn layers_multiply_by_weights_of_a_run() {
    let (x, weights, biases) = ([1.0, -2.0, 0.5, 3.0], [2.0, 1.0, -1.0, 4.0, 0.5, 0.25], [0.5, -10.0, 1.0]);
    let products = [[0.0f32, -9.0, 0.0], [4.0, 11.5, 1.0]];
    let expected = |has_bias: bool, is_positive: bool| -> Vec<f32> {
        let value = |row: usize, column: usize| {
            let sum = products[row][column] + if has_bias { biases[column] } else { 0.0 };
            if is_positive { sum.max(0.0) } else { sum }
        };
        (0..6).map(|i| value(i / 3, i % 3)).collect()
    };
    for activation in [0, 1] {
        let options = || flags(8, &[activation]);
        let positive = activation == 1;
        let x = || X(&[1, 2, 2], &x);
        let all = [x(), X(&[3, 2], &weights), X(&[3], &biases)];
        near(&one(FULLY_CONNECTED, &all, options(), &[2, 3]), &expected(true, positive));
        let known_bias = [x(), X(&[3, 2], &weights), K(&[3], &biases)];
        near(&one(FULLY_CONNECTED, &known_bias, options(), &[2, 3]), &expected(true, positive));
        let known_weights = [x(), K(&[3, 2], &weights), X(&[3], &biases)];
        near(&one(FULLY_CONNECTED, &known_weights, options(), &[2, 3]), &expected(true, positive));
        near(&one(FULLY_CONNECTED, &all[..2], options(), &[2, 3]), &expected(false, positive));
    }
}

//! Layers of 8-bit integers give the integers of TensorFlow Lite's kernels: of XNNPACK, and of the reference.

use std::sync::Arc;

use texpool_model::import::{FakeQuant, ImportOptions, from_bytes_with};
use texpool_ops::{
    graph::{FixedPoint, QuantizedAdd},
    ops::reference,
};

use crate::support::tflite::{Field, I8, Model, Table, U8, conv, flags};

/// Scale and zero point.
type Scale = (f32, i64);

/// The arithmetics, with the name of each for messages.
const KERNELS: [(FakeQuant, &str); 2] = [(FakeQuant::On, "XNNPACK"), (FakeQuant::Reference, "reference")];

/// Integers from 0 to 255 without a pattern.
fn bytes(count: usize, seed: u32) -> Vec<i64> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        i64::from(state >> 24)
    };
    (0..count).map(next).collect()
}

/// Runs a model of one output, given the integers of its inputs.
fn run(model: &[u8], fake_quant: FakeQuant, inputs: &[(&[i64], Scale)], (scale, zero): Scale) -> Vec<i64> {
    let options = ImportOptions { fake_quant, ..ImportOptions::default() };
    let graph = from_bytes_with(Arc::new(model.to_vec()), &options).unwrap();
    let reals = |&(integers, (scale, zero)): &(&[i64], Scale)| -> Vec<f32> {
        integers.iter().map(|q| (q - zero) as f32 * scale).collect()
    };
    let result = reference::outputs(&graph, &inputs.iter().map(reals).collect::<Vec<_>>()).unwrap().remove(0);
    result.iter().map(|value| (value / scale).round() as i64 + zero).collect()
}

/// Adds a tensor with a scale.
fn tensor(m: &mut Model, name: &str, dims: &[i32], dtype: i8, (scale, zero): Scale) -> i32 {
    let id = m.tensor(name, dims, dtype);
    m.scaled(id, &[scale], &[zero], 0)
}

/// Sums that are requantised with a ratio per channel, in floats or in fixed point. The last bias has 27 bits.
#[test]
fn convolutions_requantise_exact_sums() {
    let (from, to): (Scale, Scale) = ((0.021, 5), (0.37, -7));
    let (of_weights, biases) = ([0.013f32, 0.0071, 0.0297], [900, -77_777, 100_000_000]);
    let weights: Vec<i64> = bytes(3 * 40, 3).iter().map(|q| q - 128).collect();
    let mut m = Model::new();
    let x = tensor(&mut m, "x", &[1, 5, 7, 40], U8, from);
    let w = m.constant("w", &[3, 1, 1, 40], I8, weights.iter().map(|&q| q as u8).collect());
    let w = m.scaled(w, &of_weights, &[0, 0, 0], 0);
    let b = m.ints("b", &biases);
    let y = tensor(&mut m, "y", &[1, 5, 7, 3], I8, to);
    m.op(3, &[x, w, b], y, conv(1, 1, 1, 0));
    let model = m.bytes(&[x], &[y]);
    let input = bytes(5 * 7 * 40, 9);
    let mut results = Vec::new();
    for (kernels, name) in KERNELS {
        let found = run(&model, kernels, &[(&input, from)], to);
        for (i, &found) in found.iter().enumerate() {
            let (pixel, c) = (i / 3, i % 3);
            let product = |k: usize| (input[pixel * 40 + k] - from.1) * weights[c * 40 + k];
            let sum = (0..40).map(product).sum::<i64>() as i32 + biases[c];
            let steps = match kernels {
                FakeQuant::Reference => {
                    FixedPoint::new(f64::from(from.0) * f64::from(of_weights[c]) / f64::from(to.0)).times(sum)
                }
                _ => (sum as f32 * (from.0 * of_weights[c] / to.0)).round_ties_even() as i32,
            };
            let expected = (i64::from(steps) + to.1).clamp(-128, 127);
            assert_eq!(found, expected, "{name}, element {i}, sum {sum}");
        }
        results.push(found);
    }
    assert!(results[0].iter().filter(|&&q| q.abs() < 120).count() > 20, "most results are within the range");
}

/// Halves that both kernels round differently.
#[test]
fn sums_are_those_of_the_kernels() {
    let (a_scale, b_scale, to): (Scale, Scale, Scale) = ((0.5, 3), (0.25, -9), (0.5, 1));
    let mut m = Model::new();
    let a = tensor(&mut m, "a", &[1, 400], U8, a_scale);
    let b = tensor(&mut m, "b", &[1, 400], I8, b_scale);
    let y = tensor(&mut m, "y", &[1, 400], I8, to);
    m.op(0, &[a, b], y, flags(11, &[0]));
    let model = m.bytes(&[a, b], &[y]);
    let left = bytes(400, 1);
    let right: Vec<i64> = bytes(400, 2).iter().map(|q| q - 128).collect();
    let limits = [-128 - 1, 127 - 1];
    let adds = [
        QuantizedAdd::shift([a_scale.0, b_scale.0], to.0, limits).unwrap(),
        QuantizedAdd::fixed([a_scale.0, b_scale.0], to.0, limits).unwrap(),
    ];
    let mut results = Vec::new();
    for ((kernels, name), add) in KERNELS.into_iter().zip(adds) {
        let found = run(&model, kernels, &[(&left, a_scale), (&right, b_scale)], to);
        let sum = |(a, b): (&i64, &i64)| add.of((a - a_scale.1) as f32, (b - b_scale.1) as f32) as i64 + to.1;
        let expected: Vec<i64> = left.iter().zip(&right).map(sum).collect();
        assert_eq!(found, expected, "{name}");
        results.push(found);
    }
    assert_ne!(results[0], results[1]);
}

/// Means of integers round halves away from zero as they are stored, not as they are counted from the zero point.
#[test]
fn means_round_the_integers_that_are_stored() {
    let scale: Scale = (0.5, -100);
    let mut m = Model::new();
    let x = tensor(&mut m, "x", &[1, 2, 4, 1], I8, scale);
    let y = tensor(&mut m, "y", &[1, 1, 2, 1], I8, scale);
    let sizes = [(6, 2), (8, 2), (10, 2), (12, 2)].map(|(slot, n)| (slot, Field::I32(n)));
    let options = [(4, Field::I8(1))].into_iter().chain(sizes).collect();
    m.op(1, &[x], y, Some((5, Table(options))));
    let model = m.bytes(&[x], &[y]);
    for (kernels, name) in KERNELS {
        // Means of 2.5 and -2.5.
        let found = run(&model, kernels, &[(&[1, 2, -1, -2, 3, 4, -3, -4], scale)], scale);
        assert_eq!(found, [3, -3], "{name}");
    }
}

/// Parts of other scales are rounded to the scale of the whole.
#[test]
fn concatenations_convert_their_parts() {
    let (a_scale, b_scale, to): (Scale, Scale, Scale) = ((0.1, 0), (0.25, 7), (0.2, 20));
    let mut m = Model::new();
    let a = tensor(&mut m, "a", &[1, 4], U8, a_scale);
    let b = tensor(&mut m, "b", &[1, 3], U8, b_scale);
    let y = tensor(&mut m, "y", &[1, 7], U8, to);
    m.op(2, &[a, b], y, Some((10, Table(vec![(4, Field::I32(1)), (6, Field::I8(0))]))));
    let model = m.bytes(&[a, b], &[y]);
    for (kernels, name) in KERNELS {
        let found = run(&model, kernels, &[(&[0, 4, 7, 255], a_scale), (&[0, 7, 255], b_scale)], to);
        assert_eq!(found, [20, 22, 24, 148, 11, 20, 255], "{name}");
    }
}

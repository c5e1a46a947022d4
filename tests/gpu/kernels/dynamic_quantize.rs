//! Quantisation with a scale that a run computes.

use texpool_ops::graph::{DynamicQuantize, Op, Shape};

use super::{Source, case, epilogues, harness::Harness, placed};

/// Extents with few and many channels, and with texels that have less than four.
const DIMS: [[usize; 4]; 5] = [[1, 1, 1, 1], [2, 3, 5, 7], [1, 1, 300, 5], [3, 2, 1, 61], [1, 40, 40, 8]];

/// Scale and zero point of a run.
fn scale(values: [f32; 2]) -> Source {
    Source::Constant(Shape::new(1, 1, 1, 2), values.to_vec())
}

#[test]
fn ranges_of_pixels_and_of_all_values() {
    let mut harness = Harness::new();
    for values in [|x| x, |x| x + 3.0, |x: f32| x - 3.0] {
        harness.inputs(values);
        for [b, h, w, c] in DIMS {
            case(&mut harness, Op::Extremes, &[placed([b, h, w, c])], [b, h, w, 2]);
            case(&mut harness, Op::DynamicScale, &[placed([b, h, w, c])], [1, 1, 1, 2]);
        }
    }
    epilogues(&mut harness, &Op::Extremes, &[placed([2, 3, 5, 7])], [2, 3, 5, 2], true);
    epilogues(&mut harness, &Op::DynamicScale, &[placed([2, 3, 5, 7])], [1, 1, 1, 2], true);
}

/// All zeros have a scale of one; NaN makes the scale NaN, wherever it is.
#[test]
fn ranges_of_zeros_and_of_no_numbers() {
    let mut harness = Harness::new();
    for values in [|_| 0.0, |x: f32| if x > 1.9 { f32::NAN } else { x }, |x: f32| if x > 1.9 { -f32::NAN } else { x }] {
        harness.inputs(values);
        for [b, h, w, c] in DIMS {
            case(&mut harness, Op::Extremes, &[placed([b, h, w, c])], [b, h, w, 2]);
            case(&mut harness, Op::DynamicScale, &[placed([b, h, w, c])], [1, 1, 1, 2]);
        }
    }
}

/// Halves round to even, and integers beyond eight bits are limited.
#[test]
fn integers() {
    let mut harness = Harness::new();
    harness.inputs(|x| (x * 64.0).round() * 0.25);
    for from_zero in [false, true] {
        let op = || Op::DynamicQuantize(DynamicQuantize { from_zero });
        for dims in DIMS {
            for values in [[0.5, 0.0], [0.5, 128.0], [0.03, 255.0], [0.1, 17.0]] {
                case(&mut harness, op(), &[placed(dims), scale(values)], dims);
            }
        }
        epilogues(&mut harness, &op(), &[placed([2, 3, 5, 7]), scale([0.5, 3.0])], [2, 3, 5, 7], true);
    }
    harness.inputs(|x| if x.abs() < 0.2 { f32::NAN } else { x * 100.0 });
    case(
        &mut harness,
        Op::DynamicQuantize(DynamicQuantize { from_zero: true }),
        &[placed([2, 3, 5, 7]), scale([0.5, 100.0])],
        [2, 3, 5, 7],
    );
}

/// Scale and zero point from a tensor that a run computes. Zero points are whole and scales are not zero.
#[test]
fn integers_with_computed_scales() {
    let mut harness = Harness::new();
    harness.inputs(|x| x.abs().floor() + 1.0);
    for from_zero in [false, true] {
        let op = Op::DynamicQuantize(DynamicQuantize { from_zero });
        for dims in DIMS {
            case(&mut harness, op.clone(), &[placed(dims), placed([1, 1, 1, 2])], dims);
        }
        epilogues(&mut harness, &op, &[placed([2, 3, 5, 7]), placed([1, 1, 1, 2])], [2, 3, 5, 7], false);
    }
}

//! DFT and STFT against sums written out.

use std::f64::consts::TAU;

use texpool_ops::ops::reference;

use super::support::{
    import,
    onnx::{Attr, INT64, Model, bytes},
};

fn integer(m: &mut Model, name: &str, value: i64) {
    m.tensor(name, INT64, &[], &bytes(9, &value.to_le_bytes()));
}

/// Values without a pattern, from -1 to 1.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * i * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

/// Returns the sum of `values` times the waves of a bin, as a complex number.
fn bin(values: &[[f64; 2]], bin: usize, backwards: bool) -> [f64; 2] {
    let turn = if backwards { TAU } else { -TAU };
    let terms = values.iter().enumerate().map(|(i, [re, im])| {
        let (sin, cos) = (turn * (i * bin) as f64 / values.len() as f64).sin_cos();
        [re * cos - im * sin, re * sin + im * cos]
    });
    terms.fold([0.0, 0.0], |[re, im], [more_re, more_im]| [re + more_re, im + more_im])
}

fn assert_near(result: &[f32], expected: &[f64]) {
    assert_eq!(result.len(), expected.len());
    for (i, (&result, &expected)) in result.iter().zip(expected).enumerate() {
        assert!((f64::from(result) - expected).abs() < 1e-4, "{i}: {result}, not {expected}");
    }
}

/// Frames that end behind the last whole step, steps longer than a frame, and real and complex signals.
#[test]
fn frames_of_a_signal_are_transformed() {
    for (length, step, count, parts, windowed) in
        [(8, 3, 20, 1, true), (8, 3, 19, 1, true), (5, 7, 19, 1, true), (4, 4, 16, 2, false), (6, 1, 9, 2, true)]
    {
        let mut m = Model::new();
        m.input("x", &[2, count as i64, parts as i64]);
        integer(&mut m, "step", step as i64);
        integer(&mut m, "length", length as i64);
        let window: Vec<f32> = (0..length).map(|i| if windowed { 1.0 / (1 + i) as f32 } else { 1.0 }).collect();
        m.floats("window", &[length as i64], &window);
        let one_sided = parts == 1;
        let operands = ["x", "step", if windowed { "window" } else { "" }, "length"];
        m.node("STFT", &operands, &["y"], &[("onesided", Attr::Int(one_sided.into()))]);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let (frames, bins) = ((count - length) / step + 1, if one_sided { length / 2 + 1 } else { length });
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [2, frames, bins, 2]);
        let x = values(2 * count * parts);
        let mut expected = Vec::new();
        for batch in x.chunks(count * parts) {
            for frame in 0..frames {
                let value = |i: usize| {
                    let part = |part: usize| batch.get((frame * step + i) * parts + part).copied().unwrap_or(0.0);
                    [part(0), if parts == 2 { part(1) } else { 0.0 }].map(|part| f64::from(part * window[i]))
                };
                let values: Vec<[f64; 2]> = (0..length).map(value).collect();
                expected.extend((0..bins).flat_map(|number| bin(&values, number, false)));
            }
        }
        assert_near(&reference::outputs(&graph, &[x]).unwrap()[0], &expected);
    }
}

/// Along any axis, cut off or filled up to a length, with all sides or one, forwards and backwards.
#[test]
fn an_axis_is_transformed() {
    for (axis, length, parts, one_sided, inverse) in [
        (1, None, 1, true, false),
        (1, Some(5), 2, false, true),
        (2, Some(9), 1, false, false),
        (-2, None, 2, false, true),
    ] {
        let mut m = Model::new();
        m.input("x", &[2, 6, 4, parts as i64]);
        if let Some(length) = length {
            integer(&mut m, "length", length as i64);
        }
        let operands = ["x", "length"];
        let flags = [
            ("axis", Attr::Int(axis)),
            ("onesided", Attr::Int(one_sided as i64)),
            ("inverse", Attr::Int(inverse as i64)),
        ];
        m.node("DFT", &operands[..1 + usize::from(length.is_some())], &["y"], &flags);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let along = if axis == 1 { 1 } else { 2 };
        let extents = [2, 6, 4];
        let points = length.unwrap_or(extents[along]);
        let bins = if one_sided { points / 2 + 1 } else { points };
        let mut of_result = extents;
        of_result[along] = bins;
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [&of_result[..], &[2]].concat());
        let x = values(2 * 6 * 4 * parts);
        let mut expected = Vec::new();
        for flat in 0..of_result.iter().product() {
            let mut at =
                [flat / (of_result[1] * of_result[2]), flat / of_result[2] % of_result[1], flat % of_result[2]];
            let number = at[along];
            let mut value = |i: usize| {
                at[along] = i;
                let first = ((at[0] * 6 + at[1]) * 4 + at[2]) * parts;
                let part = |part: usize| f64::from(x[first + part]);
                match i < extents[along] {
                    true => [part(0), if parts == 2 { part(1) } else { 0.0 }],
                    false => [0.0, 0.0],
                }
            };
            let values: Vec<[f64; 2]> = (0..points).map(&mut value).collect();
            let scale = if inverse { points as f64 } else { 1.0 };
            expected.extend(bin(&values, number, inverse).map(|part| part / scale));
        }
        assert_near(&reference::outputs(&graph, &[x]).unwrap()[0], &expected);
    }
}

/// One side of a spectrum holds all of a real signal of an even or odd length.
#[test]
fn one_side_of_a_spectrum_becomes_the_signal_again() {
    for count in [7, 8] {
        let mut m = Model::new();
        m.input("x", &[1, count, 1]);
        integer(&mut m, "count", count);
        m.node("DFT", &["x"], &["spectrum"], &[("onesided", Attr::Int(1))]);
        m.node("DFT", &["spectrum", "count"], &["y"], &[("onesided", Attr::Int(1)), ("inverse", Attr::Int(1))]);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        assert_eq!(graph.tensors[graph.outputs[0]].dims, [1, count as usize, 1]);
        let x = values(count as usize);
        let expected: Vec<f64> = x.iter().map(|&value| value.into()).collect();
        assert_near(&reference::outputs(&graph, &[x]).unwrap()[0], &expected);
    }
}

/// Long transforms take two steps: forwards and backwards, of real and complex values, with one side or both, filled up
/// and cut off.
#[test]
fn long_transforms_take_two_steps() {
    for (count, length, parts, one_sided, inverse) in [
        (1200, 1200, 1, true, false),
        (1000, 1100, 1, false, false),
        (1300, 1155, 2, false, true),
        (1201, 1200, 2, false, false),
        (601, 1200, 2, true, true),
        (578, 1155, 2, true, true),
    ] {
        let mut m = Model::new();
        m.input("x", &[1, count as i64, parts as i64]);
        integer(&mut m, "length", length as i64);
        let flags = [("onesided", Attr::Int(one_sided as i64)), ("inverse", Attr::Int(inverse as i64))];
        m.node("DFT", &["x", "length"], &["y"], &flags);
        m.output("y");
        let graph = import(m.bytes()).unwrap();
        let elements = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()).map(|own| own.len());
        assert!(elements.sum::<usize>() < 4 * 9 * length, "{length}");
        let x = values(count * parts);
        let at = |i: usize| {
            let part = |part: usize| x.get(i * parts + part).copied().map_or(0.0, f64::from);
            if i < count { [part(0), if parts == 2 { part(1) } else { 0.0 }] } else { [0.0; 2] }
        };
        let is_real = one_sided && inverse;
        let whole: Vec<[f64; 2]> = match is_real {
            // The other side has the conjugate values, and the first and the middle one are real.
            true => (0..length)
                .map(|i| {
                    let [re, im] = at(i.min(length - i));
                    [
                        re,
                        if i == 0 || 2 * i == length {
                            0.0
                        } else if 2 * i < length {
                            im
                        } else {
                            -im
                        },
                    ]
                })
                .collect(),
            false => (0..length).map(at).collect(),
        };
        let bins = if one_sided && !inverse { length / 2 + 1 } else { length };
        let scale = if inverse { length as f64 } else { 1.0 };
        let of_results = if is_real { 1 } else { 2 };
        let expected: Vec<f64> =
            (0..bins).flat_map(|number| bin(&whole, number, inverse).into_iter().take(of_results)).collect();
        let result = &reference::outputs(&graph, &[x]).unwrap()[0];
        assert_eq!(result.len(), expected.len());
        for (i, (&result, &expected)) in result.iter().zip(&expected).enumerate() {
            assert!((f64::from(result) - expected / scale).abs() < 1e-3, "{length}, {i}: {result}, not {expected}");
        }
    }
}

#[test]
fn transforms_that_make_no_sense_are_refused() {
    let refused = |op: &str, dims: &[i64], operands: &[&str], attributes: &[(&str, Attr)], why: &str| {
        let mut m = Model::new();
        m.input("x", dims);
        for (name, value) in [("zero", 0), ("two", 2), ("nine", 9)] {
            integer(&mut m, name, value);
        }
        m.floats("none", &[1, 0, 2], &[]);
        m.node(op, operands, &["y"], attributes);
        m.output("y");
        let error = import(m.bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused("DFT", &[1, 8, 3], &["x"], &[], "the last extent is 1 or 2");
    let both = [("onesided", Attr::Int(1)), ("inverse", Attr::Int(1))];
    refused("DFT", &[1, 2, 2], &["none"], &both, "no elements: its extents are [1, 0, 2]");
    refused("STFT", &[1, 2], &["none", "two"], &[], "no elements: its extents are [1, 0, 2]");
    refused("DFT", &[1, 8, 2], &["x"], &[("axis", Attr::Int(2))], "along the axis of the real and imaginary parts");
    refused("DFT", &[1, 8, 2], &["x"], &[("onesided", Attr::Int(1))], "it has one side");
    refused("DFT", &[1, 8, 1], &["x", "zero"], &[], "its length is 0, not a whole number above 0");
    refused(
        "STFT",
        &[1, 8, 1],
        &["x", "two", "", "nine"],
        &[],
        "frames of 9 values, with a window of 9, in a signal of 8",
    );
    refused("STFT", &[1, 8, 2], &["x", "two"], &[], "only one side, of complex values");
    refused("STFT", &[1, 8, 1], &["x", "zero"], &[], "its step is 0");
}

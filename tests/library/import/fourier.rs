//! RFFT2D against sums written out, and the operators that take its complex result apart.

use std::f64::consts::TAU;

use texpool_model::import::ImportError;
use texpool_ops::{graph::Op, ops::reference};

use super::import;
use crate::support::tflite::{F32, Field, I32, Model, Table, flags};

const COMPLEX: i8 = 8;
const RFFT2D: i32 = 131;
const IMAG: i32 = 133;
const REAL: i32 = 134;
const COMPLEX_ABS: i32 = 135;
const CAST: i32 = 53;

/// Values without a pattern, from -1 to 1.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * i * 37 % 101) as f32 / 50.0 - 1.0).collect()
}

/// Returns the sum of the values of an image times the waves of a bin, as a complex number. Values outside the image are
/// zero.
fn bin(image: &[f32], [h, w]: [usize; 2], [rows, columns]: [usize; 2], [u, v]: [usize; 2]) -> [f64; 2] {
    let mut sum = [0.0, 0.0];
    for y in 0..h.min(rows) {
        for x in 0..w.min(columns) {
            let turns = (y * u) as f64 / rows as f64 + (x * v) as f64 / columns as f64;
            let (sin, cos) = (-TAU * turns).sin_cos();
            let value = f64::from(image[y * w + x]);
            sum = [sum[0] + value * cos, sum[1] + value * sin];
        }
    }
    sum
}

fn assert_near(result: &[f32], expected: &[f64]) {
    assert_eq!(result.len(), expected.len());
    for (i, (&result, &expected)) in result.iter().zip(expected).enumerate() {
        assert!((f64::from(result) - expected).abs() < 1e-4, "{i}: {result}, not {expected}");
    }
}

/// A model of the transform of images, and the extents of its result.
fn transform(outer: &[i32], image: [i32; 2], points: [i32; 2]) -> (Model, [i32; 2], Vec<i32>) {
    let mut m = Model::new();
    let x = m.floats("x", &[outer, &image].concat());
    let of_result = [outer, &[points[0], points[1] / 2 + 1]].concat();
    let (n, spectrum) = (m.ints("n", &points), m.tensor("spectrum", &of_result, COMPLEX));
    m.op(RFFT2D, &[x, n], spectrum, None);
    (m, [x, spectrum], of_result)
}

/// One case of the table of operators: the spectrum of four values, by the operator with this code.
pub(crate) fn of_four(code: i32) -> Vec<f32> {
    let (mut m, [x, spectrum], dims) = transform(&[], [1, 4], [1, 4]);
    let y = m.floats("y", &dims);
    m.op(code, &[spectrum], y, None);
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    reference::outputs(&graph, &[vec![1.0, 2.0, 4.0, 8.0]]).unwrap().remove(0)
}

/// Lengths that are no powers of two, cut off and filled up along both axes, with and without further axes.
#[test]
fn images_are_transformed() {
    let cases: [(&[i32], [i32; 2], [i32; 2]); 8] = [
        (&[], [1, 8], [1, 8]),
        (&[2, 3], [1, 8], [1, 5]),
        (&[3], [1, 4], [1, 9]),
        (&[2], [3, 8], [1, 8]),
        (&[2], [4, 8], [4, 8]),
        (&[1, 2], [3, 5], [2, 7]),
        (&[2], [2, 6], [5, 4]),
        (&[2], [2, 3], [1, 1]),
    ];
    for (outer, image, points) in cases {
        let (mut m, [x, spectrum], dims) = transform(outer, image, points);
        let results = ["re", "im", "abs", "cast"].map(|name| m.floats(name, &dims));
        for (code, result) in [REAL, IMAG, COMPLEX_ABS, CAST].into_iter().zip(results) {
            m.op(code, &[spectrum], result, None);
        }
        let graph = import(m.bytes(&[x], &results)).unwrap();
        let [of_image, of_points] = [image, points].map(|extents| extents.map(|extent| extent as usize));
        let count = outer.iter().product::<i32>() as usize;
        let input = values(count * of_image[0] * of_image[1]);
        let mut expected = vec![Vec::new(); 4];
        for image in input.chunks(of_image[0] * of_image[1]) {
            for u in 0..of_points[0] {
                for v in 0..=of_points[1] / 2 {
                    let [re, im] = bin(image, of_image, of_points, [u, v]);
                    let answers = [re, im, re.hypot(im), re];
                    expected.iter_mut().zip(answers).for_each(|(list, answer)| list.push(answer));
                }
            }
        }
        let answers = reference::outputs(&graph, &[input]).unwrap();
        for (answer, expected) in answers.iter().zip(&expected) {
            assert_near(answer, expected);
        }
    }
}

/// The parts of a spectrum are computed once, and only those that are read.
#[test]
fn only_parts_that_are_read_are_computed() {
    let layers = |readers: &[i32]| {
        let (mut m, [x, spectrum], dims) = transform(&[], [1, 8], [1, 8]);
        let results: Vec<i32> = readers.iter().map(|_| m.floats("y", &dims)).collect();
        readers.iter().zip(&results).for_each(|(&code, &y)| m.op(code, &[spectrum], y, None));
        let graph = import(m.bytes(&[x], &results)).unwrap();
        graph.nodes.iter().filter(|node| node.op == Op::FullyConnected).count()
    };
    assert_eq!((layers(&[REAL]), layers(&[COMPLEX_ABS]), layers(&[REAL, COMPLEX_ABS, IMAG])), (1, 2, 2));
}

/// A constant of which a part is left out, with parts that are folded where they are read.
#[test]
fn a_constant_is_transformed() {
    for points in [4, 8] {
        let mut m = Model::new();
        let (x, k) = (m.floats("x", &[1, points / 2 + 1]), m.weights("k", &[1, 8]));
        let (n, spectrum) = (m.ints("n", &[1, points]), m.tensor("spectrum", &[1, points / 2 + 1], COMPLEX));
        m.op(RFFT2D, &[k, n], spectrum, None);
        let parts = [REAL, COMPLEX_ABS, REAL].map(|code| {
            let part = m.floats("part", &[1, points / 2 + 1]);
            m.op(code, &[spectrum], part, None);
            part
        });
        let mut sum = x;
        for part in parts {
            let next = m.floats("sum", &[1, points / 2 + 1]);
            m.op(0, &[sum, part], next, flags(11, &[0]));
            sum = next;
        }
        let graph = import(m.bytes(&[x], &[sum])).unwrap();
        let signal: Vec<f32> = (1..=8).map(|i| i as f32 / 2.0).collect();
        let points = points as usize;
        let expected: Vec<f64> = (0..=points / 2)
            .map(|v| bin(&signal, [1, 8], [1, points], [0, v]))
            .map(|[re, im]| re + re.hypot(im) + re)
            .collect();
        assert_near(&reference::outputs(&graph, &[vec![0.0; points / 2 + 1]]).unwrap()[0], &expected);
    }
}

/// Converters surround the transform of a signal's frames with reshapes: they add an axis of one before it and remove
/// the axis after it.
#[test]
fn a_complex_tensor_may_change_its_shape() {
    let (mut m, [x, spectrum], _) = transform(&[2, 3], [1, 4], [1, 4]);
    let squeezed = m.tensor("squeezed", &[2, 3, 3], COMPLEX);
    let options = Some((30, Table(vec![(4, Field::Ints(vec![2]))])));
    m.op(43, &[spectrum], squeezed, options);
    let (rows, flat) = (m.ints("rows", &[6, -1]), m.tensor("flat", &[6, 3], COMPLEX));
    m.op(22, &[squeezed, rows], flat, None);
    let (axis, added) = (m.ints("axis", &[0]), m.tensor("added", &[1, 6, 3], COMPLEX));
    m.op(70, &[flat, axis], added, None);
    let y = m.floats("y", &[1, 6, 3]);
    m.op(IMAG, &[added], y, None);
    let graph = import(m.bytes(&[x], &[y])).unwrap();
    let input = values(24);
    let expected: Vec<f64> =
        input.chunks(4).flat_map(|row| [0, 1, 2].map(|v| bin(row, [1, 4], [1, 4], [0, v])[1])).collect();
    assert_near(&reference::outputs(&graph, &[input]).unwrap()[0], &expected);
}

#[test]
fn a_complex_tensor_reaches_nothing_else() {
    let refused = |build: &dyn Fn(&mut Model, i32) -> i32, why: &str| {
        let (mut m, [x, spectrum], _) = transform(&[], [1, 4], [1, 4]);
        let y = build(&mut m, spectrum);
        let error = import(m.bytes(&[x], &[y])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(why) && text.contains("REAL, IMAG or COMPLEX_ABS"), "{text}");
        error
    };
    let named = "tensor `spectrum` is complex (COMPLEX64)";
    let output = refused(&|_, spectrum| spectrum, named);
    assert!(matches!(output, ImportError::GraphIo { role: "output", .. }), "{output}");
    for (code, options) in [(101, None), (0, flags(11, &[0])), (92, None)] {
        let added = |m: &mut Model, spectrum| {
            let y = m.floats("y", &[1, 3]);
            m.op(code, &[spectrum, spectrum][..if code == 0 { 2 } else { 1 }], y, options.clone());
            y
        };
        let error = refused(&added, named);
        assert!(matches!(error, ImportError::Unsupported(_)), "{error}");
    }
    // A result that is complex, of an operand that is not.
    let to_complex = |m: &mut Model, spectrum| {
        let (re, y) = (m.floats("re", &[1, 3]), m.tensor("wrong", &[1, 3], COMPLEX));
        m.op(REAL, &[spectrum], re, None);
        m.op(CAST, &[re], y, None);
        y
    };
    refused(&to_complex, "tensor `wrong` is complex (COMPLEX64)");
}

#[test]
fn transforms_that_make_no_sense_are_refused() {
    let refused = |dims: &[i32], dtype: i8, points: &[i32], result: (&[i32], i8), code: i32, why: &str| {
        let mut m = Model::new();
        let (x, n) = (m.tensor("x", dims, dtype), m.ints("n", points));
        let (s, y) = (m.tensor("s", result.0, result.1), m.floats("y", result.0));
        m.op(code, &[x, n], s, None);
        m.op(REAL, &[s], y, None);
        let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
        assert!(text.contains(why), "{text}");
    };
    let complex = (&[1, 3][..], COMPLEX);
    refused(&[4], F32, &[1, 4], complex, RFFT2D, "it transforms two axes of [4]");
    refused(&[1, 4], I32, &[1, 4], complex, RFFT2D, "other values than FLOAT32");
    refused(&[1, 4], F32, &[4], complex, RFFT2D, "its numbers of points are [4], must be two above 0");
    refused(&[1, 4], F32, &[1, 0], complex, RFFT2D, "its numbers of points are [1, 0], must be two above 0");
    refused(&[1, 4], F32, &[1, -4], complex, RFFT2D, "its numbers of points are [1, -4], must be two above 0");
    refused(&[1, 4], F32, &[1, i32::MAX], complex, RFFT2D, "its result is stated as [1, 3]");
    refused(&[1, 4], F32, &[i32::MAX, i32::MAX], complex, RFFT2D, "is too large");
    refused(&[1, 4], F32, &[1, 4], (&[1, 3], F32), RFFT2D, "tensor `s` is FLOAT32, must be COMPLEX64");
    refused(&[1, 4], F32, &[1, 4], (&[1, 4], COMPLEX), RFFT2D, "stated as [1, 4], its operands give [1, 3]");

    // Numbers of points that are computed, and a complex tensor that nothing transforms.
    let mut m = Model::new();
    let (x, n) = (m.floats("x", &[1, 4]), m.tensor("n", &[2], I32));
    let (s, y, z) = (m.tensor("s", &[1, 3], COMPLEX), m.floats("y", &[1, 3]), m.tensor("z", &[1, 3], COMPLEX));
    m.op(RFFT2D, &[x, n], s, None);
    m.op(REAL, &[z], y, None);
    let text = import(m.bytes(&[x, n], &[y])).unwrap_err().to_string();
    assert!(text.contains("its numbers of points `n` are computed at run time"), "{text}");
    assert!(text.contains("no RFFT2D gives its complex operand `z`"), "{text}");
}

#[test]
fn a_complex_tensor_has_one_value() {
    let (mut m, [x, spectrum], dims) = transform(&[], [1, 4], [1, 4]);
    let (n, y) = (m.ints("n", &[1, 4]), m.floats("y", &dims));
    m.op(RFFT2D, &[x, n], spectrum, None);
    m.op(43, &[spectrum], spectrum, None);
    m.op(REAL, &[spectrum], y, None);
    let text = import(m.bytes(&[x], &[y])).unwrap_err().to_string();
    assert!(text.starts_with("2 of") && text.contains("its result `spectrum` has a value already"), "{text}");
}

/// A small file cannot ask for a large matrix.
#[test]
fn matrices_of_waves_count() {
    let (mut m, [x, spectrum], dims) = transform(&[], [1, 1 << 16], [1, 1 << 16]);
    let y = m.floats("y", &dims);
    m.op(REAL, &[spectrum], y, None);
    let error = import(m.bytes(&[x], &[y])).unwrap_err();
    assert!(matches!(error, ImportError::TooMuch(_)), "{error}");
}

//! Products of 8-bit integers, and tensors that a run quantises.

use texpool_model::rewrite::{Rules, rewrite};
use texpool_ops::{
    graph::{Binary, Constant, ElementType, Op},
    ops::reference,
};

use super::support::{
    import,
    onnx::{Attr, Model, bytes, number},
    run,
};

const UINT8: i64 = 2;
const INT8: i64 = 3;

fn integers(m: &mut Model, name: &str, kind: i64, dims: &[i64], values: &[i32]) {
    let values: Vec<u8> = values.iter().map(|&value| value as u8).collect();
    m.tensor(name, kind, dims, &bytes(9, &values));
}

/// Builds a model with the input `x` of unsigned bytes.
fn unsigned(dims: &[i64]) -> Model {
    let mut m = Model::new();
    m.raw_input("x", UINT8, &dims.iter().map(|&d| number(1, d)).collect::<Vec<_>>());
    m
}

/// The first three are the examples of ONNX's specification, the last one has ONNX Runtime's answer.
#[test]
fn a_run_quantises_by_the_range_of_the_values() {
    let cases: [(&[f32], &[f32], f32, f32); 4] = [
        (&[0.0, 2.0, -3.0, -2.5, 1.34, 0.5], &[153.0, 255.0, 0.0, 26.0, 221.0, 179.0], 0.019_607_844, 153.0),
        (&[-1.0, -2.1, -1.3, -2.5, -3.34, -4.0], &[191.0, 121.0, 172.0, 96.0, 42.0, 0.0], 0.015_686_275, 255.0),
        (&[1.0, 2.1, 1.3, 2.5, 3.34, 4.0], &[64.0, 134.0, 83.0, 159.0, 213.0, 255.0], 0.015_686_275, 0.0),
        (&[0.0; 3], &[0.0; 3], 1.0, 0.0),
    ];
    for (x, integers, scale, zero) in cases {
        let mut m = Model::new();
        m.input("x", &[x.len() as i64]);
        m.node("DynamicQuantizeLinear", &["x"], &["y", "scale", "zero"], &[]);
        ["y", "scale", "zero"].iter().for_each(|name| m.output(name));
        let graph = import(m.bytes()).unwrap();
        let results = reference::outputs(&graph, &[x.to_vec()]).unwrap();
        assert_eq!(results, [integers.to_vec(), vec![scale], vec![zero]]);
        let types = graph.outputs.iter().map(|&id| graph.tensors[id].element_type);
        assert!(types.eq([ElementType::U8, ElementType::F32, ElementType::U8]));
    }
}

/// Counted from the zero point, integers need no subtraction. Products of one tensor share them, and results that nothing
/// reads take no step.
#[test]
fn products_of_dynamic_integers_count_them_from_the_zero_point() {
    let quantised = |m: &mut Model| m.node("DynamicQuantizeLinear", &["x"], &["q", "scale", "zero"], &[]);
    let weights: Vec<i32> = (0..192).map(|i| i * 7 % 251 - 125).collect();
    let product = |zero: &str| {
        let mut m = Model::new();
        m.input("x", &[1, 2, 64]);
        quantised(&mut m);
        integers(&mut m, "w", INT8, &[64, 3], &weights);
        integers(&mut m, "other", UINT8, &[], &[128]);
        m.node("MatMulInteger", &["q", "w", zero], &["y"], &[]);
        m.node("MatMulInteger", &["q", "w", zero], &["z"], &[]);
        ["y", "z"].iter().for_each(|name| m.output(name));
        m
    };
    let names = |m: &Model| {
        let graph = rewrite(&import(m.bytes()).unwrap(), &Rules::all()).graph;
        graph.nodes.iter().map(|node| node.op.name()).collect::<Vec<_>>()
    };
    let layer = Op::FullyConnected.name();
    let found = names(&product("zero"));
    assert!(!found.contains(&Binary::Sub.name()) && found.contains(&layer), "{found:?}");
    let count = |name: &str| found.iter().filter(|found| **found == name).count();
    assert_eq!([count(Op::DynamicScale.name()), count("DYNAMIC_QUANTIZE")], [1, 1], "{found:?}");

    let x: Vec<f32> = (0..128).map(|i| (i * 37 % 101) as f32 * 0.03 - 1.2).collect();
    let mut m = Model::new();
    m.input("x", &[1, 2, 64]);
    quantised(&mut m);
    ["q", "zero"].iter().for_each(|name| m.output(name));
    let outputs = |m: &Model| reference::outputs(&import(m.bytes()).unwrap(), std::slice::from_ref(&x)).unwrap();
    let [q, zero]: [Vec<f32>; 2] = outputs(&m).try_into().unwrap();
    // Any other zero point is subtracted.
    for (name, zero) in [("zero", zero[0]), ("other", 128.0)] {
        let at = |row: usize, column: usize| -> f32 {
            (0..64).map(|k| (q[row * 64 + k] - zero) * weights[k * 3 + column] as f32).sum()
        };
        let expected: Vec<f32> = (0..6).map(|i| at(i / 3, i % 3)).collect();
        assert_eq!(outputs(&product(name)), [expected.clone(), expected], "{name}");
    }
}

/// Zero points of the whole matrix, of each row or of each column, known or not.
#[test]
fn matrices_of_integers_lose_their_zero_points() {
    let b = [-128, 4, 2, -5, 127, 6];
    let product = |rows: [i32; 4], columns: [i32; 2]| -> Vec<f32> {
        let at = |r: usize, c: usize| -> i32 {
            (0..3).map(|k| ((r * 3 + k + 1) as i32 - rows[r]) * (b[k * 2 + c] - columns[c])).sum()
        };
        (0..8).map(|i| at(i / 2, i % 2) as f32).collect()
    };
    let cases: [(&[i32], &[i32], Vec<f32>); 5] = [
        (&[], &[], product([0; 4], [0; 2])),
        (&[12], &[0], product([12; 4], [0; 2])),
        (&[12], &[3, -100], product([12; 4], [3, -100])),
        (&[1, 2, 3, 255], &[-7], product([1, 2, 3, 255], [-7; 2])),
        (&[0; 4], &[3, -100], product([0; 4], [3, -100])),
    ];
    for (rows, columns, expected) in cases {
        let mut m = unsigned(&[4, 3]);
        integers(&mut m, "b", INT8, &[3, 2], &b);
        let mut operands = vec!["x", "b", "", ""];
        for (position, name, kind, zeros) in [(2, "rows", UINT8, rows), (3, "columns", INT8, columns)] {
            if !zeros.is_empty() {
                integers(&mut m, name, kind, &[zeros.len() as i64], zeros);
                operands[position] = name;
            }
        }
        m.node("MatMulInteger", &operands, &["y"], &[]);
        m.output("y");
        assert_eq!(run(&m), [(vec![4, 2], expected)], "{rows:?} {columns:?}");
    }
}

/// Weights stay the bytes of the file.
#[test]
fn weights_of_integers_stay_bytes() {
    let mut m = unsigned(&[1, 64]);
    integers(&mut m, "b", UINT8, &[64, 32], &(0..64 * 32).map(|i| i * 7 % 256).collect::<Vec<_>>());
    integers(&mut m, "zeros", UINT8, &[32], &(100..132).collect::<Vec<_>>());
    m.node("MatMulInteger", &["x", "b", "", "zeros"], &["y"], &[]);
    m.output("y");
    let graph = import(m.bytes()).unwrap();
    let constants = graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref());
    let weights: Vec<&Constant> = constants.filter(|constant| constant.len() == 64 * 32).collect();
    assert!(matches!(weights[..], [Constant { dtype: ElementType::U8, scale: Some(_), .. }]), "{weights:?}");
}

/// The answers are ONNX Runtime's.
#[test]
fn convolutions_of_integers_are_exact_and_have_the_zero_point_around_the_image() {
    let weights: Vec<i32> = (0..24).map(|i| i * 7 % 251 - 125).collect();
    let full = [
        36, -115, -489, -359, -482, -1408, -2212, -1370, -1646, -3820, -4624, -2618, -1226, -2751, -3181, -1761, 92,
        109, -41, -79, -34, -288, -644, -474, -526, -1356, -1712, -1050, -498, -1183, -1389, -809, 148, 333, 407, 201,
        414, 832, 924, 422, 594, 1108, 1200, 518, 230, 385, 403, 143,
    ];
    let strided = [-482, -2212, -1226, -3181, -34, -644, -498, -1389, 414, 924, 230, 403];
    let depthwise = [615, 577, 501, 463, -390, -451, -573, -634];
    let few: Vec<i32> = (0..8).map(|i| i * 77 % 251 - 125).collect();
    type Case<'a> = (&'a [i32], [i64; 4], Vec<(&'static str, Attr)>, &'a [i32]);
    let cases: [Case<'_>; 3] = [
        (&weights, [3, 2, 2, 2], vec![("pads", Attr::Ints(vec![1; 4]))], &full),
        (
            &weights,
            [3, 2, 2, 2],
            vec![("pads", Attr::Ints(vec![0, 1, 1, 0])), ("strides", Attr::Ints(vec![2, 2]))],
            &strided,
        ),
        (&few, [2, 1, 2, 2], vec![("group", Attr::Int(2))], &depthwise),
    ];
    for (weights, dims, attributes, expected) in cases {
        let mut m = unsigned(&[1, 2, 3, 3]);
        integers(&mut m, "w", INT8, &dims, weights);
        integers(&mut m, "zero", UINT8, &[], &[5]);
        m.node("ConvInteger", &["x", "w", "zero"], &["y"], &attributes);
        m.output("y");
        let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
        assert_eq!(run(&m)[0].1, expected);
    }
}

/// Zero points of the result's channels.
#[test]
fn weights_of_convolutions_lose_their_zero_points() {
    let mut m = unsigned(&[1, 1, 1, 3]);
    integers(&mut m, "w", INT8, &[2, 1, 1, 2], &[3, 4, -5, 6]);
    integers(&mut m, "zeros", INT8, &[2], &[1, -2]);
    m.node("ConvInteger", &["x", "w", "", "zeros"], &["y"], &[]);
    m.output("y");
    assert_eq!(run(&m)[0].1, [8.0, 13.0, 13.0, 18.0]);
}

/// Zero points that fit neither a row nor a column are refused, also those of a single number.
#[test]
fn zero_points_must_fit() {
    let cases: [(&[i64], i64); 4] = [(&[4, 3], 3), (&[], 2), (&[3], 2), (&[2, 4, 3], 3)];
    for (dims, zeros) in cases {
        let mut m = unsigned(dims);
        integers(&mut m, "b", INT8, &[3, 2], &[1; 6]);
        integers(&mut m, "zeros", UINT8, &[zeros], &vec![7; zeros as usize]);
        m.node("MatMulInteger", &["x", "b", "zeros"], &["y"], &[]);
        m.output("y");
        let error = import(m.bytes()).unwrap_err().to_string();
        assert!(error.contains("do not fit integers of"), "{dims:?}: {error}");
    }
}

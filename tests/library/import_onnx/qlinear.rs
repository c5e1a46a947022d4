//! Operators of integers with scales give what the operator of floats gives between nodes that dequantise and quantise.

use texpool_ops::{graph::Op, ops::reference};

use super::support::{
    import,
    onnx::{Attr, Model, bytes, number},
};

const UINT8: i64 = 2;
const INT8: i64 = 3;
const INT32: i64 = 6;

/// Adds scales and zero points called `NAME_s` and `NAME_z`.
fn scales(m: &mut Model, name: &str, kind: i64, scale: &[f32], zero: &[u8]) {
    let dims: &[i64] = if scale.len() == 1 { &[] } else { &[scale.len() as i64] };
    m.floats(&format!("{name}_s"), dims, scale);
    m.tensor(&format!("{name}_z"), kind, dims, &bytes(9, zero));
}

fn results(m: &Model, x: &[f32]) -> Vec<f32> {
    reference::outputs(&import(m.bytes()).unwrap(), &[x.to_vec()]).unwrap().remove(0)
}

/// The models, of one node and of several, give the same integers, which are not all the same.
fn agree(one: &Model, several: &Model, x: &[f32]) {
    let [one, several] = [one, several].map(|m| results(m, x));
    assert_eq!(one, several);
    assert!(one.iter().any(|value| *value != one[0]), "{one:?}");
}

fn input(dims: &[i64]) -> Model {
    let mut m = Model::new();
    m.raw_input("x", UINT8, &dims.iter().map(|&extent| number(1, extent)).collect::<Vec<_>>());
    m.output("y");
    m
}

/// Weights with a scale for each channel, biases, a border and zero points.
#[test]
fn a_convolution_is_that_of_the_reals() {
    let base = || {
        let mut m = input(&[1, 2, 4, 4]);
        scales(&mut m, "x", UINT8, &[0.05], &[117]);
        scales(&mut m, "w", INT8, &[0.02, 0.03, 0.007], &[0, 0, 0]);
        scales(&mut m, "y", UINT8, &[0.11], &[120]);
        let weights: Vec<u8> = (0..54).map(|i| (i * 37 % 256) as u8).collect();
        m.tensor("w", INT8, &[3, 2, 3, 3], &bytes(9, &weights));
        m
    };
    let biases = [900i32, -1500, 77];
    let pads = ("pads", Attr::Ints(vec![1, 1, 1, 1]));
    let mut one = base();
    one.tensor("b", INT32, &[3], &bytes(9, &biases.map(i32::to_le_bytes).concat()));
    let operands = ["x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"];
    one.node("QLinearConv", &operands, &["y"], std::slice::from_ref(&pads));
    let mut several = base();
    let reals: Vec<f32> = biases.iter().zip([0.02f32, 0.03, 0.007]).map(|(&b, s)| b as f32 * (0.05 * s)).collect();
    several.floats("b", &[3], &reals);
    several.node("DequantizeLinear", &["x", "x_s", "x_z"], &["xr"], &[]);
    several.node("DequantizeLinear", &["w", "w_s", "w_z"], &["wr"], &[("axis", Attr::Int(0))]);
    several.node("Conv", &["xr", "wr", "b"], &["yr"], &[pads]);
    several.node("QuantizeLinear", &["yr", "y_s", "y_z"], &["y"], &[]);
    let x: Vec<f32> = (0..32).map(|i| (i * 53 % 256) as f32).collect();
    agree(&one, &several, &x);
}

/// The second matrix has a scale for each column.
#[test]
fn a_product_is_that_of_the_reals() {
    let base = || {
        let mut m = input(&[2, 3]);
        scales(&mut m, "x", UINT8, &[0.04], &[100]);
        scales(&mut m, "w", INT8, &[0.02, 0.3], &[3, 250]);
        scales(&mut m, "y", UINT8, &[0.21], &[128]);
        m.tensor("w", INT8, &[3, 2], &bytes(9, &[7, 200, 90, 31, 255, 128]));
        m
    };
    let mut one = base();
    one.node("QLinearMatMul", &["x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z"], &["y"], &[]);
    let mut several = base();
    several.node("DequantizeLinear", &["x", "x_s", "x_z"], &["xr"], &[]);
    several.node("DequantizeLinear", &["w", "w_s", "w_z"], &["wr"], &[("axis", Attr::Int(1))]);
    several.node("MatMul", &["xr", "wr"], &["yr"], &[]);
    several.node("QuantizeLinear", &["yr", "y_s", "y_z"], &["y"], &[]);
    agree(&one, &several, &[0.0, 255.0, 100.0, 17.0, 130.0, 201.0]);
}

/// A matrix that is transposed, with biases whose scale includes alpha.
#[test]
fn a_transposed_product_with_biases_is_that_of_the_reals() {
    let mut m = input(&[1, 2]);
    scales(&mut m, "x", UINT8, &[0.5], &[2]);
    scales(&mut m, "w", INT8, &[0.25, 2.0], &[0, 0]);
    m.tensor("w", INT8, &[2, 2], &bytes(9, &[1, 2, 3, 253]));
    m.tensor("b", INT32, &[2], &bytes(9, &[8i32, -4].map(i32::to_le_bytes).concat()));
    let attributes = [("transB", Attr::Int(1)), ("alpha", Attr::Float(2.0))];
    m.node("com.microsoft.QGemm", &["x", "x_s", "x_z", "w", "w_s", "w_z", "b"], &["y"], &attributes);
    // x is [1, 3], the weights [[0.25, 0.5], [6, -6]], the biases [8 * 0.25, -4 * 2].
    assert_eq!(results(&m, &[4.0, 8.0]), [2.0 * 1.75 + 2.0, 2.0 * -12.0 - 8.0]);
}

/// Without zero points the result has the type of the operand.
#[test]
fn zero_points_may_be_left_out() {
    let mut m = input(&[3]);
    m.floats("x_s", &[], &[0.5]);
    m.node("com.microsoft.QLinearAdd", &["x", "x_s", "", "x", "x_s", "", "x_s"], &["y"], &[]);
    assert_eq!(results(&m, &[0.0, 7.0, 200.0]), [0.0, 14.0, 255.0]);
}

#[test]
fn channels_on_the_last_axis_are_refused() {
    let mut m = input(&[1, 2, 2, 3]);
    scales(&mut m, "x", UINT8, &[0.5], &[2]);
    let operands = ["x", "x_s", "x_z", "x_s", "x_z"];
    m.node("com.microsoft.QLinearGlobalAveragePool", &operands, &["y"], &[("channels_last", Attr::Int(1))]);
    assert!(import(m.bytes()).unwrap_err().to_string().contains("its channels are on the last axis"));
}

/// Sums of products are exact, and one multiplication in floats turns them into integers. The biases need 32 bits.
#[test]
fn a_convolution_requantises_exact_sums() {
    let mut m = input(&[1, 64, 3, 3]);
    scales(&mut m, "x", UINT8, &[0.0213], &[117]);
    let of_weights = [0.0031f32, 0.0071, 0.0029];
    scales(&mut m, "w", INT8, &of_weights, &[0, 0, 0]);
    scales(&mut m, "y", UINT8, &[0.31], &[120]);
    let weights: Vec<u8> = (0..192).map(|i| (i * 89 % 251) as u8).collect();
    m.tensor("w", INT8, &[3, 64, 1, 1], &bytes(9, &weights));
    let biases = [9_000i32, -2_100_000_000, 77_777];
    m.tensor("b", INT32, &[3], &bytes(9, &biases.map(i32::to_le_bytes).concat()));
    let operands = ["x", "x_s", "x_z", "w", "w_s", "w_z", "y_s", "y_z", "b"];
    m.node("QLinearConv", &operands, &["y"], &[]);
    let x: Vec<f32> = (0..576).map(|i| (i * 53 % 256) as f32).collect();
    let found = results(&m, &x);
    let mut inside = 0;
    for (i, &found) in found.iter().enumerate() {
        let (c, pixel) = (i / 9, i % 9);
        let product = |k: usize| (x[k * 9 + pixel] as i64 - 117) * i64::from(weights[c * 64 + k].cast_signed());
        let sum = (0..64).map(product).sum::<i64>() + i64::from(biases[c]);
        let rounded = (sum as f32 * (0.0213 * of_weights[c] / 0.31)).round_ties_even() + 120.0;
        assert_eq!(found, rounded.clamp(0.0, 255.0), "element {i}, sum {sum}");
        inside += usize::from(rounded > 0.0 && rounded < 255.0);
    }
    assert!(inside >= 12, "{inside}");
}

/// A number and a tensor in either order, with halves: fused operations round to even.
#[test]
fn sums_are_those_of_onnx_runtime() {
    let numbers: Vec<f32> = (0..256).map(|q| q as f32).collect();
    for is_first in [false, true] {
        let mut m = input(&[256]);
        scales(&mut m, "x", UINT8, &[0.5], &[3]);
        scales(&mut m, "k", UINT8, &[0.25], &[10]);
        scales(&mut m, "y", UINT8, &[1.0], &[7]);
        m.tensor("k", UINT8, &[], &bytes(9, &[16]));
        let [x, k] = [["x", "x_s", "x_z"], ["k", "k_s", "k_z"]];
        let [first, second] = if is_first { [k, x] } else { [x, k] };
        let operands = [first, second, ["y_s", "y_z", ""]].concat();
        m.node("com.microsoft.QLinearAdd", &operands[..8], &["y"], &[]);
        let expected = |q: &f32| (0.5 * (q - 3.0) + 1.5 + 7.0).round_ties_even().clamp(0.0, 255.0);
        assert_eq!(results(&m, &numbers), numbers.iter().map(expected).collect::<Vec<_>>());
    }
}

/// Every pair of integers: their product is exact, multiplied once, and rounded with the zero point.
#[test]
fn products_are_those_of_onnx_runtime() {
    let integers: Vec<u8> = (0..=255).collect();
    let mut m = input(&[256, 1]);
    let (scale, zero, ratio) = (0.0231f32, 91.0, 0.0371f32 * 0.0113 / 0.0231);
    scales(&mut m, "x", UINT8, &[0.0371], &[100]);
    scales(&mut m, "k", UINT8, &[0.0113], &[7]);
    scales(&mut m, "y", UINT8, &[scale], &[91]);
    m.tensor("k", UINT8, &[1, 256], &bytes(9, &integers));
    m.node("com.microsoft.QLinearMul", &["x", "x_s", "x_z", "k", "k_s", "k_z", "y_s", "y_z"], &["y"], &[]);
    let x: Vec<f32> = integers.iter().map(|&q| q.into()).collect();
    let products = x.iter().flat_map(|a| x.iter().map(move |b| (a - 100.0) * (b - 7.0)));
    let expected: Vec<f32> = products.map(|ab| (ab * ratio + zero).round_ties_even().clamp(0.0, 255.0)).collect();
    assert_eq!(results(&m, &x), expected);
}

/// A constant for each channel is added as a number is.
#[test]
fn sums_with_constants_of_channels_are_exact() {
    let mut m = input(&[1, 3, 1, 256]);
    scales(&mut m, "x", UINT8, &[0.5], &[3]);
    scales(&mut m, "k", UINT8, &[0.25], &[10]);
    scales(&mut m, "y", UINT8, &[1.0], &[7]);
    m.tensor("k", UINT8, &[1, 3, 1, 1], &bytes(9, &[16, 13, 200]));
    m.node("com.microsoft.QLinearAdd", &["x", "x_s", "x_z", "k", "k_s", "k_z", "y_s", "y_z"], &["y"], &[]);
    let graph = import(m.bytes()).unwrap();
    assert!(graph.nodes.iter().any(|node| matches!(node.op, Op::QuantizedAdd(_))), "{graph:?}");
    let x: Vec<f32> = (0..3).flat_map(|_| (0..256).map(|q| q as f32)).collect();
    let added = [1.5, 0.75, 47.5];
    let sum = |(i, q): (usize, &f32)| (0.5 * (q - 3.0) + added[i / 256] + 7.0).round_ties_even().clamp(0.0, 255.0);
    assert_eq!(results(&m, &x), x.iter().enumerate().map(sum).collect::<Vec<_>>());
}
